"""`reverie diff`: what changed between two moments of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.errors import InputError
from reverie.memory.scopes import MemoryScope
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import (
    opened,
    opened_for,
    private,
    scope_option,
    up_to_date,
)
from reverie.surfaces.cli.patches import print_patch

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app import App
    from reverie.app.memory import OpenMemory


@reverie_command(name="diff")
@click.argument("what", nargs=-1, metavar="[REV] [REV2] [FILE]")
@scope_option
def command(frame: Frame, what: tuple[str, ...], scope: MemoryScope | None) -> None:
    """What changed in memory.

    Nothing given: the last change. REV: all since that revision. REV REV2: from the one to the
    other. FILE (it ends with .md): only that memory; alone, its last change.

    \b
    reverie diff
    reverie diff HEAD~3 project_audit.md
    """
    app = frame.app()
    file = what[-1] if what and what[-1].endswith(".md") else None
    revisions = what if file is None else what[:-1]
    if len(revisions) > 2 or any(one.endswith(".md") for one in revisions):
        raise click.UsageError("give at most two revisions and one file, the file last")
    memory, name = _memory(app, revisions, file, scope)
    old, new = _range(up_to_date(memory), revisions, name)
    patch = memory.history.diff(old, new, name)
    data = {"old": old, "new": new, "file": name, "diff": patch}
    frame.show(data, lambda console: _print(console, patch))


def _memory(
    app: App, revisions: tuple[str, ...], file: str | None, scope: MemoryScope | None
) -> tuple[OpenMemory, str | None]:
    """The memory a file is in, or a revision is of."""
    if file is not None:
        return opened_for(app, file, team=scope == "team")
    if not revisions:
        return opened(app, scope), None
    from reverie.app.memory import with_revision

    return with_revision(private(app, scope), revisions[0])[0], None


def _range(
    memory: OpenMemory, revisions: tuple[str, ...], file: str | None
) -> tuple[str | None, str]:
    """From which revision to which; None is the beginning."""
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
