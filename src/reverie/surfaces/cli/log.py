"""`reverie log`: every change to memory."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from reverie.surfaces.cli.figures import printable, when
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import (
    handle,
    opened,
    revision_json,
    team_option,
    up_to_date,
    who,
)

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.memory.revisions import Revision


@reverie_command(name="log")
@click.argument("what", nargs=-1, metavar="[MEMORY]")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many."
)
@team_option
def command(frame: Frame, what: tuple[str, ...], limit: int, team: bool) -> None:
    """Every change to memory, newest first.

    With MEMORY (a file name, a short id, words of the title) the changes to that one, also when it
    is gone.

    \b
    reverie log
    reverie log project_audit.md -n 5
    """
    app = frame.app()
    memory, name = _wanted(app, what, team=team)
    found = list(islice(up_to_date(memory).history.log(name), limit))
    frame.show([revision_json(one) for one in found], lambda console: _print(console, found))


def _wanted(app: App, what: tuple[str, ...], *, team: bool) -> tuple[OpenMemory, str | None]:
    from reverie.app.handles import required_or_gone

    return (
        required_or_gone(app, handle(what), team=team) if what else (opened(app, team=team), None)
    )


def _print(console: Console, revisions: list[Revision]) -> None:
    from rich.table import Table

    if not revisions:
        console.print("Nothing has changed in this memory yet.")
        return
    table = Table("revision", "when", "who", "what", box=None, pad_edge=False)
    for column in table.columns[:3]:
        column.no_wrap = True
    for one in revisions:
        table.add_row(one.short, when(one.at), printable(who(one)), printable(one.summary))
    console.print(table)
