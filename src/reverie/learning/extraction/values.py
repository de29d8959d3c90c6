"""Value types of extraction: candidates, operations and known memories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.taxonomy import MemoryType

# The author, for trust: everything that is by neither of the two speakers counts as a tool's.
Voice: TypeAlias = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Add:
    """A new memory."""


@dataclass(frozen=True, slots=True)
class Update:
    """The same fact with more detail: change the file."""

    file: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Another value of the same thing: keep both, and mark the old one as replaced."""

    file: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Forget a memory. Without a file, `decide` finds the memory that is meant."""

    file: str = ""


@dataclass(frozen=True, slots=True)
class Noop:
    """Nothing to do, and why; `file` is the memory that already says so."""

    reason: str = ""
    file: str = ""


Operation: TypeAlias = Add | Update | Supersede | Delete | Noop


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible memory: its text, author, source messages and the words that support it."""

    text: str
    type: MemoryType
    sources: tuple[str, ...]
    origin: Voice
    operation: Operation = field(default_factory=Add)
    name: str = ""
    description: str = ""
    evidence: str = ""
    # Why the words, though in the person's message, may be by another author.
    doubt: str = ""
    # Other words people will ask by.
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """An existing memory."""

    entry: ManifestEntry
    body: str = ""
