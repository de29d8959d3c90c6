"""`reverie undo`: take changes to memory back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.surfaces.cli.figures import counted, printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import PERSON, opened, revision_json, team_option, up_to_date

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.app.undo import TakenBack


@reverie_command(name="undo")
@click.argument("rev", required=False)
@click.option("--session", metavar="ID", help="Everything this session changed.")
@click.option("--dream", metavar="ID", help="Everything this dream changed.")
@team_option
def command(
    frame: Frame, rev: str | None, session: str | None, dream: str | None, team: bool
) -> None:
    """Take a change to memory back: the last one, or REV.

    Again, it takes back the change before that one, and so on; `reverie redo` brings back what was
    undone last. What came later stays. A proposal whose approval is undone waits in the inbox again.

    \b
    reverie undo
    reverie undo 1a2b3c4d5e
    reverie undo --session 0442a060
    """
    if sum(given is not None for given in (rev, session, dream)) > 1:
        raise click.UsageError("give a revision, --session or --dream: one of them")
    app = frame.app()
    memory = up_to_date(opened(app, team=team))
    tell(frame, _undone(app, memory, rev, session, dream), "Undid", team=team)


def _undone(
    app: App, memory: OpenMemory, rev: str | None, session: str | None, dream: str | None
) -> TakenBack:
    from reverie.app.undo import undo, undo_last
    from reverie.keeper.undo import of_dream, of_session

    history = memory.history
    if session is not None:
        return undo(app, memory, of_session(history, session), PERSON)
    if dream is not None:
        return undo(app, memory, of_dream(history, dream), PERSON)
    if rev is not None:
        return undo(app, memory, [history.revision(rev)], PERSON)
    return undo_last(app, memory, PERSON)


def tell(frame: Frame, done: TakenBack, verb: str, *, team: bool) -> None:
    """Say what was undone or redone, and the way back."""
    data = {
        "undone": [revision_json(one) for one in done.revisions],
        "waiting": list(done.waiting),
        **revision_json(done.made),
    }
    frame.show(data, lambda console: _print(console, done, verb, team=team))


def _print(console: Console, done: TakenBack, verb: str, *, team: bool) -> None:
    for one in done.revisions:
        # An undo or a redo is told as the change that both are about.
        about = (
            one.summary.partition(" ")[2] if one.author.undoes else f"{one.short}: {one.summary}"
        )
        console.print(printable(f"{verb} {about}"), soft_wrap=True)
    console.print(f"  changed {printable(', '.join(done.made.files))}", soft_wrap=True)
    if done.waiting:
        waits = counted(len(done.waiting), "proposal waits", "proposals wait")
        console.print(f"  {waits} in the inbox again")
    back = "redo" if verb == "Undid" else "undo"
    console.print(f"  the way back: reverie {back}" + (" --team" if team else ""))
