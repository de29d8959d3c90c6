"""The Inbox view: proposals with their evidence; accept, edit and accept, reject, never again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.learning.service import keep_out
from reverie.memory.changes.draft import Declined, Remembered
from reverie.text.figures import counted
from reverie.web.desk import PERSON
from reverie.web.rendering import page, then
from reverie.workspace.inbox import approve

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.memory.format.proposals import Item
    from reverie.web.desk import Asked, Desk


def listing(desk: Desk, asked: Asked) -> Response:
    contents = desk.inbox.contents()
    return page(
        desk, asked, "inbox/list.html", items=contents.items, broken=contents.broken, declined={}
    )


def one(desk: Desk, asked: Asked) -> Response:
    """One proposal, with its text to edit before it is accepted."""
    return page(desk, asked, "inbox/one.html", item=_item(desk, asked.path["id"]), problem="")


def decide(desk: Desk, asked: Asked) -> Response:
    """Accept, reject or keep out, one proposal or all that are marked."""
    ids = [asked.path["id"]] if "id" in asked.path else asked.texts("items")
    if not ids:
        raise InputError("mark at least one proposal first")
    items = [_item(desk, id_) for id_ in ids]
    match asked.text("do"):
        case "accept":
            return _accept(desk, asked, items)
        case "reject":
            for item in items:
                desk.inbox.reject(item.id)
            return then(desk, "/inbox", f"Rejected {counted(len(items), 'proposal')}")
        case "never":
            return _never(desk, asked, items)
        case other:
            raise InputError(f"{other!r} is nothing that can be done with a proposal")


def _item(desk: Desk, id_: str) -> Item:
    item = desk.inbox.get(id_)
    if item is None:
        raise InputError(f"the proposal {id_} was decided meanwhile, or never was")
    return item


def _accept(desk: Desk, asked: Asked, items: list[Item]) -> Response:
    edited = asked.text("text").strip() if "id" in asked.path else ""
    suspicious = [item for item in items if item.proposal.caution]
    if suspicious and len(items) > 1:
        raise InputError(
            f"{counted(len(suspicious), 'proposal')} may be an attack; open and accept each alone"
        )
    known = asked.text("even_if_known") == "on"
    declined: dict[str, str] = {}
    files = []
    for item in items:
        wanted = replace(item, proposal=replace(item.proposal, text=edited)) if edited else item
        done = approve(desk.inbox, wanted, desk.memory, PERSON, even_if_known=known)
        if isinstance(done, Declined):
            declined[item.id] = "; ".join(filter(None, (done.reason, done.advice)))
        elif isinstance(done, Remembered):
            files.append(done.topic.file)
    if declined and "id" in asked.path:
        item = replace(
            items[0], proposal=replace(items[0].proposal, text=edited or items[0].proposal.text)
        )
        problem = declined[item.id]
        return page(desk, asked, "inbox/one.html", status=409, item=item, problem=problem)
    if declined:
        rest = desk.inbox.contents()
        return page(
            desk, asked, "inbox/list.html", status=409, items=rest.items, broken=rest.broken,
            declined=declined,
        )  # fmt: skip
    if len(files) == 1:
        return then(desk, f"/memory/{files[0]}", "Accepted; this is the memory")
    return then(desk, "/inbox", f"Accepted {counted(len(items), 'proposal')}")


def _never(desk: Desk, asked: Asked, items: list[Item]) -> Response:
    """Reject, and keep out from now on what contains the phrase that the person gave."""
    phrase = " ".join(asked.text("phrase").split())
    keep_out(desk.app.settings, desk.memory, phrase)
    for item in items:
        desk.inbox.reject(item.id)
    note = f"Rejected; what contains “{phrase}” is not proposed again (reverie learning shows this)"
    return then(desk, "/inbox", note)
