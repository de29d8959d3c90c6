"""The values that go into the index and come out of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from reverie.memory.format import attachment

if TYPE_CHECKING:
    from reverie.memory.format.topic import Topic


Collection = Literal["memories", "episodes"]
Scope = Literal["memories", "episodes", "both"]
# (mtime_ns, size, inode): what a scan knows about a file without reading it.
Signature: TypeAlias = tuple[int, int, int]

# Only the beginning of a larger file is searched; our own memories are never that large.
LARGEST_TEXT = 64 * 1024


@dataclass(frozen=True, slots=True)
class MemoryDoc:
    """One topic file, as recall sees it. Moments are seconds since the epoch.

    `valid_until` is the first moment at which it no longer holds: the end of its last day.
    """

    file: str
    signature: Signature
    name: str = ""
    description: str = ""
    body: str = ""
    type: str | None = None
    created: float | None = None
    valid_from: float | None = None
    valid_until: float | None = None
    confidence: float | None = None
    superseded: bool = False
    archived: bool = False
    pinned: bool = False
    entities: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()

    @classmethod
    def of(cls, topic: Topic, signature: Signature) -> MemoryDoc:
        """A parsed topic file with the signature it was read under."""
        return cls(
            file=topic.file,
            signature=signature,
            name=topic.name,
            description=topic.description,
            body=topic.body[:LARGEST_TEXT],
            type=topic.type,
            created=moment(topic.created) or signature[0] / 1e9,
            valid_from=_seconds(attachment.starts_at(topic.valid_from)),
            valid_until=_seconds(attachment.over_at(topic.valid_until)),
            confidence=topic.confidence,
            superseded=topic.superseded_by is not None,
            archived=topic.archived is not None,
            pinned=topic.pinned,
            entities=topic.entities,
            links=topic.linked,
            cues=topic.cues,
        )


@dataclass(frozen=True, slots=True)
class Episode:
    """One message of a transcript; `speaker` is a person's name where one is known."""

    id: str
    role: str
    at: float
    text: str
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory or message that was found, with its signals and the reasons in words.

    Hits are ordered by their fused signals; `score` is the chance of being a good match, to be
    compared with `fuse.GOOD_MATCH`.
    """

    key: str
    collection: Collection
    score: float
    signals: Mapping[str, float]
    snippet: str
    why: str
    session: str = ""
    role: str = ""
    at: float | None = None
    # Caveats about a memory's status: "expired", "from 2027-01-01", "superseded" …
    label: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A candidate that was not returned, and the reason."""

    key: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A whole session, by its best messages."""

    session: str
    score: float
    best: str


@dataclass(frozen=True, slots=True)
class Results:
    """The hits of a search, best first, and how they were found."""

    hits: tuple[Hit, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    sessions: tuple[SessionHit, ...] = ()
    approximate: bool = False
    used_semantic: bool = False
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What an update changed; `problem` says why it failed (the old index still works)."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Embedded:
    """How many passages got a vector, how many are waiting, and why it stopped."""

    made: int = 0
    left: int = 0
    problem: str | None = None


def _seconds(when: datetime | None) -> float | None:
    return None if when is None else when.timestamp()


def moment(text: str | None) -> float | None:
    """An ISO date or time as seconds since the epoch; a time without a zone is read as UTC."""
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


LARGEST = 1_600

_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_TO_NEXT = re.compile(r"[ \n]*")


def split(text: str, largest: int = LARGEST) -> list[str]:
    """Consecutive pieces of at most `largest` characters, cut between paragraphs, lines or words."""
    if len(text) <= largest:
        return [text]
    pieces: list[str] = []
    current = ""
    for block in _blocks(text, largest):
        if current and len(current) + len(block) + 2 > largest:
            pieces.append(current)
            current = block
        else:
            current = f"{current}\n\n{block}" if current else block
    return [*pieces, current] if current.strip() or not pieces else pieces


def _blocks(text: str, largest: int) -> list[str]:
    blocks: list[str] = []
    for found in _PARAGRAPH.split(text):
        paragraph = found.strip("\n")
        start, end = 0, len(paragraph)
        while end - start > largest:
            most = start + largest
            cut = max(paragraph.rfind("\n", start, most), paragraph.rfind(" ", start, most))
            cut = cut if cut > start + largest // 2 else most
            blocks.append(paragraph[start:cut])
            start = _TO_NEXT.match(paragraph, cut).end()  # type: ignore[union-attr]
        if paragraph[start:].strip():
            blocks.append(paragraph[start:])
    return blocks


def snippet(text: str, wanted: set[str], width: int = 160) -> str:
    """The part of a text around the first wanted word, on one line."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    low = line.lower()
    places = [place for place in (low.find(word) for word in wanted) if place >= 0]
    start = max(0, min(places, default=0) - width // 4)
    start = line.rfind(" ", 0, start) + 1 if start else 0
    end = start + width
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
