"""Whether to look for memories, and whether a memory still matches the working tree. Pure decisions."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from reverie.core.messages import Message
from reverie.memory.format.topic import Anchor

MOST_FILES = 5
MOST_SESSION_BYTES = 60_000
# Of a long message, so many characters of its beginning and of its end are asked about: what lies
# between is mostly pasted, and the time a search takes grows with it.
END = 2_000

_WORD = re.compile(r"\w+", re.UNICODE)
# Scripts that do not put spaces between words: a "single word" may be a whole sentence.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")


@dataclass(slots=True)
class Surfaced:
    """The memories this session was given already; reset when the conversation is compacted."""

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
    """Look for memories that help with this."""

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


# Larger files are not read to compare them: their absence is all that is checked.
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
