"""Undo a revision, all changes of a session, or a dream; an undo is itself a revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reverie.errors import InputError
from reverie.memory.format.revisions import FOUND, Author, Revision, Step, plan, standing
from reverie.ports import History, TopicStore


@dataclass(frozen=True, slots=True)
class Undone:
    """The revisions that were undone, newest first, and the revision that undid them."""

    revisions: tuple[Revision, ...]
    made: Revision


def undo(
    store: TopicStore, history: History, revisions: Sequence[Revision], author: Author
) -> Undone:
    """Undo revisions (newest first), all or none; later changes stay."""
    for revision in revisions:
        _require_ours(revision)
    made = take_back(store, history, revisions, author)
    if made is None:
        raise InputError("there is nothing to undo: memory is already as it was before")
    return Undone(tuple(revisions), made)


def undoable(history: History) -> tuple[Revision, ...]:
    """Changes that can be undone, newest first."""
    return tuple(one for one in standing(history.log()).undo if not _was_found(one))


def redoable(history: History) -> tuple[Revision, ...]:
    """Undos that can be redone, newest first."""
    return standing(history.log()).redo


def take_back(
    store: TopicStore, history: History, revisions: Sequence[Revision], author: Author
) -> Revision | None:
    """Make the files what they would be without these revisions; None if nothing changes."""
    steps = [_step(history, revision) for revision in revisions]

    def planned() -> Mapping[str, bytes | None]:
        undone = plan(steps, store.current, history.merge)
        if undone.conflicts:
            raise InputError(
                f"cannot undo: {', '.join(undone.conflicts)} changed since in the same place; "
                "undo the later changes first (`reverie log FILE`), or edit it by hand"
            )
        return undone.files

    by = replace(author, undoes=tuple(revision.id for revision in revisions))
    return store.restore(planned, by, _summary(revisions))


def of_session(history: History, session: str) -> list[Revision]:
    """Everything a session changed, newest first; the start of its id is enough."""
    found = [one for one in history.log() if session and one.author.session.startswith(session)]
    exact = [one for one in found if one.author.session == session]
    names = sorted({one.author.session for one in found})
    if not found:
        raise InputError(f"session {session!r} changed nothing in this memory")
    if not exact and len(names) > 1:
        raise InputError(f"{session!r} fits several sessions: {', '.join(names[:5])}")
    return exact or found


def of_dream(history: History, dream: str) -> list[Revision]:
    """Everything a dream changed, newest first."""
    found = [revision for revision in history.log() if revision.author.dream == dream]
    if not found:
        raise InputError(f"no dream {dream!r} changed this memory")
    return found


def _require_ours(revision: Revision) -> None:
    """Refuse to undo the commit of files from before the first write: that would delete them."""
    if _was_found(revision):
        raise InputError(
            f"cannot undo {revision.short}: it is where this history begins, and its files were "
            "there before; remove one with `reverie forget FILE`"
        )


def _was_found(revision: Revision) -> bool:
    return revision.summary.startswith(FOUND) and revision.author == Author("user")


def _step(history: History, revision: Revision) -> Step:
    parent = history.parent(revision)
    before = {name: history.read(name, parent) if parent else None for name in revision.files}
    after = {name: history.read(name, revision.id) for name in revision.files}
    return Step(before, after)


def _summary(revisions: Sequence[Revision]) -> str:
    """The summary of an undo; for an undo of an undo, the original change."""
    if len(revisions) > 1:
        return f"undo {len(revisions)} revisions, {revisions[-1].short} to {revisions[0].short}"
    [only] = revisions
    if not only.author.undoes:
        return f"undo {only.short}: {only.summary}"
    verb, _, about = only.summary.partition(" ")
    return f"{'undo' if verb == 'redo' else 'redo'} {about}"
