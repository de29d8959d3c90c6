"""The query language for people: `type:feedback after:2026-01 is:archived "exact phrase" -word`.

Nothing a person types is an error: anything that is not an option is plain words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from reverie.text import words
from reverie.text.timewords import Span, date_span

_TOKEN = re.compile(
    r"(?P<minus>(?<!\S)-(?=[\w\"]))?(?:"
    r"(?P<key>(?<![^\s-])(?:type|after|before|session|role|is)):(?P<value>\"[^\"]*\"|\S+)"
    r"|\"(?P<phrase>[^\"]*)\""
    r"|(?P<word>[^\s\"]+))"
)
# A message of more words is searched by its sentences, up to this many of them.
SHORT = 40
MOST_PARTS = 6
MOST_NAMES = 8
_TOO_FEW = 5
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+|\n+")
# Between two questions: a question mark, or a comma or "and" before a word that asks.
_AND = re.compile(
    r"(?<=[?？])\s+(?:also,? |and )?|(?:[,;:]\s+|[,;:]?\s+(?:and|und|et|y|as well as)\s+)(?:also |then )?"
    r"(?=(?:by |at |for |in |on )?(?:who|whom|whose|what|when|where|which|why|how|is|are|do|does|can|may|until when|"
    r"wer|wann|wo|was|welche\w*|wie|qui|quand|où|quel\w*|qui[eé]n|cu[aá]ndo|d[oó]nde|about)\b)",
    re.IGNORECASE,
)
_SMALLEST = 3
# A thing that a sentence treats as known: two or three words after an article or a possessive.
_KNOWN = re.compile(
    r"\b(?P<article>the|our|my|their|der|die|das|den|dem|unser\w*|le|la|les|notre|el|los|las|nuestr[oa])"
    r"\s+(?P<words>[\w-]+(?:[ ][\w-]+){1,3})",
    re.IGNORECASE,
)
_FOLLOW_UP = 8
_EXCLUDED = 3
_QUESTION = re.compile(
    r"[?？]$|^(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|"
    r"should|will|would|has|have|had)\b(?=.*\s\w+\s)",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"^(?:and|or|but|also|then|what about|how about|und|oder|et|ou|y|o|en)\b.*[?？]$|"
    r"^(?:who|whom|when|where|why|how(?: \w+)?|by whom|which(?: one)?|are|is|does|what)\b"
    r".*\b(?:it|that|these|those|they|them|this|he|she|her|him|one|else)\b.*[?？]$|"
    r"^(?:by |for |in |on |at |with |since )?\w+(?: \w+)?[?？]$",
    re.IGNORECASE,
)
TYPES = frozenset({"user", "feedback", "project", "reference"})


@dataclass(frozen=True, slots=True)
class Query:
    """A question, with its options parsed out of the text."""

    text: str
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    after: float | None = None
    before: float | None = None
    session: str | None = None
    role: str | None = None
    archived: bool = False

    @property
    def filtered(self) -> bool:
        options = (self.after, self.before, self.session, self.role)
        return bool(self.types) or self.archived or any(option is not None for option in options)


def parts(text: str) -> tuple[str, ...]:
    """The parts of a long message, one or two sentences each; a short message is one part.

    A message with several questions is itself a part, and so is each question.
    """
    if len(text.split()) <= SHORT:
        several = [part.strip() for part in _AND.split(text) if len(part.split()) >= _SMALLEST]
        return (text, *several[:MOST_PARTS]) if len(several) > 1 else (text,)
    found: list[str] = []
    for sentence in _SENTENCES.split(text):
        if found and min(len(found[-1].split()), len(sentence.split())) < _TOO_FEW:
            found[-1] = f"{found[-1]} {sentence}"
        elif sentence.strip():
            found.append(sentence.strip())
    if len(found) <= MOST_PARTS:
        return (*found, *names(text)) or (text,)
    # Questions count most, then the beginning and the end.
    asked = [place for place, part in enumerate(found) if part.endswith(("?", "？"))]
    outside = [end for n in range(len(found)) for end in (n, len(found) - 1 - n)]
    kept = list(dict.fromkeys((*asked[-MOST_PARTS:], *outside)))[:MOST_PARTS]
    return (*(found[place] for place in sorted(kept)), *names(text))


def names(text: str) -> tuple[str, ...]:
    """Things that a message treats as known, such as "the staging database"; each is searched for."""
    found: dict[str, None] = {}
    for known in _KNOWN.finditer(text):
        named = list(takewhile(_carries, known["words"].split()))
        if len(named) > 1:
            found[" ".join((known["article"].lower(), *named[:3]))] = None
    return tuple(found)[:MOST_NAMES]


def _carries(word: str) -> bool:
    return not any(word.lower() in stop for stop in words.STOP_WORDS.values())


def read(text: str) -> Query:
    """Read a question as plain words; anything else, or a text with an option, in the query language."""
    found = parse(text)
    # `-x` in a question is the option of a command; `-release` leaves a word out.
    excludes = any(len(word) >= _EXCLUDED for word in found.excluded)
    if found.filtered or excludes or not _QUESTION.search(text.strip()):
        return found
    return plain(text)


def follow_up(text: str) -> bool:
    """Whether a message is only understood with the one before it: "and on Sundays?"."""
    return len(text.split()) <= _FOLLOW_UP and _LEANS.search(text.strip()) is not None


def plain(text: str) -> Query:
    """A message as a question: quotes and dashes in it are not options."""
    return Query(text)


def parse(text: str) -> Query:
    """Options, phrases and excluded words, in any order; the rest is the question."""
    words: list[str] = []
    phrases: list[str] = []
    excluded: list[str] = []
    options: dict[str, str] = {}
    types: list[str] = []
    for match in _TOKEN.finditer(text):
        value = (match["value"] or "").strip('"')
        if match["key"] and not match["minus"] and _reads(match["key"], value):
            if match["key"] == "type":
                types.append(value.lower())
            else:
                options[match["key"]] = value
        elif match["minus"] and (match["phrase"] or match["word"]):
            excluded.append(match["phrase"] or match["word"])
        elif match["phrase"] is None:
            words.append(match[0])
        elif match["phrase"].strip():
            phrases.append(match["phrase"])
    after, before = _day(options.get("after")), _day(options.get("before"))
    return Query(
        text=" ".join((*words, *phrases)),
        phrases=tuple(phrases),
        excluded=tuple(excluded),
        types=tuple(types),
        after=after.start if after else None,
        before=before.start if before else None,
        session=options.get("session"),
        role=options.get("role"),
        archived="is" in options,
    )


def _reads(key: str, value: str) -> bool:
    if key == "type":
        return value.lower() in TYPES
    if key == "is":
        return value.lower() == "archived"
    return _day(value) is not None if key in {"after", "before"} else bool(value)


def _day(value: str | None) -> Span | None:
    return date_span(value) if value else None
