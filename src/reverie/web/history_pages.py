"""The History view: every change with its diff, who made it and why, and undo."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from reverie.memory.changes.undo import undoable
from reverie.memory.opening import changes, with_revision
from reverie.web.open_project import PERSON
from reverie.web.rendering import page, then
from reverie.workspace.undo import undo as take_back

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.web.open_project import OpenProject, PageRequest

A_PAGE = 40


def listing(project: OpenProject, request: PageRequest) -> Response:
    """Changes of all memories, newest first, or those of one memory (`?of=`)."""
    number = max(1, request.number("page", 1))
    of = request.query.get("of", "")
    if of:
        memory, file = project.part(of)
        found = memory.changes(file)
    else:
        found = changes(project.memory.parts)
    shown = list(islice(found, (number - 1) * A_PAGE, number * A_PAGE + 1))
    return page(
        project,
        request,
        "history/list.html",
        revisions=shown[:A_PAGE],
        more=len(shown) > A_PAGE,
        number=number,
        of=of,
    )


def one(project: OpenProject, request: PageRequest) -> Response:
    """One change as a diff; a button undoes it, or undoes the undo."""
    memory, revision = with_revision(project.memory.parts, request.path["revision"])
    patch = memory.history.diff(memory.history.parent(revision), revision.id)
    left = {one.id for one in undoable(memory.history)}
    return page(
        project,
        request,
        "history/one.html",
        revision=memory.named(revision),
        scope=memory.scope,
        patch=patch,
        undone=bool(revision.id not in left and not revision.author.undoes),
    )


def undo(project: OpenProject, request: PageRequest) -> Response:
    """Undo one change; later changes stay."""
    memory, revision = with_revision(project.memory.parts, request.path["revision"])
    memory.store.notice_hand_edits()
    done = take_back(project.app, memory, [revision], PERSON)
    verb = "Redid" if revision.author.undoes else "Undid"
    note = f"{verb} {revision.short}; this is the change that did it, and it can be undone, too"
    return then(project, f"/history/{done.made.short}", note)
