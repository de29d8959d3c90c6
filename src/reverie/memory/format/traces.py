"""Find and remove the words of a forgotten memory in other texts.

The search is for whole sentences of the memory (in any version), its description, title and file
name, however they are wrapped or escaped. A sentence that was cut with an ellipsis or at the end of
a line counts if enough of it is left. Texts too short to be specific are removed only where they
are a whole line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from reverie.memory.format.index import pointer_of
from reverie.memory.format.topic import Topic
from reverie.text.words import STOP_WORDS, fold, plain_words

# Replaces the words.
MARK = "[forgotten]"

# Shorter sentences may occur anywhere by chance; longer ones are specific to the memory.
_OWN_LENGTH = 24
_OWN_WORDS = 3
_OWN_SHORT_LENGTH = 12
_MOST_WORDS = 60
# Share of common words above which a message is the source of the memory.
_SAME_SHARE = 0.6

_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_MARKUP = re.compile(r"^(?:[\s>#+-]|\*(?!\*)|\d+\.\s)*(?:\*\*[^*\n]{1,40}:\*\*\s*)?")
_GAP = r"(?:\s|\\+[nrt])+"
# The end of a cut sentence: an ellipsis, or the end of a line or a quoted text.
_CUT = r"(?:[ \t]*[^\W_]*[ \t]*(?:…|\.\.\.)|(?!\w)(?=[ \t]*(?:\\*[\"']|\\+n|\n|\Z)))"
_ENDS = ".!?。…:;, "
_STOPS = frozenset().union(*STOP_WORDS.values())


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without the memory's words, and how often they occurred."""

    text: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class _SentencePattern:
    """A sentence to search for: words that must occur, and the pattern."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Traces:
    """The sentences and the file name of a memory to search for."""

    file: str
    sentences: tuple[str, ...] = ()
    _patterns: tuple[_SentencePattern, ...] = field(init=False, repr=False, compare=False)
    _named: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_patterns", tuple(map(_sentence_pattern, self.sentences)))
        object.__setattr__(self, "_named", re.compile(_name_pattern(self.file)))

    def with_sentences(self, more: Iterable[str]) -> Traces:
        """A copy that also searches for these sentences."""
        return Traces(self.file, _longest_first((*self.sentences, *more)))

    def redacted(self, text: str) -> Redacted:
        """A text without the memory's words; lines that point to it are removed."""
        looks = self._possible(text)
        named = self._stem in text
        count = 0
        if named:
            lines = text.splitlines(keepends=True)
            kept = [line for line in lines if not self._points(line)]
            count = len(lines) - len(kept)
            text = "".join(kept)
        for pattern in [*(look.pattern for look in looks), *([self._named] if named else [])]:
            text, found = pattern.subn(MARK, text)
            count += found
        return Redacted(text, count)

    def holds(self, text: str) -> bool:
        """Whether a text contains any of it."""
        return self.redacted(text).count > 0

    def held_in_json(self, value: Any) -> bool:
        """Whether any text in a JSON value, including keys, contains it."""
        return _redacted_json(value, self)[1] > 0

    def redacted_json(self, value: Any) -> tuple[Any, int]:
        """A JSON value without the memory's words, with the same structure and ids.

        A model's thinking is signed: it is removed completely, as the signature would not match.
        """
        return _redacted_json(value, self)

    def redacted_line(self, line: str) -> Redacted:
        """Redact a line of JSON; a line that is not JSON is treated as text."""
        if self._stem not in line and not self._possible(line):
            return Redacted(line)
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return self.redacted(line)
        clean, count = _redacted_json(value, self)
        if not count:
            return Redacted(line)
        ending = line[len(line.rstrip("\r\n")) :]
        text = json.dumps(clean, ensure_ascii=False, separators=(",", ":"))
        return Redacted(text + ending, count)

    def same_words(self, text: str) -> tuple[str, ...]:
        """Sentences of a message with mostly the memory's words; their dates may be relative."""
        wanted = [_content(sentence) for sentence in self.sentences]
        found = []
        for sentence in sentences_of(text):
            own = _content(sentence)
            if any(
                len(own & words) >= max(2, _SAME_SHARE * min(len(own), len(words)))
                for words in wanted
                if words
            ):
                found.append(sentence)
        return tuple(found)

    def _points(self, line: str) -> bool:
        pointer = pointer_of(line)
        return pointer is not None and pointer.file == self.file

    @property
    def _stem(self) -> str:
        return self.file.removesuffix(".md")

    def _possible(self, text: str) -> list[_SentencePattern]:
        """The sentences whose first words all occur in a text: a cheap filter, mostly empty."""
        folded = text.casefold()
        return [look for look in self._patterns if all(word in folded for word in look.words)]


