"""Taking revisions back: which one is next, and what each file becomes against the present. Pure.

Undo and redo go by history alone, as in an editor: a revision says which ones it takes back, so a
second undo goes on where the first one stopped, and a redo brings back what was undone last.

Undoing is a change like any other: what came after the revision stays, by a three-way merge. Where
the two cannot be told apart, nothing is changed and the file is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reverie.memory import index as indexes
from reverie.memory import topic as topics
from reverie.memory.index import pointer_to
from reverie.memory.manifest import INDEX_FILE
from reverie.memory.revisions import Revision

Content: TypeAlias = bytes | None
Merge: TypeAlias = Callable[[bytes, bytes, bytes], Content]


@dataclass(frozen=True, slots=True)
class Standing:
    """Revisions that can be taken back, and undos that can: in both the next one comes first."""

    undo: tuple[Revision, ...]
    redo: tuple[Revision, ...]


def standing(log: Iterable[Revision]) -> Standing:
    """What a history (newest first) leaves to undo and to redo."""
    done: dict[str, Revision] = {}
    undone: dict[str, Revision] = {}
    for revision in reversed(tuple(log)):
        gone = [id_ for id_ in revision.author.undoes if done.pop(id_, None) is not None]
        back = [id_ for id_ in revision.author.undoes if undone.pop(id_, None) is not None]
        if gone:
            undone[revision.id] = revision
        elif back or not revision.author.undoes:
            done[revision.id] = revision
    return Standing(tuple(reversed(done.values())), tuple(reversed(undone.values())))


@dataclass(frozen=True, slots=True)
class Step:
    """One revision to take back: what each file was before it and after it."""

    before: Mapping[str, Content]
    after: Mapping[str, Content]


@dataclass(frozen=True, slots=True)
class Undo:
    """What the files become, and those where later changes are in the way."""

    files: Mapping[str, Content]
    conflicts: tuple[str, ...] = ()


def plan(steps: Sequence[Step], current: Callable[[str], Content], merge: Merge) -> Undo:
    """Take the steps back in the order given (newest first)."""
    now: dict[str, Content] = {}
    conflicts: list[str] = []
    for step in steps:
        for name in step.after:
            if name != INDEX_FILE:
                present = now[name] if name in now else current(name)
                made = _back(step.before[name], step.after[name], present, merge)
                if isinstance(made, _Conflict):
                    conflicts.append(name)
                else:
                    now[name] = made
    if conflicts:
        return Undo({}, tuple(dict.fromkeys(conflicts)))
    if any(INDEX_FILE in step.after for step in steps):
        now[INDEX_FILE] = _index(steps, now, current(INDEX_FILE) or b"", merge)
    return Undo(now)


class _Conflict:
    """Later changes cannot be told apart from what is to be undone."""


def _back(before: Content, after: Content, present: Content, merge: Merge) -> Content | _Conflict:
    if present == after:
        return before
    if present == before:
        return present
    if before is None or after is None or present is None:
        return _Conflict()
    merged = merge(after, present, before)
    return _Conflict() if merged is None else merged


def _index(
    steps: Sequence[Step], files: Mapping[str, Content], present: bytes, merge: Merge
) -> bytes:
    """Line by line where that works; otherwise the pointers of the files that came or went."""
    text: Content = present
    for step in steps:
        if INDEX_FILE in step.after and text is not None:
            before, after = step.before[INDEX_FILE] or b"", step.after[INDEX_FILE] or b""
            text = before if text == after else merge(after, text, before)
    index = indexes.parse(present if text is None else text)
    for name, data in files.items():
        if name == INDEX_FILE:
            continue
        found = None if data is None else topics.parse(data, name)
        if found is None or (text is None and not found.listed):
            index = index.without(name)
        elif found.listed and all(pointer.file != name for pointer in index.pointers):
            index = index.with_pointer(pointer_to(found.name, name, found.description))
    return indexes.render(index)
