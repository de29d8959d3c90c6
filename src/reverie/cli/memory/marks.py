"""`reverie pin`, `retire` and `move`: what is marked about a memory, and whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import (
    PERSON,
    handle,
    label,
    opened_for,
    require_team,
    team_option,
    undo_hint,
)
from reverie.errors import InputError
from reverie.memory.format.taxonomy import SCOPES, MemoryScope

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.format.revisions import Revision


@reverie_command(name="pin")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option("--off", is_flag=True, help="Unpin it.")
@team_option
def pin(frame: Invocation, what: tuple[str, ...], off: bool, team: bool) -> None:
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
    frame.show(data, lambda c: _print_pin(c, shown, revision, off=off, shared=shared))


def _print_pin(
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


@reverie_command(name="retire")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option("--by", metavar="MEMORY", help="The memory that holds the newer value.")
@click.option("--off", is_flag=True, help="Restore it; the memory that replaced it is kept.")
@team_option
def retire(frame: Invocation, what: tuple[str, ...], by: str | None, off: bool, team: bool) -> None:
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


_MEANINGS: dict[str, str] = {
    "project": "it belongs to this project",
    "person": "about you: known in every project",
    "team": "shared with the team at the next `reverie team sync`",
}


@reverie_command(name="move")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option(
    "--scope", type=click.Choice(SCOPES), required=True, help="The new scope of the memory."
)
def move(frame: Invocation, what: tuple[str, ...], scope: MemoryScope) -> None:
    """Move a memory to the project, to you in every project, or to the team.

    MEMORY is a file name, a short id from `reverie list`, or words of the title. Both histories
    keep the change; to reverse it, move the memory back.

    \b
    reverie move feedback_short_answers.md --scope person
    reverie move person/feedback_short_answers.md --scope project
    """
    app = frame.app()
    require_team(app, team=scope == "team")
    memory, name = opened_for(app, handle(what))
    old = memory.label(name)
    fresh = app.move(old, scope, PERSON)
    data = {"from": old, "file": fresh, "scope": scope}
    frame.show(data, lambda console: _print_move(console, data, memory.scope))


def _print_move(console: Console, data: dict[str, str], before: MemoryScope) -> None:
    fresh = printable(data["file"])
    console.print(printable(f"Moved {data['from']} to {data['file']}"), soft_wrap=True)
    console.print(f"  {_MEANINGS[data['scope']]}")
    console.print(f"  to reverse this: reverie move {fresh} --scope {before}", soft_wrap=True)
