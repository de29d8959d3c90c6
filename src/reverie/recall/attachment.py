"""Whether to search for memories, whether one still matches the working tree, and how it is shown."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from reverie.core.messages import Message
from reverie.memory.changes.handles import mark_of
from reverie.memory.format import attachment
from reverie.memory.format.attachment import Recalled
from reverie.memory.format.taxonomy import SCOPE_ORIGINS, split
from reverie.memory.format.topic import Anchor, Topic

MOST_FILES = 5
MOST_SESSION_BYTES = 60_000
# How many characters of the beginning and the end of a long message are searched for. The middle is
# mostly pasted, and search time grows with the text.
END = 2_000

_WORD = re.compile(r"\w+", re.UNICODE)
# Scripts that do not put spaces between words: a "single word" may be a whole sentence.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")


@dataclass(slots=True)
class Surfaced:
    """The memories this session was already given; reset when the conversation is compacted."""

    files: set[str] = field(default_factory=set)
    bytes: int = 0

    def add(self, files: tuple[str, ...], size: int) -> None:
        self.files.update(files)
        self.bytes += size

    def reset(self) -> None:
        self.files.clear()
        self.bytes = 0


@dataclass(frozen=True, slots=True)
class Due:
    """Search for memories that help with this text."""

    question: str


@dataclass(frozen=True, slots=True)
class Skipped:
    reason: str


Decision: TypeAlias = Due | Skipped


def due(message: Message, surfaced: Surfaced, *, enabled: bool) -> Decision:
    """The first that applies: memory off, not a person's words, too little to go on, budget spent."""
    if not enabled:
        return Skipped("recall is off")
    if message.role != "user" or message.origin != "user":
        return Skipped("not written by a person")
    text = _ends(message.text.strip())
    if len(_WORD.findall(text)) < 2 and not _UNSPACED.search(text):
        return Skipped("a single word says too little")
    if surfaced.bytes >= MOST_SESSION_BYTES:
        return Skipped(f"this session was given {surfaced.bytes:,} bytes of memories already")
    return Due(text)


def _ends(text: str) -> str:
    return text if len(text) <= 2 * END else f"{text[:END]}\n{text[-END:]}"


# Larger files are not compared, only checked for existence.
_LARGEST = 1_000_000


def check(anchors: Iterable[str], root: Path) -> tuple[str, ...]:
    """Warnings about a memory whose anchors no longer match the working tree."""
    found = (_check(Anchor.parse(text), root) for text in anchors)
    return tuple(note for note in found if note)


def content_hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _check(anchor: Anchor, root: Path) -> str | None:
    name, _, symbol = anchor.target.partition("::")
    path = Path(os.path.normpath(root / name))
    if not path.is_relative_to(root):
        return None
    try:
        seen = path.stat()
    except OSError:
        return f"{name}, which it names, no longer exists."
    if not stat.S_ISREG(seen.st_mode) or seen.st_size > _LARGEST:
        return None
    if anchor.seen is None and not symbol:
        return None
    return _compare(anchor, name, symbol, path)


def _compare(anchor: Anchor, name: str, symbol: str, path: Path) -> str | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    last = symbol.rpartition(".")[2]
    if last and last.encode() not in data:
        return f"{symbol} is no longer in {name}."
    if anchor.seen and not content_hash(data).startswith(anchor.seen.rpartition(":")[2][:12]):
        return f"{name} changed since this was saved."
    return None


def recalled(topic: Topic, path: Path, project: Path, now: datetime) -> Recalled:
    """A memory as it is shown: its owner, age and status, and warnings from the working tree."""
    moment = _moment(topic.updated or topic.created) or _changed(path)
    notes = (*labels(topic, now), *check(topic.anchors, project))
    whose = SCOPE_ORIGINS[split(topic.file)[0]]
    mark = mark_of(topic.file)
    return Recalled(topic.file, str(path), topic.body, moment or now, notes, whose, mark)


def labels(topic: Topic, now: datetime) -> tuple[str, ...]:
    """Caveats about a memory's status."""
    found = []
    if topic.archived:
        found.append(f"Archived on {topic.archived}; kept, but no longer in use.")
    if topic.superseded_by:
        found.append(f"Superseded by {topic.superseded_by}; kept for history.")
    if attachment.expired(topic.valid_until, now):
        found.append(f"Expired: it held until {topic.valid_until}.")
    elif attachment.pending(topic.valid_from, now):
        found.append(f"Not yet in force: it holds from {topic.valid_from}.")
    if topic.confidence is not None and topic.confidence < 0.5:
        found.append(f"Uncertain (confidence {topic.confidence:g}).")
    return tuple(found)


def _moment(text: str | None) -> datetime | None:
    if not text:
        return None
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _changed(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return None
