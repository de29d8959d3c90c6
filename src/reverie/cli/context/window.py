"""`reverie context` and `reverie compact`: what fills the window of a session, and making it smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable, share, tokens
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from reverie.conversation.state import SessionState
    from reverie.core.window import Window
    from reverie.workspace import Workspace


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
    frame.show(data, lambda console: _print(console, data))


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


def _print(console: Console, data: dict[str, Any]) -> None:
    size = f"{tokens(data['before'])} → {tokens(data['after'])} tokens"
    how = f", {data['how']}" if data["how"] else ""
    console.print(printable(f"Compacted {data['session']}: {size}{how}"), soft_wrap=True)
    console.print(
        f"  all of it: reverie show {data['session']} --before-compaction", soft_wrap=True
    )
