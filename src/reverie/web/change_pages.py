"""The views History, Dreams and Inbox: what changed memory, and what waits for a decision."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.learning.dreaming.service import dreams, report_of, settle, status_of
from reverie.learning.service import keep_out
from reverie.memory.changes.draft import Declined, Remembered
from reverie.memory.changes.undo import undoable
from reverie.memory.opening import changes, with_revision
from reverie.text.figures import counted
from reverie.web.open_project import PERSON, page, then
from reverie.workspace.changes import approve
from reverie.workspace.changes import undo as take_back

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.learning.dreaming.changes import FileStep
    from reverie.learning.dreaming.review import Report
    from reverie.memory.format.proposals import Item
    from reverie.memory.opening import OpenMemory
    from reverie.web.open_project import OpenProject, PageRequest


# --- history ---


A_PAGE = 40


def history_list(project: OpenProject, request: PageRequest) -> Response:
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


def history_detail(project: OpenProject, request: PageRequest) -> Response:
    """One change as a diff; a button undoes it, or undoes the undo."""
    memory, revision = with_revision(project.memory.parts, request.path["revision"])
    patch = memory.history.diff(memory.history.parent(revision), revision.id)
    left = {history_detail.id for history_detail in undoable(memory.history)}
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


# --- dreams ---


_MOST = 30


@dataclass(frozen=True, slots=True)
class Row:
    """A line before and after; `kind` says whether it stayed, was removed, added or changed."""

    kind: str
    before: str
    after: str


def dream_list(project: OpenProject, request: PageRequest) -> Response:
    """The last dreams of every scope, newest first, and the one that is running."""
    found: list[tuple[OpenMemory, Report]] = []
    running = []
    for part in project.memory.parts:
        for id_ in dreams(part)[-_MOST:]:
            with suppress(InputError):
                found.append((part, report_of(part, id_)))
        status = status_of(part, project.app.clock)
        running += [status] if status is not None and status.state == "running" else []
    found.sort(key=lambda pair: pair[1].began, reverse=True)
    return page(project, request, "dreams/list.html", reports=found[:_MOST], running=running)


def dream_detail(project: OpenProject, request: PageRequest) -> Response:
    memory = _memory_of(project, request.path["id"])
    report = report_of(memory, request.path["id"])
    return page(
        project,
        request,
        "dreams/one.html",
        report=report,
        scope=memory.scope,
        sides={
            (entry.change.id, step.file): list(side_by_side(step))
            for entry in report.entries
            for step in entry.change.steps
        },
    )


def decide_change(project: OpenProject, request: PageRequest) -> Response:
    """Make the accepted changes in one commit, and drop the rejected ones; the others stay open."""
    id_ = request.path["id"]
    memory = _memory_of(project, id_)
    answers = {
        key.removeprefix("change-"): str(value)
        for key, value in request.form.items()
        if key.startswith("change-")
    }
    accepted = [change for change, answer in answers.items() if answer == "accept"]
    rejected = [change for change, answer in answers.items() if answer == "reject"]
    if not accepted and not rejected:
        raise InputError("accept or reject at least one change first")
    report = settle(project.app, memory, id_, accepted, rejected)
    made = len(set(accepted) & {change.id for change in report.with_standing("approved")})
    note = f"{counted(made, 'change')} made, {len(rejected)} rejected"
    if waiting := len(accepted) - made:
        note += f"; {waiting} changed meanwhile and wait for the next dream"
    return then(project, f"/dreams/{id_}", note)


def _memory_of(project: OpenProject, id_: str) -> OpenMemory:
    for part in project.memory.parts:
        if id_ in dreams(part):
            return part
    raise InputError(f"no dream {id_!r} here")


def side_by_side(step: FileStep) -> Iterator[Row]:
    """A file before and after, side by side; long unchanged stretches are left out."""
    old, new = (
        [] if data is None else data.decode("utf-8", "replace").splitlines()
        for data in (step.before, step.after)
    )
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(2):
        for tag, i1, i2, j1, j2 in group:
            height = max(i2 - i1, j2 - j1)
            for n in range(height):
                before = old[i1 + n] if i1 + n < i2 else ""
                after = new[j1 + n] if j1 + n < j2 else ""
                yield Row(tag, before, after)


# --- inbox ---


def inbox_list(project: OpenProject, request: PageRequest) -> Response:
    contents = project.inbox.contents()
    return page(
        project,
        request,
        "inbox/list.html",
        items=contents.items,
        broken=contents.broken,
        declined={},
    )


def inbox_detail(project: OpenProject, request: PageRequest) -> Response:
    """One proposal, with its text to edit before it is accepted."""
    return page(
        project, request, "inbox/one.html", item=_item(project, request.path["id"]), problem=""
    )


def decide_proposal(project: OpenProject, request: PageRequest) -> Response:
    """Accept, reject or keep out one proposal, or all that are marked."""
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
    """Reject, and from now on keep out whatever contains the given phrase."""
    phrase = " ".join(request.text("phrase").split())
    keep_out(project.app.settings, project.memory, phrase)
    for item in items:
        project.inbox.reject(item.id)
    note = f"Rejected; what contains “{phrase}” is not proposed again (reverie learning shows this)"
    return then(project, "/inbox", note)
