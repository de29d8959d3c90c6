"""The Inbox view: proposals with their evidence; accept, edit and accept, reject, never again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.learning.service import keep_out
from reverie.memory.changes.draft import Declined, Remembered
from reverie.text.figures import counted
from reverie.web.open_project import PERSON
from reverie.web.rendering import page, then
from reverie.workspace.inbox import approve

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.memory.format.proposals import Item
    from reverie.web.open_project import OpenProject, PageRequest


def listing(project: OpenProject, request: PageRequest) -> Response:
    contents = project.inbox.contents()
    return page(
        project,
        request,
        "inbox/list.html",
        items=contents.items,
        broken=contents.broken,
        declined={},
    )


def one(project: OpenProject, request: PageRequest) -> Response:
    """One proposal, with its text to edit before it is accepted."""
    return page(
        project, request, "inbox/one.html", item=_item(project, request.path["id"]), problem=""
    )


def decide(project: OpenProject, request: PageRequest) -> Response:
    """Accept, reject or keep out, one proposal or all that are marked."""
    ids = [request.path["id"]] if "id" in request.path else request.texts("items")
    if not ids:
        raise InputError("mark at least one proposal first")
    items = [_item(project, id_) for id_ in ids]
    match request.text("do"):
        case "accept":
            return _accept(project, request, items)
        case "reject":
            for item in items:
                project.inbox.reject(item.id)
            return then(project, "/inbox", f"Rejected {counted(len(items), 'proposal')}")
        case "never":
            return _never(project, request, items)
        case other:
            raise InputError(f"{other!r} is nothing that can be done with a proposal")


def _item(project: OpenProject, id_: str) -> Item:
    item = project.inbox.get(id_)
    if item is None:
        raise InputError(f"the proposal {id_} was decided meanwhile, or never was")
    return item


def _accept(project: OpenProject, request: PageRequest, items: list[Item]) -> Response:
    edited = request.text("text").strip() if "id" in request.path else ""
    suspicious = [item for item in items if item.proposal.caution]
    if suspicious and len(items) > 1:
        raise InputError(
            f"{counted(len(suspicious), 'proposal')} may be an attack; open and accept each alone"
        )
    known = request.text("even_if_known") == "on"
    declined: dict[str, str] = {}
    files = []
    for item in items:
        wanted = replace(item, proposal=replace(item.proposal, text=edited)) if edited else item
        done = approve(project.inbox, wanted, project.memory, PERSON, even_if_known=known)
        if isinstance(done, Declined):
            declined[item.id] = "; ".join(filter(None, (done.reason, done.advice)))
        elif isinstance(done, Remembered):
            files.append(done.topic.file)
    if declined and "id" in request.path:
        item = replace(
            items[0], proposal=replace(items[0].proposal, text=edited or items[0].proposal.text)
        )
        problem = declined[item.id]
        return page(project, request, "inbox/one.html", status=409, item=item, problem=problem)
    if declined:
        rest = project.inbox.contents()
        return page(
            project, request, "inbox/list.html", status=409, items=rest.items, broken=rest.broken,
            declined=declined,
        )  # fmt: skip
    if len(files) == 1:
        return then(project, f"/memory/{files[0]}", "Accepted; this is the memory")
    return then(project, "/inbox", f"Accepted {counted(len(items), 'proposal')}")


def _never(project: OpenProject, request: PageRequest, items: list[Item]) -> Response:
    """Reject, and keep out from now on what contains the phrase that the person gave."""
    phrase = " ".join(request.text("phrase").split())
    keep_out(project.app.settings, project.memory, phrase)
    for item in items:
        project.inbox.reject(item.id)
    note = f"Rejected; what contains “{phrase}” is not proposed again (reverie learning shows this)"
    return then(project, "/inbox", note)
