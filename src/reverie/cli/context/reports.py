"""`reverie sessions`, `spend` and `cache`: the sessions of a project, what they cost, and how well the cache works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    dollars,
    printable,
    reverie_command,
    share,
    sparkline,
    tokens,
    when,
)
from reverie.errors import InputError, TranscriptError
from reverie.workspace.spending import KINDS, spending

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from reverie.conversation.cache_report import CacheRow, WhatIf
    from reverie.conversation.state import SessionState
    from reverie.core.window import Window
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


# The widest bar that is easy to read.
BAR = 80

_COLOURS = {
    "system": "blue",
    "tools": "cyan",
    "memory index": "magenta",
    "recalled memories": "bright_magenta",
    "messages": "green",
    "tool results": "yellow",
    "free": "bright_black",
}


@reverie_command(name="context")
@click.argument("session", required=False)
@click.option("--model", help="Measure against this model's window.")
@click.option("--ask", is_flag=True, help="Ask the model's provider how large its window is.")
def context(frame: Invocation, session: str | None, model: str | None, ask: bool) -> None:
    """Show what fills the window of a session (default: the newest one)."""
    from reverie.conversation import transcripts
    from reverie.conversation.state import SessionState

    app = frame.app()
    found = app.journals()
    if session is None and not found:
        raise InputError("no sessions yet in this project; give the path of a transcript")
    path = found[0] if session is None else app.transcript(session)
    state = SessionState.replay(transcripts.load(path).records)
    last = state.usages[-1].model if state.usages else ""
    name = model or (state.head.model if state.head else last)
    if ask:
        import asyncio

        asyncio.run(app.ask_window(name))
    window = app.window(name)
    data = {"session": state.session or path.stem, **measured(state, window)}
    frame.answer(data, lambda console: console.print(drawn(data, min(console.width, BAR))))


def measured(state: SessionState, window: Window) -> dict[str, Any]:
    """What fills the window, by category, and how near it is to compaction."""
    from reverie.conversation.state import window_fill

    fill = window_fill(state)
    return {
        "window": window.tokens,
        "window_source": window.source,
        "state": window.state(fill.total),
        "compacts_at": window.compaction,
        "tokens": {**fill.parts, "free": max(0, window.tokens - fill.total)},
        "measured": fill.measured,
    }


def drawn(data: dict[str, Any], width: int = BAR) -> RenderableType:
    """The measurement as a bar and a table."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    window = data["window"]
    bar = Text()
    for name, count in data["tokens"].items():
        bar.append("█" * round(count / window * width), style=_COLOURS[name])
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, count in data["tokens"].items():
        table.add_row(Text("█ ", _COLOURS[name]) + Text(name), tokens(count), share(count / window))
    note = "by the provider's count" if data["measured"] else "estimated"
    summary = (
        f"window {tokens(window)} ({data['window_source']}); compaction at "
        f"{tokens(data['compacts_at'])}; now: {data['state']}; {note}"
    )
    return Group(bar, table, Text(summary, "dim"))


@reverie_command(name="compact")
@click.argument("session")
@click.argument("instructions", nargs=-1)
@click.option("--model", metavar="M", help="Summarise with this model; offline: by rules alone.")
def compact(
    frame: Invocation, session: str, instructions: tuple[str, ...], model: str | None
) -> None:
    """Compact a session: the older part becomes a summary, the next resume is small.

    SESSION is an id from `reverie sessions`, or the start of one. INSTRUCTIONS say what the summary
    must keep. The transcript keeps everything: `reverie show SESSION --before-compaction`.

    \b
    reverie compact 20261115-0930
    reverie compact 20261101 keep the list of failing tests
    """
    app = frame.app()
    import asyncio

    data = asyncio.run(_compact(app, session, " ".join(instructions), model))
    frame.show(data, lambda console: _print_compacted(console, data))


async def _compact(
    app: Workspace, session: str, instructions: str, model: str | None
) -> dict[str, Any]:
    from reverie.context.compaction.plan import Failed
    from reverie.session.build import open_session
    from reverie.session.options import SessionOptions

    path = app.transcript(session)
    options = SessionOptions(model=model, resume=path, dreams=False)
    async with open_session(app, options) as opened:
        before = opened.conversation.state.tokens
        done = await opened.upkeep.compact_now("manual", instructions=instructions)
        if isinstance(done, Failed):
            raise InputError(f"{path.stem} was not compacted: {done.reason}")
        state = opened.conversation.state
        how = state.compactions[-1].how if state.compactions else ""
        return {"session": path.stem, "before": before, "after": state.tokens, "how": how}


def _print_compacted(console: Console, data: dict[str, Any]) -> None:
    size = f"{tokens(data['before'])} → {tokens(data['after'])} tokens"
    how = f", {data['how']}" if data["how"] else ""
    console.print(printable(f"Compacted {data['session']}: {size}{how}"), soft_wrap=True)
    console.print(
        f"  all of it: reverie show {data['session']} --before-compaction", soft_wrap=True
    )
