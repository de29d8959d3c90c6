"""What extraction needs of memory: where it reads, saves and proposes, and the copy a fork writes in."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import Protocol

from reverie.learning.extraction.trust import ToInbox
from reverie.learning.extraction.values import Candidate, Known
from reverie.memory.format.instructions import LearningInstructions
from reverie.memory.format.topic import Topic


class MemoryCopy(Protocol):
    """A copy of the memory, in which a fork writes what it would save."""

    @property
    def folder(self) -> Path: ...

    def written(self) -> Sequence[tuple[Topic, Topic | None]]:
        """Each memory that the fork wrote or changed, with its previous version."""
        ...


class SettlingStore(Protocol):
    """Where candidates are saved or proposed."""

    def instructions(self) -> LearningInstructions:
        """The person's rules on what to keep and what never to keep."""
        ...

    def save(self, candidate: Candidate, said_on: date | None) -> str | None:
        """Save a candidate; returns its file, or None when it was not saved."""
        ...

    def propose(self, item: ToInbox, said_on: date | None) -> bool:
        """Propose a candidate to a person; False when it does not have to wait."""
        ...


class CopiedStore(Protocol):
    """A memory of which a side agent gets a copy to work on."""

    def instructions(self) -> LearningInstructions: ...

    @property
    def directory(self) -> Path:
        """The directory of the project's memories, of which a fork gets a copy."""
        ...

    def manifest(self) -> str:
        """The existing memories, one line each, for the fork."""
        ...

    def scratch_copy(self) -> AbstractContextManager[MemoryCopy]:
        """Open a temporary copy of the memory."""
        ...


class LearningStore(SettlingStore, CopiedStore, Protocol):
    """The operations on memory that learning needs."""

    @property
    def directories(self) -> Sequence[Path]:
        """All directories in which the agent itself may have saved memories."""
        ...

    def near(self, candidates: Sequence[Candidate]) -> Sequence[Known]:
        """The memories that these candidates may repeat or contradict."""
        ...
