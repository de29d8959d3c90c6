"""`reverie spend`: what was spent, on what, and what the caps still allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, dollars, share, sparkline, tokens
from reverie.cli.invocation import Invocation, reverie_command
from reverie.core.usage import Entry, Usage

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.workspace import Workspace


@reverie_command(name="spend")
@click.option(
    "--by",
    type=click.Choice(["purpose", "model", "session", "day"]),
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
    now = app.clock.now()
    entries = [entry for entry in app.ledger.entries() if now - entry.at <= days * 86_400]
    rows = _rows(entries, by)
    today = _day(now)
    per_day = [
        sum(
            entry.cost or 0.0 for entry in entries if _day(entry.at) == today - timedelta(days=back)
        )
        for back in range(min(days, 30) - 1, -1, -1)
    ]
    data = {"by": by, "days": days, "rows": rows, "per_day": per_day, "caps": _caps(app)}
    frame.answer(data, lambda console: _print(console, data))


def _rows(entries: Sequence[Entry], by: str) -> list[dict[str, Any]]:
    groups: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[str(_day(entry.at)) if by == "day" else getattr(entry, by)].append(entry)
    rows = [_row(name, group) for name, group in groups.items()]
    return sorted(rows, key=lambda row: row["cost"], reverse=True)


def _row(name: str, entries: list[Entry]) -> dict[str, Any]:
    usage = sum((entry.usage for entry in entries), Usage())
    return {
        "name": name,
        "calls": len(entries),
        "input": usage.input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "hit_rate": usage.hit_rate,
        "cost": sum(entry.cost or 0.0 for entry in entries),
        "unpriced": sum(entry.cost is None for entry in entries),
    }


def _caps(app: Workspace) -> list[dict[str, Any]]:
    """Today's caps and the spending that counts against them, with reservations of running calls."""
    caps = app.caps("main")
    spent = app.ledger.spent("main", "")
    found = [{"cap": "day", "limit": caps.day, "spent": spent.day}]
    for item in app.settings.items():
        purpose = item.key.removeprefix("spend.purpose.")
        if purpose != item.key and isinstance(item.value, int | float):
            used = app.ledger.spent(purpose, "").purpose
            found.append({"cap": purpose, "limit": float(item.value), "spent": used})
    return [row for row in found if row["limit"] is not None]


def _day(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).astimezone().date()


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
