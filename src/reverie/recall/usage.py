"""Decides whether a reply used a memory that was shown. Pure and deterministic.

It did if it cites the memory's mark, names its file, or repeats something from the memory that was
not said before: an identifier, a date, a run of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from reverie.memory.changes.handles import mark_of
from reverie.memory.format.attachment import cited
from reverie.text import words as languages
from reverie.text.words import fold, plain_words

Use: TypeAlias = Literal["recalled", "used"]
# Records that memories were shown or used.
CountUses: TypeAlias = Callable[[Sequence[str], Use], None]

# This many words in a row, with this many different content words, are no coincidence.
_RUN = 4
_MEANING = 3
_SHORTEST_NAME = 4

# Anything but plain words: snake_case, camelCase, paths, versions, dates, ports, ticket numbers.
_NAME = re.compile(r"\w+(?:[-./:_]+\w+)*")
_HUMP = re.compile(r"[a-z][A-Z]")
_YEAR = re.compile(r"(?:19|20)\d\d")


def uncounted(files: Sequence[str], use: Use) -> None:
    """Count nothing: the default for callers without use counts."""


def used(reply: str, memories: Mapping[str, str], said: str = "") -> tuple[str, ...]:
    """The files of `memories` (file: text) that a reply used; `said` is what was said before it."""
    names = _names(reply) - _names(said)
    runs = _runs(reply) - _runs(said)
    return tuple(
        file
        for file, text in memories.items()
        if _mentions(reply, file) or names & _names(text) or runs & _runs(text)
    )


def _mentions(reply: str, file: str) -> bool:
    if cited(mark_of(file)) in reply:
        return True
    return bool(re.search(rf"(?<![\w-]){re.escape(file)}(?![\w-]|\.\w)", reply))


def _names(text: str) -> set[str]:
    return {fold(name) for name in _NAME.findall(text) if _distinctive(name)}


def _distinctive(name: str) -> bool:
    if len(name) < _SHORTEST_NAME or _YEAR.fullmatch(name):
        return False
    # A path has a slash, and another one or a dot.
    path = "/" in name and name.count("/") + name.count(".") > 1
    marked = path or "_" in name or _HUMP.search(name)
    return bool(marked) or any(char.isdigit() for char in name)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = plain_words(text)
    stop = languages.ENGLISH | languages.STOP_WORDS.get(
        languages.leaning(words) or "english", frozenset()
    )
    runs = (tuple(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1))
    return {run for run in runs if len(set(run) - stop) >= _MEANING}
