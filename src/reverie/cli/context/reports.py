"""`reverie sessions`, `spend` and `cache`: the sessions of a project, what they cost, and how well the cache works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, dollars, printable, share, sparkline, tokens, when
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import TranscriptError
from reverie.workspace.spending import KINDS, spending

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.conversation.cache_report import CacheRow, WhatIf
    from reverie.workspace import Workspace


@reverie_command(name="sessions")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many."
)
def sessions(frame: Invocation, limit: int) -> None:
    """List the sessions of this project, newest first."""
    from reverie.conversation.timeline import session_row

    app = frame.app()
    rows = [session_row(path, app.ledger) for path in app.journals()[:limit]]
    frame.answer(rows, lambda console: _print_sessions(console, rows))


def _print_sessions(console: Console, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    if not rows:
        console.print("No sessions yet in this project.")
        return
    table = Table(
        "session", "last", "messages", "tokens", "cost", "starts", box=None, pad_edge=False
    )
    for row in rows:
        table.add_row(
            row["session"],
            when(row["last"]),
            str(row["messages"]),
            tokens(row["tokens"]),
            dollars(row["cost"]),
            printable(row["starts"][:50].replace("\n", " ")),
        )
    console.print(table)


@reverie_command(name="spend")
@click.option(
    "--by",
    type=click.Choice(KINDS),
    default="purpose",
    show_default=True,
    help="One row for each.",
)
@click.option(
    "--days", type=click.IntRange(min=1), default=30, show_default=True, help="How far back."
)
def spend(frame: Invocation, by: str, days: int) -> None:
    """Show what was spent, on what, and the caps."""
    app = frame.app()
    data = spending(app, by, days)
    frame.answer(data, lambda console: _print_spending(console, data))


def _print_spending(console: Console, data: dict[str, Any]) -> None:
    from rich.table import Table

    if not data["rows"]:
        console.print(f"Nothing spent in this project in the last {counted(data['days'], 'day')}.")
    else:
        columns = (data["by"], "calls", "input", "read", "written", "output", "hit rate", "cost")
        table = Table(*columns, box=None, pad_edge=False)
        for row in data["rows"]:
            cost = dollars(row["cost"]) + (
                f" + {row['unpriced']} unpriced" if row["unpriced"] else ""
            )
            counts = (row["input"], row["cache_read"], row["cache_write"], row["output"])
            shown = (tokens(count) for count in counts)
            table.add_row(row["name"], str(row["calls"]), *shown, share(row["hit_rate"]), cost)
        console.print(table)
        total = sum(data["per_day"])
        console.print(
            f"{sparkline(data['per_day'])}  {dollars(total)} in {counted(len(data['per_day']), 'day')}"
        )
    for cap in data["caps"]:
        left = max(0.0, cap["limit"] - cap["spent"])
        console.print(f"cap {cap['cap']}: {dollars(left)} of {dollars(cap['limit'])} left today")


@reverie_command(name="cache")
@click.argument("session", required=False)
@click.option(
    "--what-if",
    "transcripts",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="TRANSCRIPT",
    help="Replay a transcript (Reverie's or Claude Code's, also .gz) and price each way to cache it.",
)
@click.option("--model", help="Price it as this model.")
def cache(
    frame: Invocation, session: str | None, transcripts: tuple[Path, ...], model: str | None
) -> None:
    """Show the cache hit rate, breaks and their cost; what-if.

    Without SESSION, every session of this project.
    """
    if transcripts:
        _what_if(frame, transcripts, model)
    else:
        _hit_rates(frame, session, model)


def _hit_rates(frame: Invocation, session: str | None, model: str | None) -> None:
    from reverie.conversation.cache_report import report_on

    app = frame.app()
    if session:
        rows = report_on(app.settings, app.transcript(session), model=model)
    else:
        rows = [row for path in app.journals() for row in _readable(app, path, model)]
    frame.answer([row.as_json() for row in rows], lambda console: _print_rates(console, rows))


def _readable(app: Workspace, path: Path, model: str | None) -> list[CacheRow]:
    """The rows of one session; a session that cannot be read is noted and skipped."""
    from reverie.conversation.cache_report import report_on

    try:
        return report_on(app.settings, path, model=model)
    except TranscriptError as error:
        click.echo(f"note: {printable(str(error))}", err=True)
        return []


def _print_rates(console: Console, rows: list[CacheRow]) -> None:
    from rich.table import Table

    if not rows:
        console.print("No model calls yet in this project.")
        return
    table = Table("session", "purpose", "calls", "read", "written", "hit rate", "breaks", "cost", box=None, pad_edge=False)  # fmt: skip
    for row in rows:
        table.add_row(
            row.session,
            row.purpose,
            str(row.calls),
            tokens(row.usage.cache_read),
            tokens(row.usage.cache_write),
            share(row.usage.hit_rate),
            str(len(row.breaks)),
            dollars(sum(b.cost for b in row.breaks)),
        )
    console.print(table)
    for row in rows:
        for found in row.breaks:
            console.print(
                f"  {row.session} call {found.call}: {found.why} ({tokens(found.lost)} tokens)"
            )


def _what_if(frame: Invocation, transcripts: tuple[Path, ...], model: str | None) -> None:
    from reverie.conversation.cache_report import what_if

    app = frame.app()
    results = []
    for path in transcripts:
        found = what_if(app.settings, path, model=model)
        results.append(found)
        if not frame.as_json:
            _print_what_if(path, found)
    if frame.as_json:
        data = [_what_if_json(p, r) for p, r in zip(transcripts, results, strict=True)]
        frame.answer(data, lambda console: None)


def _what_if_json(path: Path, result: WhatIf) -> dict[str, Any]:
    return {
        "transcript": str(path),
        "model": result.row.name,
        "calls": len(result.replay.calls),
        "plans": [
            {
                "plan": outcome.plan.name,
                "tokens": outcome.total.prompt,
                "cache_read": outcome.total.cache_read,
                "cache_write": outcome.total.cache_write,
                "hit_rate": outcome.total.hit_rate,
                "cost": outcome.cost,
            }
            for outcome in result.outcomes
        ],
        "billed": {
            "tokens": result.billed.prompt,
            "cache_read": result.billed.cache_read,
            "hit_rate": result.billed.hit_rate,
            "cost": result.billed_cost,
        },
    }


def _print_what_if(path: Path, result: WhatIf) -> None:
    from rich.table import Table

    from reverie.cli.invocation import console

    screen = console()
    screen.print(
        f"{path.name} · {result.row.name} · {counted(len(result.replay.calls), 'call')}",
        style="bold",
    )
    table = Table("plan", "prompt", "read", "written", "hit rate", "cost", box=None, pad_edge=False)
    rows = [(o.plan.name, o.total, o.cost) for o in result.outcomes]
    for name, usage, cost in [*rows, ("as billed", result.billed, result.billed_cost)]:
        table.add_row(
            name,
            tokens(usage.prompt),
            tokens(usage.cache_read),
            tokens(usage.cache_write),
            share(usage.hit_rate),
            dollars(cost),
        )
    screen.print(table)
