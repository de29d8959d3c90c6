"""What somebody wants remembered, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from reverie.memory.revisions import Revision
from reverie.memory.scopes import OwnScope
from reverie.memory.taxonomy import MemoryType
from reverie.memory.topic import Topic
from reverie.text.dates import DateChange
from reverie.text.likeness import Likeness


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants remembered; everything but the text can be worked out."""

    text: str
    type: MemoryType | None = None
    name: str | None = None
    description: str | None = None
    supersedes: str | None = None
    source: tuple[str, ...] = ()
    origin: str = "user"
    even_if_known: bool = False
    # Retire the memory of which this is certainly a newer value.
    replace: bool = False
    allow_excluded: bool = False
    # A whole memory from elsewhere: its other keys are kept.
    original: Topic | None = None
    # The day it was said; an import without one keeps "tomorrow" as it is.
    said: date | None = None
    # When it holds, as a caller knows it; otherwise its words tell.
    valid_from: str | None = None
    valid_until: str | None = None
    # Whose memory it goes to; worked out from its words when it is not said.
    scope: OwnScope | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """A memory that is near to the one being saved: another value of it, more of it, a sibling."""

    file: str
    text: str
    likeness: Likeness
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A memory that may be saved as it stands, and what was changed to get there."""

    topic: Topic
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    # The memory it replaces: named by the person, or by the words they used.
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory was saved. What was changed on the way is told, so that a person can object."""

    topic: Topic
    revision: Revision
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    superseded: str | None = None
    # Memories near to it, which stay as they are.
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """Nothing was saved, and why; `existing` is the memory that already says it."""

    reason: str
    advice: str = ""
    existing: str | None = None


Outcome: TypeAlias = Remembered | Declined
