"""Save an edited memory: the text is checked, and based on the version that was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.memory.format.topic import LARGEST_FILE, Topic, parse

if TYPE_CHECKING:
    from reverie.memory.format.revisions import Author, Revision
    from reverie.memory.opening import OpenMemory


@dataclass(frozen=True, slots=True)
class Base:
    """The topic and version an edit started from."""

    topic: Topic
    version: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The memory as it was saved; without a revision if nothing changed."""

    topic: Topic
    revision: Revision | None


def base_of(memory: OpenMemory, file: str, version: str) -> Base:
    """The version an edit started from; if history lacks it, the write will conflict."""
    content = memory.history.content(version) if version else None
    return Base(parse(content or b"", file), version or "unknown")


def save_edit(memory: OpenMemory, base: Base, data: bytes, author: Author) -> Edited:
    """Check an edited text and save it.

    InputError says what is wrong with it; WriteConflict holds what was saved meanwhile.
    """
    fresh = parse(data, base.topic.file)
    problem = _problem(data, fresh, base.topic)
    if problem is not None:
        raise InputError(problem)
    revision = memory.keeper.change(base, fresh, author, f"edit {fresh.name}")
    return Edited(fresh, revision)


def _problem(data: bytes, fresh: Topic, before: Topic) -> str | None:
    if not data.strip():
        return "the text is empty; to remove a memory: reverie forget"
    if len(data) > LARGEST_FILE:
        return f"{len(data):,} bytes are too many; a memory holds at most {LARGEST_FILE:,}"
    # A file that was broken before may be saved; a new problem may not be introduced.
    if fresh.problem is not None and fresh.problem != before.problem:
        return f"not saved: {fresh.problem}"
    return None
