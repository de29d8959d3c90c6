"""`reverie move`: move a memory to another scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, handle, opened_for, require_team
from reverie.memory.format.taxonomy import SCOPES, MemoryScope

if TYPE_CHECKING:
    from rich.console import Console

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
def command(frame: Invocation, what: tuple[str, ...], scope: MemoryScope) -> None:
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
    frame.show(data, lambda console: _print(console, data, memory.scope))


def _print(console: Console, data: dict[str, str], before: MemoryScope) -> None:
    fresh = printable(data["file"])
    console.print(printable(f"Moved {data['from']} to {data['file']}"), soft_wrap=True)
    console.print(f"  {_MEANINGS[data['scope']]}")
    console.print(f"  to reverse this: reverie move {fresh} --scope {before}", soft_wrap=True)
