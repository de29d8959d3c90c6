"""Who changed memory, why, and what a change is: the words of history, without the storage."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reverie.memory.format import index as indexes
from reverie.memory.format import topic as topics
from reverie.memory.format.index import pointer_to
from reverie.memory.format.manifest import INDEX_FILE

Writer: TypeAlias = Literal["user", "main", "extract", "dream", "team"]

WRITERS: tuple[Writer, ...] = ("user", "main", "extract", "dream", "team")

# How the first revision begins when files were there before it.
FOUND = "found "

_TRAILER = re.compile(r"^Reverie-(?P<key>[A-Za-z]+): (?P<value>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote, in which session, because of which messages, with which model or dream.

    `undoes` are the revisions a change takes back; `proposal` is the one in the inbox it came from.
    """

    writer: Writer = "user"
    session: str = ""
    messages: tuple[str, ...] = ()
    model: str = ""
    dream: str = ""
    undoes: tuple[str, ...] = ()
    proposal: str = ""


@dataclass(frozen=True, slots=True)
class Revision:
    """One step of history: an id, when, who, one line on what, and the files it touched."""

    id: str
    at: float
    author: Author
    summary: str
    files: tuple[str, ...] = ()

    @property
    def short(self) -> str:
        return self.id[:10]


@dataclass(frozen=True, slots=True)
class Put:
    """Make a file hold these bytes. `base` is the version they are based on; None: it is new."""

    file: str
    data: bytes
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a file, if it still is the version somebody looked at."""

    file: str
    base: str


Change: TypeAlias = Put | Drop


def version(data: bytes) -> str:
    """The name of some content: the id git gives a blob, so that history can find it."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def render_message(summary: str, author: Author) -> str:
    """A commit message: the summary, then who and why as trailers."""
    trailers = {
        "Writer": author.writer,
        "Session": author.session,
        "Messages": " ".join(author.messages),
        "Model": author.model,
        "Dream": author.dream,
        "Undoes": " ".join(author.undoes),
        "Proposal": author.proposal,
    }
    lines = [f"Reverie-{key}: {_flat(value)}" for key, value in trailers.items() if value]
    return f"{_flat(summary)}\n\n" + "\n".join(lines) + "\n"


def parse_message(message: str) -> tuple[str, Author]:
    """The summary and the author of a commit; a foreign commit was written by the user."""
    summary, _, rest = message.partition("\n")
    found = {match["key"]: match["value"] for match in _TRAILER.finditer(rest)}
    named = found.get("Writer", "user")
    writer: Writer = next((known for known in WRITERS if known == named), "user")
    author = Author(
        writer=writer,
        session=found.get("Session", ""),
        messages=tuple(found.get("Messages", "").split()),
        model=found.get("Model", ""),
        dream=found.get("Dream", ""),
        undoes=tuple(found.get("Undoes", "").split()),
        proposal=found.get("Proposal", ""),
    )
    return summary, author


def _flat(text: str) -> str:
    return " ".join(text.split())


Content: TypeAlias = bytes | None
Merge: TypeAlias = Callable[[bytes, bytes, bytes], Content]


@dataclass(frozen=True, slots=True)
class UndoStack:
    """Revisions that can be taken back, and undos that can: in both the next one comes first."""

    undo: tuple[Revision, ...]
    redo: tuple[Revision, ...]


def standing(log: Iterable[Revision]) -> UndoStack:
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
    return UndoStack(tuple(reversed(done.values())), tuple(reversed(undone.values())))


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
