"""The views Spend, Impact and Health, and the list of keys."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from reverie.impact.report import outcome_report
from reverie.impact.stats import stats_of
from reverie.learning.runs import runs_of
from reverie.web.rendering import page
from reverie.workspace.spending import KINDS, MOST_DAYS, spending

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.web.open_project import OpenProject, PageRequest

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
    """By purpose, model, session, day; caps and what is left; this project and all others."""
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
    """The findings of doctor with the command that mends each, and when learning last ran."""
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
