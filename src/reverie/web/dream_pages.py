"""The Dreams view: what each dream changed, side by side, and the changes that wait for a decision."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.learning.dreaming.service import dreams, report_of, settle, status_of
from reverie.text.figures import counted
from reverie.web.rendering import page, then

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.learning.dreaming.changes import FileStep
    from reverie.learning.dreaming.review import Report
    from reverie.memory.opening import OpenMemory
    from reverie.web.open_project import OpenProject, PageRequest

_MOST = 30


@dataclass(frozen=True, slots=True)
class Row:
    """A line before and after; `kind` says whether it stayed, went, came or changed."""

    kind: str
    before: str
    after: str


def listing(project: OpenProject, request: PageRequest) -> Response:
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


def one(project: OpenProject, request: PageRequest) -> Response:
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


def decide(project: OpenProject, request: PageRequest) -> Response:
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
    """A file before and after, line beside line; long stretches that stayed are left out."""
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
