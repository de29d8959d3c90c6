"""`reverie pin`: keep a memory first in the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, handle, label, opened_for, team_option, undo_hint

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.format.revisions import Revision


@reverie_command(name="pin")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option("--off", is_flag=True, help="Unpin it.")
@team_option
def command(frame: Invocation, what: tuple[str, ...], off: bool, team: bool) -> None:
    """Keep a memory first in the index.

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    \b
    reverie pin feedback_real_database.md
    reverie pin feedback_real_database.md --off
    """
    memory, name = opened_for(frame.app(), handle(what), team=team)
    revision = memory.keeper.pin(name, PERSON, pinned=not off)
    shown = label(memory, name)
    data = {
        "file": shown,
        "pinned": not off,
        "changed": revision is not None,
        "revision": revision.id if revision else None,
    }
    shared = memory.team
    frame.show(data, lambda c: _print(c, shown, revision, off=off, shared=shared))


def _print(
    console: Console, file: str, revision: Revision | None, *, off: bool, shared: bool
) -> None:
    verb = "unpinned" if off else "pinned"
    if revision is None:
        console.print(printable(f"{file} was {verb} already."), soft_wrap=True)
        return
    console.print(printable(f"{verb.capitalize()} {file}"), soft_wrap=True)
    if not off:
        console.print("  it is now first in the index")
    console.print(f"  {undo_hint(revision, team=shared)}")
