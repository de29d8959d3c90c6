"""`reverie sessions`: list the sessions of this project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import dollars, printable, tokens, when
from reverie.cli.invocation import Invocation, reverie_command
from reverie.conversation.timeline import session_row

if TYPE_CHECKING:
    from rich.console import Console


@reverie_command(name="sessions")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many."
)
def command(frame: Invocation, limit: int) -> None:
    """List the sessions of this project, newest first."""
    app = frame.app()
    rows = [session_row(path, app.ledger) for path in app.journals()[:limit]]
    frame.answer(rows, lambda console: _table(console, rows))


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
