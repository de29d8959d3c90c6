"""`reverie context`: show what fills the context window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import share, tokens
from reverie.cli.invocation import Invocation, reverie_command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.conversation.state import SessionState
    from reverie.core.window import Window

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
def command(frame: Invocation, session: str | None, model: str | None, ask: bool) -> None:
    """Show what fills the window of a session (default: the newest one)."""
    from reverie.conversation import transcripts
    from reverie.conversation.state import SessionState
    from reverie.errors import InputError

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
