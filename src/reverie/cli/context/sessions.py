"""`reverie sessions`: list the sessions of this project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import dollars, printable, tokens, when
from reverie.cli.invocation import Invocation, reverie_command

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.workspace import Workspace


@reverie_command(name="sessions")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many."
)
def command(frame: Invocation, limit: int) -> None:
    """List the sessions of this project, newest first."""
    app = frame.app()
    rows = [_row(app, path) for path in app.journals()[:limit]]
    frame.answer(rows, lambda console: _table(console, rows))


def _row(app: Workspace, path: Path) -> dict[str, Any]:
    from reverie.conversation import journal
    from reverie.conversation.state import SessionState

    loaded = journal.load(path)
    state = SessionState.replay(loaded.records)
    spent = [e.cost for e in app.ledger.entries() if e.session == path.stem and e.cost is not None]
    first = next((m.text for m in state.messages if m.origin == "user" and m.text), "")
    return {
        "session": path.stem,
        "last": path.stat().st_mtime,
        "messages": len(state.messages),
        "tokens": state.tokens,
        "cost": sum(spent),
        "model": state.head.model if state.head else "",
        "compactions": len(state.compactions),
        "starts": first[:200],
        "notes": list(loaded.notes),
    }


def _table(console: Console, rows: list[dict[str, Any]]) -> None:
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
