"""`reverie log`, `blame`, `diff`, `undo` and `redo`: the history of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    limit_option,
    patch_lines,
    reverie_command,
    table,
    when,
)
from reverie.cli.memories import (
    PERSON,
    author_of,
    opened,
    opened_for,
    private,
    revision_json,
    scope_option,
    team_option,
    up_to_date,
)
from reverie.errors import InputError
from reverie.memory.format.manifest import is_index
from reverie.memory.format.taxonomy import MemoryScope

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.memory.format.revisions import Revision
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace
    from reverie.workspace.changes import UndoResult


@reverie_command(name="log")
@click.argument("what", nargs=-1, metavar="[MEMORY]")
@limit_option(20)
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
    frame.answer([revision_json(one) for one in found], _log_lines(found))


def _wanted(app: Workspace, what: tuple[str, ...], scope: MemoryScope | None) -> Iterator[Revision]:
    from reverie.memory.opening import changes
    from reverie.workspace.handles import required_or_gone

    if not what:
        return changes(private(app, scope))
    memory, name = required_or_gone(app, " ".join(what), scope)
    return memory.changes(name)


def _log_lines(revisions: list[Revision]) -> Iterator[RenderableType]:
    rows = [(one.short, when(one.at), author_of(one), one.summary) for one in revisions]
    if rows:
        yield table("revision", "when", "who", "what", rows=rows, fixed=3)
    else:
        yield "Nothing has changed in this memory yet."


@reverie_command(name="blame")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@team_option
def blame(frame: Invocation, what: tuple[str, ...], team: bool) -> None:
    """Show which change wrote each line of a memory.

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    \b
    reverie blame project_audit.md
    """
    memory, name = opened_for(frame.app(), " ".join(what), team=team)
    lines = up_to_date(memory).history.blame(name)
    data = [_blamed_json(line.number, line.text, line.revision) for line in lines]
    frame.answer(data, _blame_lines([(line.revision, line.text) for line in lines]))


def _blamed_json(number: int, text: str, revision: Revision) -> dict[str, Any]:
    about = revision_json(revision)
    return {"line": number, "text": text, **{key: about[key] for key in about if key != "files"}}


def _blame_lines(lines: list[tuple[Revision, str]]) -> Iterator[str]:
    width = max((len(author_of(revision)) for revision, _ in lines), default=0)
    for revision, text in lines:
        head = f"{revision.short}  {when(revision.at)}  {author_of(revision):<{width}}"
        yield f"{head}  {text}".rstrip()


@reverie_command(name="diff")
@click.argument("what", nargs=-1, metavar="[REV] [REV2] [MEMORY]")
@scope_option
def diff(frame: Invocation, what: tuple[str, ...], scope: MemoryScope | None) -> None:
    """Show what changed in memory.

    Without arguments: the last change. REV: everything since that revision. REV REV2: from the first
    to the second. MEMORY (a file name, short id or title): only that one; alone, its last change.

    \b
    reverie diff
    reverie diff HEAD~3 project_audit.md
    """
    app = frame.app()
    found = _last_as_memory(app, what, scope)
    revisions = what if found is None else what[:-1]
    if len(revisions) > 2 or any(one.endswith(".md") for one in revisions):
        raise click.UsageError("give at most two revisions and one memory, the memory last")
    memory, name = found or (_memory(app, revisions, scope), None)
    old, new = _range(up_to_date(memory), revisions, name)
    patch = memory.history.diff(old, new, name)
    data = {"old": old, "new": new, "file": name, "diff": patch}
    frame.answer(data, patch_lines(patch) if patch else "No difference.")


def _last_as_memory(
    app: Workspace, what: tuple[str, ...], scope: MemoryScope | None
) -> tuple[OpenMemory, str] | None:
    """The last argument as a memory; None when it is a revision, or there is none."""
    from reverie.workspace.handles import EXACT, Located, locate, required_or_gone

    if not what:
        return None
    last = what[-1]
    if is_index(last):
        return app.memory_of(last, scope)
    if last.endswith(".md"):
        return required_or_gone(app, last, scope)
    found = locate(app, last, scope)
    if isinstance(found, Located) and found.how in EXACT:
        return found.memory, found.file
    return None


def _memory(app: Workspace, revisions: tuple[str, ...], scope: MemoryScope | None) -> OpenMemory:
    """The memory that contains the revision."""
    from reverie.memory.opening import with_revision

    return with_revision(private(app, scope), revisions[0])[0] if revisions else opened(app, scope)


def _range(
    memory: OpenMemory, revisions: tuple[str, ...], file: str | None
) -> tuple[str | None, str]:
    """The revisions to compare; None is the beginning."""
    history = memory.history
    found = [history.revision(one) for one in revisions]
    if len(found) == 2:
        return found[0].id, found[1].id
    last = next(history.log(None if found else file), None)
    if last is None:
        raise InputError(
            "this memory has no history yet"
            if file is None
            else f"no change to {file!r} in history; `reverie log` shows all changes"
        )
    return (found[0].id if found else history.parent(last)), last.id


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
    """Undo the last change, or a revision; return the message for the user."""
    memories = [up_to_date(memory) for memory in private(app, None)]
    return list(undone_lines(_undone(app, memories, rev, None, None), "Undid", "/"))


def redo_in_chat(app: Workspace) -> list[str]:
    """Redo the last undo; return the message for the user."""
    from reverie.workspace.changes import redo_last

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
    from reverie.workspace.changes import undo as undo_changes
    from reverie.workspace.changes import undo_last

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
    frame.show(data, undone_lines(done, verb))


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
    from reverie.workspace.changes import redo_last

    app = frame.app()
    memories = [up_to_date(memory) for memory in private(app, scope)]
    _report(frame, [redo_last(app, memories, PERSON)], "Redid")