def traces_of(file: str, versions: Iterable[Topic]) -> Traces:
    """The traces of all versions of a memory: title, description and every sentence."""
    found: list[str] = []
    for memory in versions:
        title = () if memory.name == file else (memory.name,)
        found += [*title, memory.description, *sentences_of(memory.body)]
    return Traces(file, _longest_first(found))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, without leading list markers, quotes and bold labels."""
    pieces = (_MARKUP.sub("", piece).strip() for piece in _SENTENCE.split(text))
    return [piece for piece in pieces if piece]


def _longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    plain = {" ".join(text.split()).strip(_ENDS) for text in texts}
    return tuple(sorted((text for text in plain if text), key=lambda text: (-len(text), text)))


def _is_own(text: str) -> bool:
    words = len(text.split())
    return len(text) >= _OWN_LENGTH or (words >= _OWN_WORDS and len(text) >= _OWN_SHORT_LENGTH)


def _content(text: str) -> set[str]:
    """The content words, without numbers: a date may have been said as a weekday."""
    words = plain_words(fold(text))
    return {word for word in words if len(word) > 1 and not word.isdecimal() and word not in _STOPS}


def _sentence_pattern(text: str) -> _SentencePattern:
    words = text.split()
    first = _first_own(words)
    needed = [part.casefold() for word in words[:first] for part in _plain_parts(word)]
    made = _pattern(words, first) if _is_own(text) else rf"^[ \t>#*+-]*{_whole(words)}[.!?]*\s*$"
    return _SentencePattern(
        tuple(dict.fromkeys(needed)), re.compile(made, re.IGNORECASE | re.MULTILINE)
    )


def _first_own(words: Sequence[str]) -> int:
    """How many words from the start are specific to the memory."""
    lengths = (len(" ".join(words[:n])) for n in range(1, len(words)))
    return next((n for n, length in enumerate(lengths, 1) if length >= _OWN_LENGTH), len(words))


def _pattern(words: Sequence[str], first: int) -> str:
    """Matches a sentence, or its start where it was cut, if that is specific enough."""
    whole = _bounded(_whole(words))
    if first == len(words):
        return whole
    rest = ""
    for word in reversed(words[first:_MOST_WORDS]):
        rest = f"(?:{_GAP}{_escapable(word)}{rest})?"
    return rf"{whole}|(?<!\w){_whole(words[:first])}{rest}{_CUT}"


def _whole(words: Sequence[str]) -> str:
    return _GAP.join(map(_escapable, words))


def _bounded(pattern: str) -> str:
    return rf"(?<!\w){pattern}(?!\w)"


def _escapable(word: str) -> str:
    """Matches a word in plain text or escaped in JSON, at any depth."""
    return "".join(map(_escapable_char, word))


def _escapable_char(char: str) -> str:
    plain = re.escape(char)
    if char in "\"\\'/":
        return rf"\\*{plain}"
    if char.isascii():
        return plain
    units = char.encode("utf-16-be", "surrogatepass")
    codes = "".join(rf"\\+u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))
    return f"(?:{plain}|{codes})"


def _plain_parts(text: str) -> list[str]:
    return re.findall(r"[A-Za-z0-9]+", text)


def _name_pattern(file: str) -> str:
    """Matches the file name; a name of a single word only as a path or alone."""
    name = re.escape(file)
    stem = re.escape(file.removesuffix(".md"))
    link = rf"\[\[{stem}(?:\.md)?(?:[#|][^\[\]\n]*)?\]\]"
    if len(re.findall(r"[^\W_]+", file.removesuffix(".md"))) > 1:
        return rf"{link}|(?<![\w-]){name}(?!\w)"
    return rf"{link}|(?<=memory/){name}(?!\w)|(?<=\()\.?/?{name}(?=\))|\A{name}\Z"


def _redacted_json(value: Any, traces: Traces) -> tuple[Any, int]:
    match value:
        case str():
            found = traces.redacted(value)
            return _still_json(value, found.text), found.count
        case list():
            return _redacted_list(value, traces)
        case dict():
            counts = 0
            made: dict[str, Any] = {}
            for key, item in value.items():
                clean, count = _redacted_json(item, traces)
                name = traces.redacted(key)
                made[name.text] = clean
                counts += count + name.count
            return made, counts
        case _:
            return value, 0


def _redacted_list(value: list[Any], traces: Traces) -> tuple[list[Any], int]:
    made: list[Any] = []
    counts = 0
    for item in value:
        clean, count = _redacted_json(item, traces)
        counts += count
        if not (count and isinstance(item, dict) and item.get("type") == "thinking"):
            made.append(clean)
    if value and not made:
        # A message must not become empty.
        made.append({"type": "text", "text": MARK})
    return made, counts


def _still_json(before: str, after: str) -> str:
    """Keep text that was JSON, such as tool arguments, valid JSON."""
    if after == before or before[:1] not in "{[":
        return after
    try:
        json.loads(before)
    except (ValueError, RecursionError):
        return after
    try:
        json.loads(after)
    except (ValueError, RecursionError):
        return json.dumps({"forgotten": True})
    return after


def encoded(text: str) -> bytes:
    """Encode back: invalid UTF-8 bytes as they were, lone surrogates as in a journal."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
