"""What may become a memory, and what should be done with it, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.taxonomy import MemoryType

# Who said it, as far as trust is concerned: whatever is neither of the two speakers is a tool.
Voice: TypeAlias = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Add:
    """A new memory."""


@dataclass(frozen=True, slots=True)
class Update:
    """The same fact with more to it: the file is changed."""

    file: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Another value of the same thing: both are kept, and the old one says what replaced it."""

    file: str


@dataclass(frozen=True, slots=True)
class Delete:
    """To be forgotten. Without a file it is only a wish: `decide` finds what it is about."""

    file: str = ""


@dataclass(frozen=True, slots=True)
class Noop:
    """Nothing to do, and why; `file` is the memory that already says so."""

    reason: str = ""
    file: str = ""


Operation: TypeAlias = Add | Update | Supersede | Delete | Noop


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible memory: what it says, who said it, in which messages, in which words."""

    text: str
    type: MemoryType
    sources: tuple[str, ...]
    origin: Voice
    operation: Operation = field(default_factory=Add)
    name: str = ""
    description: str = ""
    evidence: str = ""
    # Why the words, though they stand in the person's message, may be somebody else's.
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """A memory there already is."""

    entry: ManifestEntry
    body: str = ""
