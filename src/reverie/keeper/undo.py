"""Taking changes back: a revision, everything a session did, or a dream. Itself a change with history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reverie.errors import InputError
from reverie.memory.revisions import FOUND, Author, Revision
from reverie.memory.undoing import Step, plan
from reverie.ports import History, TopicStore


def undo(
    store: TopicStore, history: History, revisions: Sequence[Revision], author: Author
) -> Revision:
    """Take the revisions back (newest first), all or none; what came later stays."""
    for revision in revisions:
        _require_ours(history, revision)
    steps = [_step(history, revision) for revision in revisions]

    def planned() -> Mapping[str, bytes | None]:
        undone = plan(steps, store.current, history.merge)
        if undone.conflicts:
            raise InputError(
                f"cannot undo: {', '.join(undone.conflicts)} changed since in the same place; "
                "undo the later changes first (`reverie log FILE`), or edit it by hand"
            )
        return undone.files

    made = store.restore(planned, author, _summary(revisions))
    if made is None:
        raise InputError("there is nothing to undo: memory is already as it was before")
    return made


def of_session(history: History, session: str) -> list[Revision]:
    """Everything a session changed, newest first."""
    found = [revision for revision in history.log() if revision.author.session == session]
    if not found:
        raise InputError(f"session {session!r} changed nothing in this memory")
    return found


def of_dream(history: History, dream: str) -> list[Revision]:
    """Everything a dream changed, newest first."""
    found = [revision for revision in history.log() if revision.author.dream == dream]
    if not found:
        raise InputError(f"no dream {dream!r} changed this memory")
    return found


def _require_ours(history: History, revision: Revision) -> None:
    """Files that were there before us came with the first revision: taking it back would delete them."""
    if revision.summary.startswith(FOUND) and history.parent(revision) is None:
        raise InputError(
            f"cannot undo {revision.short}: it is where this history begins, and its files were "
            "there before; remove one with `reverie forget FILE`"
        )


def _step(history: History, revision: Revision) -> Step:
    parent = history.parent(revision)
    before = {name: history.read(name, parent) if parent else None for name in revision.files}
    after = {name: history.read(name, revision.id) for name in revision.files}
    return Step(before, after)


def _summary(revisions: Sequence[Revision]) -> str:
    if len(revisions) == 1:
        return f"undo {revisions[0].short}: {revisions[0].summary}"
    return f"undo {len(revisions)} revisions, {revisions[-1].short} to {revisions[0].short}"
