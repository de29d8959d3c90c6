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
    allow_excluded: bool = False
    # A whole memory from elsewhere: its other keys are kept.
    original: Topic | None = None
    # The day it was said; an import without one keeps "tomorrow" as it is.
    said: date | None = None
    # Whose memory it goes to; worked out from its words when it is not said.
    scope: OwnScope | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A memory that may be saved as it stands, and what was changed to get there."""

    topic: Topic
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory was saved. What was changed on the way is told, so that a person can object."""

    topic: Topic
    revision: Revision
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    superseded: str | None = None


@dataclass(frozen=True, slots=True)
class Declined:
    """Nothing was saved, and why; `existing` is the memory that already says it."""

    reason: str
    advice: str = ""
    existing: str | None = None


Outcome: TypeAlias = Remembered | Declined
