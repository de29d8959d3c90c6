"""Revisions, changes and undo plans, and the commit messages that record authors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reverie.errors import InputError
from reverie.memory.format import index as indexes
from reverie.memory.format import topic as topics
from reverie.memory.format.index import pointer_to
from reverie.memory.format.manifest import INDEX_FILE

Writer: TypeAlias = Literal["user", "main", "extract", "dream", "team"]

WRITERS: tuple[Writer, ...] = ("user", "main", "extract", "dream", "team")

SHORTEST_ID = 4

# Prefix of the summary that records files from before the first write.
FOUND = "found "

_TRAILER = re.compile(r"^Reverie-(?P<key>[A-Za-z]+): (?P<value>.*)$", re.MULTILINE)
_OLD_UNDO = re.compile(r"undo ([0-9a-f]{10}): ")


@dataclass(frozen=True, slots=True)
class Author:
    """The writer of a change, with session, messages, model or dream.

    `undoes` are the revisions that it reverts; `proposal` is the inbox proposal it came from.
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
    """One revision: id, time, author, summary and changed files."""

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
    """Write a file. `base` is the version the data is based on; None for a new file."""

    file: str
    data: bytes
    base: str | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a file, if it still has the version `base`."""

    file: str
    base: str


Change: TypeAlias = Put | Drop


def version(data: bytes) -> str:
    """The version of content: its git blob id, so that the history can find it."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def render_message(summary: str, author: Author) -> str:
    """A commit message: the summary, then the author as trailers."""
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
    """The summary and author of a commit; commits without trailers count as the user's."""
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
        undoes=tuple(found.get("Undoes", "").split()) or _undone_by(summary),
        proposal=found.get("Proposal", ""),
    )
    return summary, author


def _undone_by(summary: str) -> tuple[str, ...]:
    """The short id in the summary of an undo: the first versions wrote no trailer for it."""
    found = _OLD_UNDO.match(summary)
    return (found[1],) if found else ()


def _flat(text: str) -> str:
    return " ".join(text.split())


Content: TypeAlias = bytes | None
Merge: TypeAlias = Callable[[bytes, bytes, bytes], Content]


@dataclass(frozen=True, slots=True)
class UndoStack:
    """Revisions that can be undone, and undos that can be redone, each with the next one first."""

    undo: tuple[Revision, ...]
    redo: tuple[Revision, ...]


def standing(log: Iterable[Revision]) -> UndoStack:
    """The revisions of a history (newest first) that can be undone or redone."""
    done: dict[str, Revision] = {}
    undone: dict[str, Revision] = {}
    revisions = tuple(log)
    by_short = {revision.short: revision.id for revision in revisions}
    for revision in reversed(revisions):
        undoes = [by_short.get(id_, id_) for id_ in revision.author.undoes]
        gone = [id_ for id_ in undoes if done.pop(id_, None) is not None]
        back = [id_ for id_ in undoes if undone.pop(id_, None) is not None]
        if gone:
            undone[revision.id] = revision
        elif back or not revision.author.undoes:
            done[revision.id] = revision
    return UndoStack(tuple(reversed(done.values())), tuple(reversed(undone.values())))


@dataclass(frozen=True, slots=True)
class Step:
    """One revision to undo: each file's content before and after it."""

    before: Mapping[str, Content]
    after: Mapping[str, Content]


@dataclass(frozen=True, slots=True)
class Undo:
    """The new content of files, and files with conflicting later changes."""

    files: Mapping[str, Content]
    conflicts: tuple[str, ...] = ()


def plan(steps: Sequence[Step], current: Callable[[str], Content], merge: Merge) -> Undo:
    """Revert the steps in the given order (newest first)."""
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
    """Later changes overlap with what is to be undone."""


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
    """Merge the index by lines; if that fails, update only the pointers of changed files."""
    text: Content = present
    for step in steps:
        if INDEX_FILE in step.after and text is not None:
            before, after = step.before[INDEX_FILE] or b"", step.after[INDEX_FILE] or b""
            text = before if text == after else merge(after, text, before)
    index = indexes.parse(present if text is None else text)
    for name, data in files.items():
        found = None if data is None else topics.parse(data, name)
        if found is None or (text is None and not found.listed):
            index = index.without(name)
        elif found.listed and all(pointer.file != name for pointer in index.pointers):
            index = index.with_pointer(pointer_to(found.name, name, found.description))
    return indexes.render(index)


def only_id(start: str, ids: Iterable[str]) -> str:
    """The only revision whose id starts so."""
    if len(start) < SHORTEST_ID:
        raise InputError(
            f"{start!r} is too short for a revision; give at least {SHORTEST_ID} characters of "
            "its id, as `reverie log` shows it"
        )
    fitting = [one for one in ids if one.startswith(start.lower())]
    if not fitting:
        raise InputError(f"no revision {start!r}; `reverie log` lists them")
    if len(fitting) > 1:
        names = ", ".join(one[:10] for one in fitting[:5])
        raise InputError(
            f"{start!r} matches {len(fitting)} revisions: {names}; give more of the id"
        )
    return fitting[0]
