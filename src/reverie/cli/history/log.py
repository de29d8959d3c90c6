"""`reverie log`: every change to memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import printable, when
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import author_of, handle, private, revision_json, scope_option
from reverie.memory.format.taxonomy import MemoryScope

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.format.revisions import Revision
    from reverie.workspace import Workspace


@reverie_command(name="log")
@click.argument("what", nargs=-1, metavar="[MEMORY]")
@click.option(
    "-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many."
)
@scope_option
def command(
    frame: Invocation, what: tuple[str, ...], limit: int, scope: MemoryScope | None
) -> None:
    """List every change to memory, newest first.

    Includes memories about you (person/…); use --team for the team's. With MEMORY (a file name, a
    short id, words of the title): only changes to that memory, even if it is gone.

    \b
    reverie log
    reverie log project_audit.md -n 5
    """
    app = frame.app()
    found = list(islice(_wanted(app, what, scope), limit))
    frame.answer([revision_json(one) for one in found], lambda console: _print(console, found))


def _wanted(app: Workspace, what: tuple[str, ...], scope: MemoryScope | None) -> Iterator[Revision]:
    from reverie.memory.opening import changes
    from reverie.workspace.handles import required_or_gone

    if not what:
        return changes(private(app, scope))
    memory, name = required_or_gone(app, handle(what), scope)
    return memory.changes(name)


def _print(console: Console, revisions: list[Revision]) -> None:
    from rich.table import Table

    if not revisions:
        console.print("Nothing has changed in this memory yet.")
        return
    table = Table("revision", "when", "who", "what", box=None, pad_edge=False)
    for column in table.columns[:3]:
        column.no_wrap = True
    for one in revisions:
        table.add_row(one.short, when(one.at), printable(author_of(one)), printable(one.summary))
    console.print(table)
