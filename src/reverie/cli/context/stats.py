"""`reverie stats`: what happened with memory, layers, cache and learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, printable, share, sparkline, tokens
from reverie.cli.invocation import Invocation, reverie_command

if TYPE_CHECKING:
    from rich.console import Console


@reverie_command(name="stats")
@click.option(
    "--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How far back."
)
def command(frame: Invocation, days: int) -> None:
    """Show what happened: memories recalled and used, layers, cache, learning.

    Delivered: put beside a message. Seen: a model answered afterwards. Used: its words or facts are
    in a reply or a tool call. Whether it helped is `reverie impact`.

    \b
    reverie stats
    reverie stats --days 7 --json
    """
    from reverie.impact.stats import stats_of

    data = stats_of(frame.app(), days=days)
    frame.answer(data, lambda console: _print(console, data))


def _print(console: Console, data: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for name, figure, about in _rows(data):
        table.add_row(printable(name), figure, printable(about))
    console.print(table)
    console.print(f"the last {counted(data['days'], 'day')}", style="dim")


def _rows(data: dict[str, Any]) -> list[tuple[str, str, str]]:
    memories, use, learning, cache = (data[key] for key in ("memories", "use", "learning", "cache"))
    series = data["per_day"]
    rows = [
        ("memories", f"{memories['count']:,}", _facts(memories["type"])),
        ("", "", f"age: {_facts(memories['age'])}"),
        ("", "", f"origin: {_facts(memories['origin'])}"),
        ("delivered", f"{use['delivered']:,}", sparkline(series["delivered"])),
        ("seen", f"{use['seen']:,}", "an answer came afterwards"),
        ("used", f"{use['used']:,}", sparkline(series["used"])),
        ("contradicted", f"{use['contradicted']:,}", "replaced by a newer value"),
        ("undone", f"{use['undone']:,}", ""),
        ("never recalled", f"{use['never_recalled']:,}", "of those that hold now"),
        ("learning runs", f"{learning['runs']:,}", sparkline(series["learnt"])),
        ("", "", f"{learning['saved']} saved, {learning['to_inbox']} to the inbox, {learning['refused']} refused, "
                 f"{learning['failed']} failed; {learning['inbox']} wait now"),
        ("cache hit rate", share(cache["hit_rate"]), f"{cache['breaks_expected']} expected breaks, "
                                                     f"{cache['breaks_unexpected']} unexpected"),
    ]  # fmt: skip
    rows += [
        (layer, f"{row['fired']:,}", f"{tokens(row['saved'])} tokens kept out")
        for layer, row in data["layers"].items()
    ]
    return [*rows, *(("stopped", "", line) for line in data["breakers"])]


def _facts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "–"
