"""`reverie diff`: what changed between two revisions of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import print_patch
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import opened, private, scope_option, up_to_date
from reverie.errors import InputError
from reverie.memory.format.manifest import is_index
from reverie.memory.format.taxonomy import MemoryScope

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace


@reverie_command(name="diff")
@click.argument("what", nargs=-1, metavar="[REV] [REV2] [MEMORY]")
@scope_option
def command(frame: Invocation, what: tuple[str, ...], scope: MemoryScope | None) -> None:
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
    frame.answer(data, lambda console: _print(console, patch))


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


def _print(console: Console, patch: str) -> None:
    if patch:
        print_patch(console, patch)
    else:
        console.print("No difference.")
