"""`reverie log` and `reverie blame`: every change to memory, and which one wrote a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable, when
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import (
    author_of,
    handle,
    opened_for,
    private,
    revision_json,
    scope_option,
    team_option,
    up_to_date,
)
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
def log(frame: Invocation, what: tuple[str, ...], limit: int, scope: MemoryScope | None) -> None:
    """List every change to memory, newest first.

    Includes memories about you (person/…); use --team for the team's. With MEMORY (a file name, a
    short id, words of the title): only changes to that memory, even if it is gone.

    \b
    reverie log
    reverie log project_audit.md -n 5
    """
    app = frame.app()
    found = list(islice(_wanted(app, what, scope), limit))
    frame.answer([revision_json(one) for one in found], lambda console: _print_log(console, found))


def _wanted(app: Workspace, what: tuple[str, ...], scope: MemoryScope | None) -> Iterator[Revision]:
    from reverie.memory.opening import changes
    from reverie.workspace.handles import required_or_gone

    if not what:
        return changes(private(app, scope))
    memory, name = required_or_gone(app, handle(what), scope)
    return memory.changes(name)


def _print_log(console: Console, revisions: list[Revision]) -> None:
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


@reverie_command(name="blame")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@team_option
def blame(frame: Invocation, what: tuple[str, ...], team: bool) -> None:
    """Show which change wrote each line of a memory.

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    \b
    reverie blame project_audit.md
    """
    memory, name = opened_for(frame.app(), handle(what), team=team)
    lines = up_to_date(memory).history.blame(name)
    data = [_as_json(line.number, line.text, line.revision) for line in lines]
    shown = [(line.revision, line.text) for line in lines]
    frame.answer(data, lambda console: _print_blame(console, shown))


def _as_json(number: int, text: str, revision: Revision) -> dict[str, Any]:
    about = revision_json(revision)
    return {"line": number, "text": text, **{key: about[key] for key in about if key != "files"}}


def _print_blame(console: Console, lines: list[tuple[Revision, str]]) -> None:
    width = max((len(author_of(revision)) for revision, _ in lines), default=0)
    for revision, text in lines:
        head = f"{revision.short}  {when(revision.at)}  {author_of(revision):<{width}}"
        console.print(printable(f"{head}  {text}".rstrip()), soft_wrap=True)
