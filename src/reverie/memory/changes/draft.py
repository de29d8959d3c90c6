"""A new memory on its way to be saved: its draft and the outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from reverie.memory.format.kinds import infer_type
from reverie.memory.format.revisions import Revision
from reverie.memory.format.taxonomy import MemoryType, OwnScope
from reverie.memory.format.topic import Scalar, Topic
from reverie.text.dates import DateChange
from reverie.text.likeness import Likeness


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to save; everything but the text can be inferred."""

    text: str
    type: MemoryType | None = None
    name: str | None = None
    description: str | None = None
    supersedes: str | None = None
    source: tuple[str, ...] = ()
    origin: str = "user"
    even_if_known: bool = False
    # Retire the memory of which this is a newer value.
    replace: bool = False
    allow_excluded: bool = False
    # An imported memory, whose other keys are kept.
    original: Topic | None = None
    # The day it was said; an import without one keeps "tomorrow" as it is.
    said: date | None = None
    # When it is valid; inferred from its words if not given.
    valid_from: str | None = None
    valid_until: str | None = None
    # The scope to save it in; inferred from its words if not given.
    scope: OwnScope | None = None
    # Other words people will ask by.
    cues: tuple[str, ...] = ()
    # Taken from an instruction file: that the file says it is no reason to leave it out.
    from_instructions: bool = False
    # What a program notes about it.
    metadata: Mapping[str, Scalar] | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """A memory similar to the one being saved: the same in other words, another value, a sibling."""

    file: str
    text: str
    likeness: Likeness
    certain: bool = False
    # Whether it only seems so: the words differ too much to tell; and how probable it is then.
    weighed: bool = False
    odds: float = 1.0

    @property
    def guessed(self) -> bool:
        """Whether it is less likely than not."""
        return self.odds < _LIKELY


@dataclass(frozen=True, slots=True)
class Prepared:
    """A memory ready to save, and what was changed in it."""

    topic: Topic
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    # The memory it replaces: given by the caller, or inferred from its words.
    replaces: str | None = None
    # Relative dates that stay, since the day of writing is unknown.
    undated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """A saved memory, with what was changed in it, so that the user can object."""

    topic: Topic
    revision: Revision
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    superseded: str | None = None
    # Similar memories, which were not changed.
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """Why nothing was saved; `existing` is the memory that already says it."""

    reason: str
    advice: str = ""
    existing: str | None = None


Outcome: TypeAlias = Remembered | Declined

_LIKELY = 0.5
LONGEST_TITLE = 70
LONGEST_DESCRIPTION = 180

# Not after "Dr." and similar, nor after the day of a date ("4. August").
_SENTENCE = re.compile(
    r"(?<=[.!?。！？])(?<!\b\d\.)(?<!\b\d\d\.)(?<!\b[DMS]r\.)(?<!\bM[sme]\.)(?<!\bM\.)(?<!\bSt\.)"
    r"(?<!\bNr\.)(?<!\bMrs\.)(?<!\bMme\.)(?<!\bSra\.)(?<!\bProf\.)\s+|\n+"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is not saved yet."""

    name: str
    description: str
    type: MemoryType
    body: str

    @property
    def claim(self) -> str:
        """The text to compare with other memories: the body, or else the description."""
        return self.body or self.description


def draft(
    text: str,
    *,
    type_: MemoryType | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Draft:
    """Infer what is not given; the text is the body."""
    body = text.strip()
    first = _first_sentence(body)
    return Draft(
        name=_cut(name or first.rstrip(".!?。"), LONGEST_TITLE),
        description=_cut(description or first, LONGEST_DESCRIPTION),
        type=type_ or infer_type(body),
        body=body,
    )


def _first_sentence(text: str) -> str:
    plain = re.sub(r"^[#>*\-\s]+", "", text)
    return " ".join(_SENTENCE.split(plain, maxsplit=1)[0].split())


def _cut(text: str, longest: int) -> str:
    """Cut at a word and end with an ellipsis."""
    if len(text) <= longest:
        return text
    kept = text[: longest - 1].rpartition(" ")[0] or text[: longest - 1]
    return f"{kept}…"
