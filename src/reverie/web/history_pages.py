"""The History view: every change with its diff, who made it and why, and undo."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from reverie.memory.changes.undo import undoable
from reverie.memory.opening import changes, with_revision
from reverie.web.desk import PERSON
from reverie.web.rendering import page, then
from reverie.workspace.undo import undo as take_back

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.web.desk import Asked, Desk

A_PAGE = 40


def listing(desk: Desk, asked: Asked) -> Response:
    """Changes of all memories, newest first, or those of one memory (`?of=`)."""
    number = max(1, asked.number("page", 1))
    of = asked.query.get("of", "")
    if of:
        memory, file = desk.part(of)
        found = memory.changes(file)
    else:
        found = changes(desk.memory.parts)
    shown = list(islice(found, (number - 1) * A_PAGE, number * A_PAGE + 1))
    return page(
        desk,
        asked,
        "history/list.html",
        revisions=shown[:A_PAGE],
        more=len(shown) > A_PAGE,
        number=number,
        of=of,
    )


def one(desk: Desk, asked: Asked) -> Response:
    """One change as a diff; a button undoes it, or undoes the undo."""
    memory, revision = with_revision(desk.memory.parts, asked.path["revision"])
    patch = memory.history.diff(memory.history.parent(revision), revision.id)
    left = {one.id for one in undoable(memory.history)}
    return page(
        desk,
        asked,
        "history/one.html",
        revision=memory.named(revision),
        scope=memory.scope,
        patch=patch,
        undone=bool(revision.id not in left and not revision.author.undoes),
    )


def undo(desk: Desk, asked: Asked) -> Response:
    """Undo one change; later changes stay."""
    memory, revision = with_revision(desk.memory.parts, asked.path["revision"])
    memory.store.notice_hand_edits()
    done = take_back(desk.app, memory, [revision], PERSON)
    verb = "Redid" if revision.author.undoes else "Undid"
    note = f"{verb} {revision.short}; this is the change that did it, and it can be undone, too"
    return then(desk, f"/history/{done.made.short}", note)
