"""`reverie sessions`, `spend` and `cache`: the sessions of a project, what they cost, and how well the cache works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    dollars,
    limit_option,
    note,
    reverie_command,
    share,
    sparkline,
    styled,
    table,
    tokens,
    when,
)
from reverie.errors import InputError, TranscriptError
from reverie.workspace.spending import KINDS, spending

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.conversation.cache_report import CacheRow, WhatIf
    from reverie.conversation.state import SessionState
    from reverie.core.window import Window
    from reverie.workspace import Workspace


@reverie_command(name="sessions")
@limit_option(20)
def sessions(frame: Invocation, limit: int) -> None:
    """List the sessions of this project, newest first."""
    from reverie.conversation.timeline import session_row

    app = frame.app()
    rows = [session_row(path, app.ledger) for path in app.journals()[:limit]]
    frame.answer(rows, _session_lines(rows))


def _session_lines(rows: list[dict[str, Any]]) -> Iterator[RenderableType]:
    if not rows:
        yield "No sessions yet in this project."
        return
    cells = (
        (
            row["session"], when(row["last"]), str(row["messages"]), tokens(row["tokens"]),
            dollars(row["cost"]), row["starts"][:50].replace("\n", " "),
        )
        for row in rows
    )  # fmt: skip
    yield table("session", "last", "messages", "tokens", "cost", "starts", rows=cells)


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
    frame.answer(data, _spending_lines(data))


def _spending_lines(data: dict[str, Any]) -> Iterator[RenderableType]:
    if data["rows"]:
        columns = (data["by"], "calls", "input", "read", "written", "output", "hit rate", "cost")
        yield table(*columns, rows=map(_spent, data["rows"]))
        total, days = sum(data["per_day"]), counted(len(data["per_day"]), "day")
        yield f"{sparkline(data['per_day'])}  {dollars(total)} in {days}"
    else:
        yield f"Nothing spent in this project in the last {counted(data['days'], 'day')}."
    for cap in data["caps"]:
        left = max(0.0, cap["limit"] - cap["spent"])
        yield f"cap {cap['cap']}: {dollars(left)} of {dollars(cap['limit'])} left today"


def _spent(row: dict[str, Any]) -> tuple[str, ...]:
    counts = (row["input"], row["cache_read"], row["cache_write"], row["output"])
    unpriced = f" + {row['unpriced']} unpriced" if row["unpriced"] else ""
    cost = dollars(row["cost"]) + unpriced
    return row["name"], str(row["calls"]), *map(tokens, counts), share(row["hit_rate"]), cost


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
    frame.answer([row.as_json() for row in rows], _rate_lines(rows))


def _readable(app: Workspace, path: Path, model: str | None) -> list[CacheRow]:
    """The rows of one session; a session that cannot be read is noted and skipped."""
    from reverie.conversation.cache_report import report_on

    try:
        return report_on(app.settings, path, model=model)
    except TranscriptError as error:
        note(str(error))
        return []


def _rate_lines(rows: list[CacheRow]) -> Iterator[RenderableType]:
    if not rows:
        yield "No model calls yet in this project."
        return
    columns = ("session", "purpose", "calls", "read", "written", "hit rate", "breaks", "cost")
    yield table(*columns, rows=map(_rates, rows))
    for row in rows:
        for found in row.breaks:
            yield f"  {row.session} call {found.call}: {found.why} ({tokens(found.lost)} tokens)"


def _rates(row: CacheRow) -> tuple[str, ...]:
    usage, lost = row.usage, sum(one.cost for one in row.breaks)
    counts = (tokens(usage.cache_read), tokens(usage.cache_write), share(usage.hit_rate))
    return row.session, row.purpose, str(row.calls), *counts, str(len(row.breaks)), dollars(lost)


def _what_if(frame: Invocation, transcripts: tuple[Path, ...], model: str | None) -> None:
    from reverie.conversation.cache_report import what_if

    app = frame.app()
    results = ((path, what_if(app.settings, path, model=model)) for path in transcripts)
    if frame.as_json:
        frame.answer([_what_if_json(path, result) for path, result in results], ())
    else:
        frame.answer(None, (line for one in results for line in _what_if_lines(*one)))


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


def _what_if_lines(path: Path, result: WhatIf) -> Iterator[RenderableType]:
    calls = counted(len(result.replay.calls), "call")
    yield styled(f"{path.name} · {result.row.name} · {calls}", "bold")
    plans = [(o.plan.name, o.total, o.cost) for o in result.outcomes]
    rows = (
        (
            name, *map(tokens, (usage.prompt, usage.cache_read, usage.cache_write)),
            share(usage.hit_rate), dollars(cost),
        )
        for name, usage, cost in [*plans, ("as billed", result.billed, result.billed_cost)]
    )  # fmt: skip
    yield table("plan", "prompt", "read", "written", "hit rate", "cost", rows=rows)


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
    """What fills the window, by category, and how close it is to compaction."""
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
    size = f"{tokens(data['before'])} → {tokens(data['after'])} tokens"
    how = f", {data['how']}" if data["how"] else ""
    done = f"Compacted {data['session']}: {size}{how}"
    frame.show(data, [done, f"  all of it: reverie show {session} --before-compaction"])


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
