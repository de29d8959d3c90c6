"""`reverie retire`: mark a memory as replaced by another, or restore it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, handle, label, opened_for, team_option, undo_hint
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.memory.format.revisions import Revision


@reverie_command(name="retire")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option("--by", metavar="MEMORY", help="The memory that holds the newer value.")
@click.option("--off", is_flag=True, help="Restore it; the memory that replaced it is kept.")
@team_option
def command(
    frame: Invocation, what: tuple[str, ...], by: str | None, off: bool, team: bool
) -> None:
    """Mark a memory as replaced by another, or restore it; both are kept.

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    \b
    reverie retire project_port_8080.md --by project_port_8443.md
    reverie retire project_port_8080.md --off
    """
    if bool(by) == off:
        raise click.UsageError("say which memory replaces it (--by MEMORY), or --off to restore it")
    from reverie.memory.changes.draft import Declined

    app = frame.app()
    memory, name = opened_for(app, handle(what), team=team)
    shown = label(memory, name)
    if by:
        newer_memory, newer = opened_for(app, by, team=team)
        if newer_memory.place != memory.place:
            raise InputError(f"{shown} and {by} are in different memories; move one of them first")
        by = label(newer_memory, newer)
        outcome = memory.keeper.retire(name, newer, PERSON)
        if isinstance(outcome, Declined):
            raise InputError("; ".join(filter(None, (outcome.reason, outcome.advice))))
        revision: Revision | None = outcome.revision
    else:
        revision = memory.keeper.restore(name, PERSON)
    message = f"{shown} is valid again" if off else f"{shown} is replaced by {by} and kept"
    data = {"file": shown, "by": by, "retired": not off, "revision": revision and revision.id}
    frame.show(
        data,
        lambda console: console.print(
            printable(
                f"{message}\n  {undo_hint(revision, team=memory.team) if revision else ''}".rstrip()
            ),
            soft_wrap=True,
        ),
    )
