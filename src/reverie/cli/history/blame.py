"""`reverie blame`: which change wrote each line of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable, when
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import (
    author_of,
    handle,
    opened_for,
    revision_json,
    team_option,
    up_to_date,
)

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.format.revisions import Revision


@reverie_command(name="blame")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@team_option
def command(frame: Invocation, what: tuple[str, ...], team: bool) -> None:
    """Show which change wrote each line of a memory.

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    \b
    reverie blame project_audit.md
    """
    memory, name = opened_for(frame.app(), handle(what), team=team)
    lines = up_to_date(memory).history.blame(name)
    data = [_as_json(line.number, line.text, line.revision) for line in lines]
    shown = [(line.revision, line.text) for line in lines]
    frame.answer(data, lambda console: _print(console, shown))


def _as_json(number: int, text: str, revision: Revision) -> dict[str, Any]:
    about = revision_json(revision)
    return {"line": number, "text": text, **{key: about[key] for key in about if key != "files"}}


def _print(console: Console, lines: list[tuple[Revision, str]]) -> None:
    width = max((len(author_of(revision)) for revision, _ in lines), default=0)
    for revision, text in lines:
        head = f"{revision.short}  {when(revision.at)}  {author_of(revision):<{width}}"
        console.print(printable(f"{head}  {text}".rstrip()), soft_wrap=True)
