"""The views Sessions, Spend, Impact and Health, and the list of keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from reverie.conversation import transcripts
from reverie.conversation.timeline import read_timeline, said_and_sent, session_row
from reverie.core.messages import Attachment, Text, Thinking, ToolResult, ToolUse
from reverie.errors import InputError, TranscriptError
from reverie.impact.report import outcome_report
from reverie.impact.stats import stats_of
from reverie.learning.runs import runs_of
from reverie.web.open_project import page
from reverie.workspace.spending import KINDS, MOST_DAYS, spending

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.conversation.timeline import Timeline
    from reverie.core.messages import Block, Message
    from reverie.web.open_project import OpenProject, PageRequest

A_PAGE = 25
MESSAGES_A_PAGE = 60
# A session that was written to within this many seconds is followed.
LIVE_SECONDS = 600.0
_LONG = 4_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A block of a message: its kind, its text, and the text sent instead."""

    kind: str
    text: str
    sent: str | None = None

    @property
    def long(self) -> bool:
        return len(self.text) > _LONG


@dataclass(frozen=True, slots=True)
class Turn:
    """A message as it was said, and whether it is still sent."""

    message: Message
    pieces: tuple[Piece, ...]
    gone: bool


def listing(project: OpenProject, request: PageRequest) -> Response:
    """Every conversation of the project, newest first."""
    found = sorted(
        project.sessions().items(), key=lambda pair: transcripts.changed_at(pair[1]), reverse=True
    )
    number = max(1, request.number("page", 1))
    rows = []
    for name, path in found[(number - 1) * A_PAGE : number * A_PAGE]:
        try:
            rows.append(session_row(path, project.app.ledger) | {"session": name})
        except TranscriptError:
            continue
    now = project.app.clock.now()
    for row in rows:
        row["live"] = now - row["last"] < LIVE_SECONDS
    return page(
        project,
        request,
        "sessions/list.html",
        rows=rows,
        total=len(found),
        number=number,
        pages=-(-len(found) // A_PAGE) or 1,
    )


def one(project: OpenProject, request: PageRequest) -> Response:
    """One session: its series as plots and as a table, and the transcript with what was sent."""
    path = _path(project, request.path["id"])
    timeline = read_timeline(project.app.settings, path)
    turns = list(_turns(path))
    pages = -(-len(turns) // MESSAGES_A_PAGE) or 1
    wanted = request.query.get("message", "")
    number = min(max(1, request.number("page", _page_of(turns, wanted))), pages)
    return page(
        project,
        request,
        "sessions/one.html",
        id=request.path["id"],
        timeline=timeline,
        calls=_calls(timeline),
        turns=turns[(number - 1) * MESSAGES_A_PAGE : number * MESSAGES_A_PAGE],
        messages=len(turns),
        number=number,
        pages=pages,
        wanted=wanted,
        live=project.app.clock.now() - transcripts.changed_at(path) < LIVE_SECONDS,
        changed=transcripts.changed_at(path),
    )


def series(project: OpenProject, request: PageRequest) -> Response:
    """The data of the plots: one column per call."""
    timeline = read_timeline(project.app.settings, _path(project, request.path["id"]))
    measured = [point for point in timeline.points if point.fill]
    parts = (
        [name for name in measured[0].fill if any(p.fill[name] for p in measured)]
        if measured
        else []
    )
    total, costs = 0.0, []
    for point in timeline.points:
        total += point.cost or 0.0
        costs.append(total)
    return JSONResponse(
        {
            "window": timeline.window,
            "fill": {
                "calls": [point.call for point in measured],
                "parts": {name: [point.fill[name] for point in measured] for name in parts},
            },
            "calls": [point.call for point in timeline.points],
            "read": [point.usage.cache_read for point in timeline.points],
            "written": [point.usage.cache_write for point in timeline.points],
            "input": [point.usage.input for point in timeline.points],
            "output": [point.usage.output for point in timeline.points],
            "cost": costs,
            "breaks": [{"call": one.call, "why": one.why} for one in timeline.breaks],
            "events": [{"call": one.call, "layer": one.layer} for one in timeline.events],
        }
    )


def _path(project: OpenProject, name: str) -> Path:
    found = project.sessions().get(name)
    if found is None:
        raise InputError(f"no session {name!r} here")
    return found


def _calls(timeline: Timeline) -> list[dict[str, Any]]:
    """The table of calls, with what happened before each."""
    events: dict[int, list[str]] = {}
    for event in timeline.events:
        events.setdefault(event.call, []).append(f"{event.layer}: {event.what}")
    for one in timeline.breaks:
        events.setdefault(one.call, []).append(f"cache break: {one.why} ({one.lost:,} tokens)")
    return [
        {
            "point": point,
            "fill": sum(point.fill.values()) or point.usage.context,
            "events": list(dict.fromkeys(events.get(point.call, ()))),
        }
        for point in timeline.points
    ]


def _page_of(turns: list[Turn], message: str) -> int:
    """The page of a message; without one the last page, where a running session is."""
    if not message:
        return -(-len(turns) // MESSAGES_A_PAGE) or 1
    at = next((n for n, turn in enumerate(turns) if turn.message.id == message), 0)
    return at // MESSAGES_A_PAGE + 1


def _turns(path: Path) -> Iterator[Turn]:
    for said, sent in said_and_sent(transcripts.load(path).records):
        replaced = {}
        if sent is not None and sent is not said:
            pairs = zip(said.blocks, sent.blocks, strict=False)
            replaced = {id(old): new for old, new in pairs if old != new}
        pieces = tuple(_piece(block, replaced.get(id(block))) for block in said.blocks)
        yield Turn(said, pieces, sent is None)


def _piece(block: Block, sent: Block | None) -> Piece:
    kind, text = _readable(block)
    return Piece(kind, text, None if sent is None else _readable(sent)[1])


def _readable(block: Block) -> tuple[str, str]:
    match block:
        case Text(text):
            return "text", text
        case Thinking(text):
            return "thinking", text
        case ToolUse(_, name, arguments):
            return f"call {name}", arguments
        case ToolResult():
            return "error" if block.is_error else "result", block.text
        case Attachment(label, text):
            return f"beside it: {label}", text
        case _:
            return block.kind, ""


_RUNS = 12

KEYS = {
    "?": "this list",
    "/": "search",
    "j, k": "next, previous row or card",
    "Enter": "open it",
    "x": "mark it",
    "a, r": "accept, reject it",
    "e": "edit",
    "p": "pin or unpin",
    "u": "undo",
    "s": "save, or apply the decisions",
    "g then m h i d s p t e": "go to Memory, History, Inbox, Dreams, Sessions, Spend, Impact, Health",
    "Esc": "close, or leave a field",
}


def spend(project: OpenProject, request: PageRequest) -> Response:
    """Spending by purpose, model, session and day; caps and what is left; this project and all others."""
    by = request.query.get("by", "purpose")
    by = by if by in KINDS else "purpose"
    days = min(max(1, request.number("days", 30)), 3650)
    data = spending(project.app, by, days)
    today = project.now().date()
    shown = len(data["per_day"])
    dates = [(today - timedelta(days=shown - 1 - n)).isoformat() for n in range(shown)]
    return page(
        project,
        request,
        "spend.html",
        kinds=KINDS,
        dates=dates,
        most_days=MOST_DAYS,
        **data,
    )


def impact(project: OpenProject, request: PageRequest) -> Response:
    """What happened, and whether it helped."""
    return page(
        project,
        request,
        "impact.html",
        stats=stats_of(project.app, project.memory),
        report=outcome_report(project.app),
    )


def health(project: OpenProject, request: PageRequest) -> Response:
    """The findings of doctor with the command that fixes each, and when learning last ran."""
    order = {"wrong": 0, "note": 1, "ok": 2}
    findings = sorted(project.checks(project.app), key=lambda finding: order[finding.state])
    runs = runs_of(project.app)
    return page(
        project,
        request,
        "health.html",
        findings=findings,
        runs=list(reversed(runs[-_RUNS:])),
        worked=max((run.at for run in runs if run.worked), default=0.0),
    )


def keys(project: OpenProject, request: PageRequest) -> Response:
    """The keys, also for those without JavaScript."""
    return page(project, request, "keys.html", keys=KEYS)
