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

    from reverie.web.desk import Asked, Desk

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


def spend(desk: Desk, asked: Asked) -> Response:
    """By purpose, model, session, day; caps and what is left; this project and all others."""
    by = asked.query.get("by", "purpose")
    by = by if by in KINDS else "purpose"
    days = min(max(1, asked.number("days", 30)), 3650)
    data = spending(desk.app, by, days)
    today = desk.now().date()
    shown = len(data["per_day"])
    dates = [(today - timedelta(days=shown - 1 - n)).isoformat() for n in range(shown)]
    return page(
        desk,
        asked,
        "spend.html",
        kinds=KINDS,
        dates=dates,
        most_days=MOST_DAYS,
        **data,
    )


def impact(desk: Desk, asked: Asked) -> Response:
    """What happened, and whether it helped."""
    return page(
        desk,
        asked,
        "impact.html",
        stats=stats_of(desk.app, desk.memory),
        report=outcome_report(desk.app),
    )


def health(desk: Desk, asked: Asked) -> Response:
    """The findings of doctor with the command that mends each, and when learning last ran."""
    order = {"wrong": 0, "note": 1, "ok": 2}
    findings = sorted(desk.checks(desk.app), key=lambda finding: order[finding.state])
    runs = runs_of(desk.app)
    return page(
        desk,
        asked,
        "health.html",
        findings=findings,
        runs=list(reversed(runs[-_RUNS:])),
        worked=max((run.at for run in runs if run.worked), default=0.0),
    )


def keys(desk: Desk, asked: Asked) -> Response:
    """The keys, also for those without JavaScript."""
    return page(desk, asked, "keys.html", keys=KEYS)
