"""`reverie spend`: what was spent, on what, and what the caps still allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, dollars, share, sparkline, tokens
from reverie.cli.invocation import Invocation, reverie_command
from reverie.workspace.spending import KINDS, spending

if TYPE_CHECKING:
    from rich.console import Console


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
def command(frame: Invocation, by: str, days: int) -> None:
    """Show what was spent, on what, and the caps."""
    app = frame.app()
    data = spending(app, by, days)
    frame.answer(data, lambda console: _print(console, data))


def _print(console: Console, data: dict[str, Any]) -> None:
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
