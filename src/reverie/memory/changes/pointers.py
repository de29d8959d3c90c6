"""Update the index after a change: one line per memory, and a count of the rest when it is full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reverie.memory.format.index import (
    MOST_LINES,
    Index,
    listing_rank,
    more_line,
    pointer_of,
    pointer_to,
    rebuilt,
)
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.topic import Topic


def pointed(index: Index, memory: Topic) -> Index:
    """Add a pointer to a memory; a full index only counts it, and recall still finds it.

    A memory that is not listed (superseded or archived) does not change the index.
    """
    if not memory.listed:
        return index
    pointer = pointer_to(memory.name, memory.file, memory.description)
    known = _lists(index, memory.file)
    if known or len(index.lines) < MOST_LINES - 1:
        grown = index.with_pointer(pointer)
        return grown if known or grown.fits else _counted(index, index.more + 1)
    return _counted(index, index.more + 1)


def refreshed(index: Index, old: Topic, fresh: Topic) -> Index:
    """Update a memory's line if its title or description changed.

    A line written by hand stays until then; a memory that was counted or left out is not counted
    again.
    """
    if not fresh.listed:
        return unpointed(index, fresh.file) if old.listed else index.without(fresh.file)
    if not old.listed:
        return pointed(index, fresh)
    same = (old.name, old.description) == (fresh.name, fresh.description)
    if _lists(index, fresh.file):
        return index if same else pointed(index, fresh)
    grown = index.with_pointer(pointer_to(fresh.name, fresh.file, fresh.description))
    return grown if grown.fits and len(grown.lines) < MOST_LINES else index


def moved(index: Index, file: str, entries: Sequence[ManifestEntry]) -> Index:
    """Move one pointer to where a rebuild would put it: pinned memories first, then by type.

    No other line moves. For a pinned memory that a full index only counted, rebuild the index.
    """
    known = {entry.file: entry for entry in entries}
    one = known.get(file)
    if one is None or not one.listed:
        return index
    if not _lists(index, file):
        return rebuilt(index, entries) if one.pinned else index
    [line] = [line for line in index.lines if (p := pointer_of(line)) and p.file == file]
    rest = index.without(file).lines
    positions = [n for n, other in enumerate(rest) if pointer_of(other)]
    behind = (n for n in positions if not _before(rest[n], one, known))
    at = next(behind, positions[-1] + 1 if positions else index.lines.index(line))
    whole = [other if other.endswith(("\n", "\r")) else f"{other}\n" for other in (*rest, line)]
    return Index((*whole[:at], whole[-1], *whole[at:-1]))


def _before(line: str, one: ManifestEntry, known: Mapping[str, ManifestEntry]) -> bool:
    """Whether the memory of a line is listed before another one."""
    pointer = pointer_of(line)
    other = known.get(pointer.file) if pointer else None
    return other is not None and listing_rank(other) < listing_rank(one)


def unpointed(index: Index, file: str) -> Index:
    """Remove a memory's line, or reduce the count by one."""
    if _lists(index, file) or not index.more:
        return index.without(file)
    return _counted(index, index.more - 1)


def _lists(index: Index, file: str) -> bool:
    return any(pointer.file == file for pointer in index.pointers)


def _counted(index: Index, more: int) -> Index:
    kept = [line for line in index.lines if not Index((line,)).more]
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    return Index((*kept, more_line(more)) if more else tuple(kept))
