"""`reverie undo`: take changes to memory back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.errors import InputError
from reverie.surfaces.cli.figures import printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import PERSON, opened, revision_json, team_option, up_to_date

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app.memory import OpenMemory
    from reverie.memory.revisions import Revision


@reverie_command(name="undo")
@click.argument("rev", required=False)
@click.option("--session", metavar="ID", help="Everything this session changed.")
@click.option("--dream", metavar="ID", help="Everything this dream changed.")
@team_option
def command(
    frame: Frame, rev: str | None, session: str | None, dream: str | None, team: bool
) -> None:
    """Take a change to memory back: the last one, or REV.

    What came later stays. The undo is a change itself, and can be undone.

    \b
    reverie undo
    reverie undo 1a2b3c4d5e
    reverie undo --session 0442a060
    """
    if sum(given is not None for given in (rev, session, dream)) > 1:
        raise click.UsageError("give a revision, --session or --dream: one of them")
    from reverie.keeper.undo import undo

    memory = up_to_date(opened(frame.app(), team=team))
    undone = _wanted(memory, rev, session, dream)
    made = undo(memory.store, memory.history, undone, PERSON)
    data = {"undone": [revision_json(one) for one in undone], **revision_json(made)}
    frame.show(data, lambda console: _print(console, undone, made, team=team))


def _wanted(
    memory: OpenMemory, rev: str | None, session: str | None, dream: str | None
) -> list[Revision]:
    from reverie.keeper.undo import of_dream, of_session

    if session is not None:
        return of_session(memory.history, session)
    if dream is not None:
        return of_dream(memory.history, dream)
    if rev is not None:
        return [memory.history.revision(rev)]
    last = next(memory.history.log(), None)
    if last is None:
        raise InputError("there is nothing to undo: this memory has no history yet")
    return [last]


def _print(console: Console, undone: list[Revision], made: Revision, *, team: bool) -> None:
    for one in undone:
        console.print(printable(f"Undid {one.short}: {one.summary}"), soft_wrap=True)
    back = f"reverie undo {made.short}" + (" --team" if team else "")
    console.print(f"  changed {printable(', '.join(made.files))}", soft_wrap=True)
    console.print(f"  do it again with: {back}")
