"""Undo and redo put together: memory goes back, and the inbox follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.app.inbox import open_inbox
from reverie.errors import InputError
from reverie.keeper import undo as keeper
from reverie.keeper.undo import Undone

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.memory.revisions import Author, Revision
    from reverie.ports import History


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What was taken back, the revision that did it, and proposals that wait again."""

    revisions: tuple[Revision, ...]
    made: Revision
    waiting: tuple[str, ...] = ()


def undo(app: App, memory: OpenMemory, revisions: Sequence[Revision], author: Author) -> TakenBack:
    """Take these revisions back (newest first), all or none."""
    return _followed(app, memory, keeper.undo(memory.store, memory.history, revisions, author))


def undo_last(app: App, memory: OpenMemory, author: Author) -> TakenBack:
    """Take the last change back that still stands."""
    return _followed(app, memory, keeper.undo_last(memory.store, memory.history, author))


def redo_last(app: App, memory: OpenMemory, author: Author) -> TakenBack:
    """Bring back what was undone last."""
    return _followed(app, memory, keeper.redo_last(memory.store, memory.history, author))


def _followed(app: App, memory: OpenMemory, undone: Undone) -> TakenBack:
    """A proposal whose approval is undone waits again; one whose approval is redone does not."""
    inbox = open_inbox(app, memory)
    waiting = []
    for revision in undone.revisions:
        for proposal, agreed in _decided(memory.history, revision):
            if agreed and inbox.bring_back(proposal):
                waiting.append(proposal)
            elif not agreed:
                inbox.settle(proposal)
    return TakenBack(undone.revisions, undone.made, tuple(waiting))


def _decided(history: History, revision: Revision) -> Iterator[tuple[str, bool]]:
    """The proposals a revision agreed to, or (by undoing that) did not agree to after all."""
    if revision.author.proposal:
        yield revision.author.proposal, True
    for id_ in revision.author.undoes:
        with suppress(InputError):
            for proposal, agreed in _decided(history, history.revision(id_)):
                yield proposal, not agreed
