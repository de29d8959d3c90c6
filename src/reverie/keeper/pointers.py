"""How the index follows a change: one line for one memory, and a count when it is full. Pure."""

from __future__ import annotations

from reverie.memory.index import MOST_LINES, Index, more_line, pointer_to
from reverie.memory.topic import Topic


def pointed(index: Index, memory: Topic) -> Index:
    """The index with a pointer to a memory; a full one counts it instead: recall will find it.

    One that does not belong in the index leaves it as it is.
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
    """The index after a memory changed: its line follows its words, and only them.

    A line that somebody else wrote stays as it is until the title or description changes; a memory
    that is counted, or was left out, is not counted again.
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


def unpointed(index: Index, file: str) -> Index:
    """The index without a memory: without its line, or with one less in the count."""
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
