"""`reverie adopt`: use a memory directory that exists elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import shown_path
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.workspace import Workspace

CLAUDE_CODE = "claude-code"


@reverie_command(name="adopt")
@click.argument("what", required=False, metavar="[claude-code|PATH]")
@click.option(
    "--from", "old", metavar="OLD", help="Continue the memory this project had at another path."
)
@click.option("--undo", "back", is_flag=True, help="Use this project's own memory again.")
@click.option("--anyway", is_flag=True, help="Even if memories saved here become hidden.")
def command(frame: Invocation, what: str | None, old: str | None, back: bool, anyway: bool) -> None:
    """Use a memory that exists elsewhere, in place.

    claude-code is the directory Claude Code keeps for this project; PATH is any memory directory.
    Its files stay where and as they are; history and indexes are kept outside of it. Without
    arguments, it lists what could be adopted.

    \b
    reverie adopt claude-code
    reverie adopt --from /home/me/old-place
    reverie adopt --undo
    """
    if sum((what is not None, old is not None, back)) > 1:
        raise click.UsageError("give claude-code, a PATH, --from or --undo: one of them")
    app = frame.app()
    if back:
        left = app.adoption.give_back()
        _report(frame, app, f"{left} is no longer used; nothing in it was changed.")
        return
    if what is None and old is None:
        _offer(frame, app)
        return
    directory = _directory(app, what) if what is not None else None
    _require_free(app, anyway=anyway)
    if directory is not None:
        app.adoption.adopt(directory)
        _report(frame, app, "Adopted, in place.")
    else:
        app.adoption.continue_from(old or "")
        _report(frame, app, f"Continuing the memory of {old}.")


def _directory(app: Workspace, what: str) -> Path:
    if what != CLAUDE_CODE:
        return Path(what).expanduser()
    found = app.claude_memory()
    if found is None:
        raise InputError(
            f"Claude Code has no memory directory for {app.project.root}; "
            "if it is elsewhere, give its path"
        )
    return found


def _require_free(app: Workspace, *, anyway: bool) -> None:
    chosen = app.settings.origin("memory_directory")
    if app.settings.memory_directory is not None:
        raise InputError(
            f"memory_directory is set ({chosen}) and overrides an adopted memory; remove it first"
        )
    count = len(app.memory().store.entries())
    if count and not anyway and not app.adoption.current:
        raise InputError(
            f"{counted(count, 'memory', 'memories')} saved here would become hidden; take them along: "
            "`reverie export mine.zip`, `reverie adopt … --anyway`, `reverie import mine.zip`"
        )


def _report(frame: Invocation, app: Workspace, done: str) -> None:
    memory = app.memory()
    data = {
        "directory": str(memory.place.directory),
        "state": str(memory.place.state),
        "linked": app.adoption.current,
        "memories": len(memory.store.entries()),
    }
    frame.show(data, lambda console: _print(console, app, data, done))


def _print(console: Console, app: Workspace, data: dict[str, Any], done: str) -> None:
    console.print(printable(done), soft_wrap=True)
    console.print(
        f"  memory: {shown_path(app, Path(data['directory']))} ({counted(data['memories'], 'memory', 'memories')})",
        soft_wrap=True,
    )
    console.print(f"  history and indexes: {shown_path(app, Path(data['state']))}", soft_wrap=True)
    if data["linked"]:
        console.print("  go back with: reverie adopt --undo")


def _offer(frame: Invocation, app: Workspace) -> None:
    claude = app.claude_memory()
    offers = [{"adopt": CLAUDE_CODE, "directory": str(claude)}] if claude else []
    for folder, identity in app.adoption.former():
        offers.append({"adopt": f"--from {folder.name}", "directory": identity.root})
    data = {"linked": app.adoption.current, "offers": offers}

    def human(console: Console) -> None:
        if data["linked"]:
            console.print(
                f"This project uses {data['linked']} (go back with --undo).", soft_wrap=True
            )
        elif not offers:
            console.print("There is nothing to adopt for this project.")
        for offer in offers:
            console.print(
                printable(f"reverie adopt {offer['adopt']}  ({offer['directory']})"), soft_wrap=True
            )

    frame.show(data, human)
