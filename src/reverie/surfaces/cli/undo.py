"""`reverie undo`: take changes to memory back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import click

from reverie.errors import InputError
from reverie.memory.scopes import MemoryScope
from reverie.surfaces.cli.figures import printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import (
    PERSON,
    private,
    revision_json,
    scope_option,
    up_to_date,
)

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app.memory import OpenMemory
    from reverie.memory.revisions import Revision


@reverie_command(name="undo")
@click.argument("rev", required=False)
@click.option("--session", metavar="ID", help="Everything this session changed.")
@click.option("--dream", metavar="ID", help="Everything this dream changed.")
@scope_option
def command(
    frame: Frame,
    rev: str | None,
    session: str | None,
    dream: str | None,
    scope: MemoryScope | None,
) -> None:
    """Take a change to memory back: the last one, or REV.

    Changes to what is about you are among them; the team's are meant with --team. What came later
    stays. The undo is a change itself, and can be undone.

    \b
    reverie undo
    reverie undo 1a2b3c4d5e
    reverie undo --session 0442a060
    """
    if sum(given is not None for given in (rev, session, dream)) > 1:
        raise click.UsageError("give a revision, --session or --dream: one of them")
    from reverie.keeper.undo import undo

    memories = [up_to_date(memory) for memory in private(frame.app(), scope)]
    wanted = _wanted(memories, rev, session, dream)
    made = [
        (memory, undone, undo(memory.store, memory.history, undone, PERSON))
        for memory, undone in wanted
    ]
    data = {
        "undone": [revision_json(one) for _, undone, _ in made for one in undone],
        **revision_json(made[0][2]),
        "also": [revision_json(revision) for _, _, revision in made[1:]],
    }
    frame.show(data, lambda console: _print(console, made))


Change: TypeAlias = "tuple[OpenMemory, list[Revision]]"


def _wanted(
    memories: Sequence[OpenMemory],
    rev: str | None,
    session: str | None,
    dream: str | None,
) -> list[Change]:
    """What is to be taken back, in each memory that it changed."""
    from reverie.app.memory import last_change, with_revision
    from reverie.keeper.undo import of_dream, of_session

    if session is not None:
        return _each(memories, lambda memory: of_session(memory.history, session))
    if dream is not None:
        return _each(memories, lambda memory: of_dream(memory.history, dream))
    memory, revision = last_change(memories) if rev is None else with_revision(memories, rev)
    return [(memory, [revision])]


def _each(
    memories: Sequence[OpenMemory], find: Callable[[OpenMemory], list[Revision]]
) -> list[Change]:
    """What is found in each of the memories; in none of them is an error."""
    found: list[Change] = []
    problems: list[InputError] = []
    for memory in memories:
        try:
            found.append((memory, find(memory)))
        except InputError as error:
            problems.append(error)
    if not found:
        raise problems[0]
    return found


def _print(console: Console, made: Sequence[tuple[OpenMemory, list[Revision], Revision]]) -> None:
    for memory, undone, revision in made:
        for one in undone:
            console.print(printable(f"Undid {one.short}: {one.summary}"), soft_wrap=True)
        files = ", ".join(map(memory.label, revision.files))
        back = f"reverie undo {revision.short}" + (" --team" if memory.team else "")
        console.print(f"  changed {printable(files)}", soft_wrap=True)
        console.print(f"  do it again with: {back}")
