"""`reverie undo` and `reverie redo`: reverse changes to memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import counted, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, private, revision_json, scope_option, up_to_date
from reverie.errors import InputError
from reverie.memory.format.taxonomy import MemoryScope

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.format.revisions import Revision
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace
    from reverie.workspace.undo import UndoResult


@reverie_command(name="undo")
@click.argument("rev", required=False)
@click.option("--session", metavar="ID", help="Everything this session changed.")
@click.option("--dream", metavar="ID", help="Everything this dream changed.")
@scope_option
def undo(
    frame: Invocation,
    rev: str | None,
    session: str | None,
    dream: str | None,
    scope: MemoryScope | None,
) -> None:
    """Undo a change to memory: the last one, or REV.

    Run it again to undo the change before that; `reverie redo` reverses the last undo. Includes
    memories about you; use --team for the team's. Later changes stay. A proposal whose approval is
    undone goes back to the inbox.

    \b
    reverie undo
    reverie undo 1a2b3c4d5e
    reverie undo --session 0442a060
    """
    if sum(given is not None for given in (rev, session, dream)) > 1:
        raise click.UsageError("give a revision, --session or --dream: one of them")
    app = frame.app()
    memories = [up_to_date(memory) for memory in private(app, scope)]
    _report(frame, _undone(app, memories, rev, session, dream), "Undid")


def undo_in_chat(app: Workspace, rev: str | None) -> list[str]:
    """Undo the last change, or a revision; return what there is to say."""
    memories = [up_to_date(memory) for memory in private(app, None)]
    return list(undone_lines(_undone(app, memories, rev, None, None), "Undid", "/"))


def redo_in_chat(app: Workspace) -> list[str]:
    """Redo the last undo; return what there is to say."""
    from reverie.workspace.undo import redo_last

    memories = [up_to_date(memory) for memory in private(app, None)]
    return list(undone_lines([redo_last(app, memories, PERSON)], "Redid", "/"))


def _undone(
    app: Workspace,
    memories: Sequence[OpenMemory],
    rev: str | None,
    session: str | None,
    dream: str | None,
) -> list[UndoResult]:
    """Undo the chosen changes in every memory they touched."""
    from reverie.memory.changes.undo import of_dream, of_session
    from reverie.memory.opening import with_revision
    from reverie.workspace.undo import undo as undo_changes
    from reverie.workspace.undo import undo_last

    if session is not None:
        wanted = _each(memories, lambda memory: of_session(memory.history, session))
    elif dream is not None:
        wanted = _each(memories, lambda memory: of_dream(memory.history, dream))
    elif rev is not None:
        memory, revision = with_revision(memories, rev)
        wanted = [(memory, [revision])]
    else:
        return [undo_last(app, memories, PERSON)]
    return [undo_changes(app, memory, revisions, PERSON) for memory, revisions in wanted]


def _each(
    memories: Sequence[OpenMemory], find: Callable[[OpenMemory], list[Revision]]
) -> list[tuple[OpenMemory, list[Revision]]]:
    """What `find` returns for each memory; raise if it fails for all of them."""
    found: list[tuple[OpenMemory, list[Revision]]] = []
    problems: list[InputError] = []
    for memory in memories:
        try:
            found.append((memory, find(memory)))
        except InputError as error:
            problems.append(error)
    if not found:
        raise problems[0]
    return found


def _report(frame: Invocation, done: Sequence[UndoResult], verb: str) -> None:
    """Show what was undone or redone, and how to reverse it."""
    data = {
        "undone": [revision_json(one) for part in done for one in part.revisions],
        "waiting": [proposal for part in done for proposal in part.waiting],
        **revision_json(done[0].made),
        "also": [revision_json(part.made) for part in done[1:]],
    }
    frame.show(data, lambda console: _print(console, done, verb))


def _print(console: Console, done: Sequence[UndoResult], verb: str) -> None:
    for line in undone_lines(done, verb):
        console.print(printable(line), soft_wrap=True)


def undone_lines(done: Sequence[UndoResult], verb: str, program: str = "reverie ") -> Iterator[str]:
    """What was undone or redone, what it changed, and how to reverse it."""
    for part in done:
        for one in part.revisions:
            # Describe an undo or a redo by the change it is about.
            about = (
                one.summary.partition(" ")[2]
                if one.author.undoes
                else f"{one.short}: {one.summary}"
            )
            yield f"{verb} {about}"
        yield f"  changed {', '.join(part.made.files)}"
    if count := sum(len(part.waiting) for part in done):
        waits = counted(count, "proposal waits", "proposals wait")
        yield f"  {waits} in the inbox again"
    back = f"{program}{'redo' if verb == 'Undid' else 'undo'}"
    shared = " --team" if done[0].memory.team else ""
    times = f", {len(done)} times" if len(done) > 1 else ""
    yield f"  to reverse this: {back}{shared}{times}"


@reverie_command(name="redo")
@scope_option
def redo(frame: Invocation, scope: MemoryScope | None) -> None:
    """Redo what was undone last.

    Run it again to redo the change undone before that. Later changes stay. Includes memories about
    you; use --team for the team's.

    \b
    reverie redo
    """
    from reverie.workspace.undo import redo_last

    app = frame.app()
    memories = [up_to_date(memory) for memory in private(app, scope)]
    _report(frame, [redo_last(app, memories, PERSON)], "Redid")
