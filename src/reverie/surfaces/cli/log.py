"""`reverie log`: every change to memory."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from reverie.errors import InputError
from reverie.memory.scopes import MemoryScope
from reverie.surfaces.cli.figures import printable, when
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import (
    opened_for,
    private,
    revision_json,
    scope_option,
    who,
)

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.revisions import Revision


@reverie_command(name="log")
@click.argument("file", required=False)
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many."
)
@scope_option
def command(frame: Frame, file: str | None, limit: int, scope: MemoryScope | None) -> None:
    """Every change to memory, newest first.

    Changes to what is about you (person/…) are among them; the team's are shown with --team. With
    FILE, the changes to that memory, also when it is gone.

    \b
    reverie log
    reverie log project_audit.md -n 5
    """
    from reverie.app.memory import changes

    app = frame.app()
    if file is None:
        found = list(islice(changes(private(app, scope)), limit))
    else:
        memory, name = opened_for(app, file, team=scope == "team")
        found = list(islice(memory.changes(name), limit))
        if not found:
            raise InputError(f"no change to {name!r} in history; `reverie log` shows all changes")
    frame.show([revision_json(one) for one in found], lambda console: _print(console, found))


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
