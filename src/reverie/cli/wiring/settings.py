"""`reverie settings`: every setting, its value and where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.invocation import Invocation, reverie_command

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.settings import Item


@reverie_command(name="settings")
@click.argument("key", required=False)
@click.option("--changed", is_flag=True, help="Only what differs from the defaults.")
def command(frame: Invocation, key: str | None, changed: bool) -> None:
    """Show every setting, its value and where it came from.

    With KEY, only that setting (or the whole table it names), and what it overrides.
    """
    settings = frame.app().settings
    items = settings.items()
    if key is not None:
        below = tuple(item for item in items if item.key.startswith(f"{key}."))
        items = below or (settings.item(key),)
    if changed:
        items = tuple(item for item in items if item.origin.source != "default")
    frame.show([_as_json(item) for item in items], lambda console: _table(console, items, key))
    frame.warn(*map(str, settings.wanted), *settings.notes)


def _as_json(item: Item) -> dict[str, object]:
    return {
        "key": item.key,
        "value": item.value,
        "origin": str(item.origin),
        "overridden": [{"value": f.value, "origin": str(f.origin)} for f in item.overridden],
    }


def _table(console: Console, items: tuple[Item, ...], key: str | None) -> None:
    from rich.table import Table

    table = Table("setting", "value", "from", box=None, pad_edge=False)
    for item in items:
        style = "dim" if item.origin.source == "default" else ""
        table.add_row(item.key, _shown(item.value), str(item.origin), style=style)
        for found in item.overridden if key is not None else ():
            table.add_row("  overrides", _shown(found.value), str(found.origin), style="dim")
    console.print(table)


def _shown(value: object) -> str:
    if value is None:
        return "–"
    return str(value).lower() if isinstance(value, bool) else str(value)
