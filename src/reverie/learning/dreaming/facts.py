"""The facts of a memory that must not be lost: numbers, names, dates, addresses, statements. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from functools import lru_cache

from reverie.memory.format import topic as topics
from reverie.memory.format.topic import Topic
from reverie.text.dates import absolute_dates
from reverie.text.word_classes import negations
from reverie.text.words import root

ARCHIVED = "archived"

_URL = re.compile(r"https?://[^\s<>()\[\]\"'`]+[^\s<>()\[\]\"'`.,;:!?]")
_CODE = re.compile(r"`([^`\n]+)`")
_NUMBER = re.compile(r"(?<![\w.])[^\W\d_]{0,4}\d[\w]*(?:[.:,/\-+]\w+)*%?")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’_][^\W\d_]+)*")
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_MARKUP = re.compile(
    r"^[ \t]*(?:[#>*+\-]+[ \t]+|\d+\.[ \t]+)|\*\*(?:Why|How to apply):\*\*|\*\*|__"
)
# Capitalised words that are not names.
_NOT_NAMES = frozenset({"i", "we", "the", "a", "an", "it", "they", "this", "that", "why", "how"})


def archived(topic: Topic) -> str | None:
    """When a memory was archived, which removes it from index and default recall."""
    return topic.archived


def is_live(topic: Topic, today: date) -> bool:
    """Whether a memory is valid: not superseded, not archived, not expired."""
    return topic.superseded_by is None and archived(topic) is None and not expired(topic, today)


def expired(topic: Topic, today: date) -> bool:
    """Whether the last valid day of a memory is over."""
    until = day_of(topic.valid_until)
    return until is not None and until < today


def day_of(moment: str | None) -> date | None:
    try:
        return datetime.fromisoformat(moment).date() if moment else None
    except ValueError:
        return None


def written_on(topic: Topic) -> date | None:
    """The day from which a memory's relative dates count."""
    return day_of(topic.updated) or day_of(topic.created)


def dated(topic: Topic, text: str) -> str:
    """A memory's text with its relative dates made absolute, if the memory's day is known."""
    day = written_on(topic)
    return _absolute(text, day) if day else text


@lru_cache(maxsize=32_768)
def _absolute(text: str, day: date) -> str:
    return absolute_dates(text, day)[0]


@lru_cache(maxsize=16_384)
def parsed(data: bytes, file: str) -> Topic:
    """Parse a topic; cached, because a dream reads each one many times."""
    return topics.parse(data, file)


@lru_cache(maxsize=16_384)
def claim(data: bytes, file: str) -> str:
    """Everything that a memory says, in one text, with absolute dates."""
    topic = parsed(data, file)
    text = "\n".join((topic.name, topic.description, topic.body))
    return dated(topic, text)


@lru_cache(maxsize=16_384)
def body(data: bytes, file: str) -> str:
    """The text below the frontmatter."""
    topic = parsed(data, file)
    return dated(topic, topic.body)


@lru_cache(maxsize=16_384)
def heading(data: bytes, file: str) -> str:
    """Title and description."""
    topic = parsed(data, file)
    return dated(topic, f"{topic.name}\n{topic.description}")


@lru_cache(maxsize=16_384)
def summary(data: bytes, file: str) -> str:
    """The description, or the title of a memory that has neither description nor body."""
    topic = parsed(data, file)
    return dated(topic, topic.description or ("" if topic.body.strip() else topic.name))


@lru_cache(maxsize=16_384)
def values(text: str) -> frozenset[str]:
    """Numbers, dates, addresses, code and names of a text, case-folded."""
    found = {f"url:{one}" for one in _URL.findall(text)}
    found |= {f"code:{one.strip()}" for one in _CODE.findall(text)}
    plain = _URL.sub(" ", text)
    found |= {one.casefold() for one in _NUMBER.findall(plain)}
    for sentence in _SENTENCE.split(plain):
        found |= set(_names(_MARKUP.sub(" ", sentence).strip()))
    return frozenset(found)


def _names(sentence: str) -> Iterable[str]:
    """Capitalised words inside the sentence, and words with several capitals anywhere."""
    for at, match in enumerate(_WORD.finditer(sentence)):
        word = match[0]
        inner = any(char.isupper() for char in word[1:])
        if (inner or (at > 0 and word[0].isupper())) and word.casefold() not in _NOT_NAMES:
            yield word.casefold().removesuffix("'s").removesuffix("’s")


@lru_cache(maxsize=16_384)
def words(text: str) -> frozenset[str]:
    """The plain words of a text, for comparison with another text."""
    return frozenset(match[0].casefold() for match in _WORD.finditer(text) if len(match[0]) > 3)


def missing(before: str, after: str) -> tuple[str, ...]:
    """Values of one text that the other lacks; a name may occur there as any word."""
    present = values(after)
    lost = values(before) - present
    spoken = {match[0].casefold() for match in _WORD.finditer(after)}
    return tuple(sorted(one for one in lost if one not in spoken))


def share_kept(before: str, after: str) -> float:
    """The share of a text's words that another text has."""
    old_words = words(before)
    return len(old_words & words(after)) / len(old_words) if old_words else 1.0


# --- sentences: a statement stays one only while its words stay together and in order ---


def _all_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS = _all_of(
    "a an the is are was were be been being am to of in on at for by with as and that this these"
    " those it its their them his her my our your will would shall can do does did has have had"
    " so very just really please also then there here which who whom whose or"
)
_TOKEN = re.compile(r"[^\W_]+(?:[-.:/_@][^\W_]+)*")


@lru_cache(maxsize=32_768)
def statements(text: str) -> tuple[str, ...]:
    """The sentences and lines of a text, without their markup."""
    parts = (_MARKUP.sub(" ", part).strip() for part in _SENTENCE.split(text))
    return tuple(part for part in parts if part)


@lru_cache(maxsize=32_768)
def content(sentence: str) -> tuple[str, ...]:
    """The words of a sentence that carry its meaning, in order, without endings."""
    plain = re.sub(r"\b(\w+)n['’]t\b", r"\1 not", sentence.casefold())
    plain = re.sub(r"['’]s\b", "", plain)
    return tuple(root(word) for word in _TOKEN.findall(plain) if word not in _FILLERS)


def unkept(before: str, after: str) -> str | None:
    """A statement of one text that the other no longer makes; None when it makes all of them."""
    there = statements(after)
    exact = set(there)
    contents = [content(one) for one in there]
    for statement in statements(before):
        if statement in exact or not (wanted := content(statement)):
            continue
        if not any(_says(one, wanted) for one in contents):
            return statement
    return None


def new_statements(after: str, before: str) -> tuple[str, ...]:
    """The statements that another text does not have verbatim, ignoring case and punctuation."""
    known = {_spoken(one) for one in statements(before)}
    return tuple(one for one in statements(after) if _spoken(one) not in known)


def _spoken(statement: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(statement.casefold()))


def _says(sentence: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Whether a sentence has all wanted words in their order, with the same negations."""
    rest = iter(sentence)
    if not all(word in rest for word in wanted):
        return False
    return _denials(sentence) == _denials(wanted)


def _denials(sentence: tuple[str, ...]) -> int:
    return sum(word in negations() for word in sentence) % 2


def forget() -> None:
    """Clear the caches that speed up judging a dream."""
    for kept in (parsed, claim, body, heading, summary, values, words, statements, content):
        kept.cache_clear()
    _absolute.cache_clear()
