"""Does what a memory speaks of still exist, and is it still the same? Costs stats, and reads only to compare.

An anchor is a path, or `path::symbol`, with the content hash it had when the memory was written.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from reverie.memory.topic import Anchor

# Larger files are not read to compare them: their absence is all that is checked.
_LARGEST = 1_000_000


def check(anchors: Iterable[str], root: Path) -> tuple[str, ...]:
    """What is to be said against a memory, judged by the working tree."""
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
