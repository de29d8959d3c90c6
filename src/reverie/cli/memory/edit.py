"""`reverie edit`: change a memory in an editor; unsaved text is kept as a draft."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import (
    PERSON,
    handle,
    label,
    opened_for,
    shown_path,
    team_option,
    undo_hint,
    up_to_date,
)
from reverie.errors import InputError, WriteConflict
from reverie.files.folders import make_private
from reverie.memory.format.topic import render
from reverie.workspace.editing import base_of, save_edit

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.format.revisions import Revision
    from reverie.memory.opening import OpenMemory


class DraftFile:
    """The file the editor opens for one memory, and the version it was made from."""

    def __init__(self, state: Path, name: str) -> None:
        self.path = state / "drafts" / name.replace("/", "__")
        self._base = self.path.with_name(f".{self.path.name}.base")

    @property
    def waiting(self) -> bool:
        """Whether there is unsaved text from an earlier edit."""
        return self.path.is_file()

    @property
    def base(self) -> str:
        return self._base.read_text("utf-8").strip() if self._base.is_file() else ""

    def write(self, data: bytes, version: str) -> None:
        make_private(self.path.parent)
        self.path.touch(mode=0o600)
        self.path.write_bytes(data)
        self.rebase(version)

    def replace(self, data: bytes) -> None:
        """Replace the text; the base version stays the same."""
        self.path.write_bytes(data)

    def rebase(self, version: str) -> None:
        """Base the draft on a newer version; the user was result about it."""
        self._base.write_text(version, "utf-8")

    def read(self) -> bytes:
        return self.path.read_bytes()

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._base.unlink(missing_ok=True)


@reverie_command(name="edit")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option("--fresh", is_flag=True, help="Discard unsaved text from last time.")
@team_option
def command(frame: Invocation, what: tuple[str, ...], fresh: bool, team: bool) -> None:
    """Change a memory in your editor ($VISUAL, $EDITOR).

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    The text is checked when you save. If it cannot be saved (broken frontmatter, too large, the
    memory changed meanwhile), it stays in a file that the next `reverie edit` opens again.

    \b
    EDITOR=nano reverie edit project_audit.md
    """
    app = frame.app()
    memory, name = opened_for(app, handle(what), team=team)
    up_to_date(memory)
    draft = DraftFile(memory.place.state, name)
    _begin(memory, draft, name, shown_path(app, draft.path), fresh=fresh)
    problem, data = _edited(memory, draft, name)
    while problem is not None:
        click.echo(f"reverie: {printable(problem)}", err=True)
        click.echo(printable(f"  your text is kept in {shown_path(app, draft.path)}"), err=True)
        if not (_at_terminal() and click.confirm("Open it again?", default=True, err=True)):
            click.echo(printable(f"  continue with: reverie edit {label(memory, name)}"), err=True)
            frame.show({**data, "problem": problem, "draft": str(draft.path)}, lambda console: None)
            click.get_current_context().exit(1)
        problem, data = _edited(memory, draft, name)
    frame.show(data, lambda console: _print(console, data, memory))


def _begin(memory: OpenMemory, draft: DraftFile, name: str, shown: str, *, fresh: bool) -> None:
    if draft.waiting and not fresh:
        note = f"note: continuing {shown}, which was not saved last time"
        click.echo(printable(note), err=True)
        click.echo("  to start again from the memory: --fresh", err=True)
        return
    stored = memory.keeper.require(name)
    draft.write(render(stored.topic), stored.version)


def _open(draft: DraftFile) -> str | None:
    """Run the editor; return what went wrong with it, if anything."""
    from reverie.settings.neighbours import editor

    command = [*editor(), str(draft.path)]
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        return f"cannot start the editor {command[0]!r} ({error.strerror}); set VISUAL or EDITOR"
    return f"the editor ended with {code}; nothing was saved" if code else None


def _edited(memory: OpenMemory, draft: DraftFile, name: str) -> tuple[str | None, dict[str, Any]]:
    """Edit once. Return why the text could not be saved, or None, and the result."""
    failed = _open(draft)
    found = memory.scrubber.scrub(draft.read().decode("utf-8", "surrogateescape"))
    if found.kinds:
        # A draft that cannot be saved may stay for long: keep no secrets in it.
        draft.replace(found.text.encode("utf-8", "surrogateescape"))
    data = draft.read()
    base = base_of(memory, name, draft.base)
    result: dict[str, Any] = {"file": label(memory, name), "saved": False, "revision": None}
    if data == render(base.topic):
        draft.discard()
        if failed is not None:
            raise InputError(failed)
        return None, result | {"secrets": [], "warnings": []}
    if failed is not None:
        return failed, result
    try:
        edited = save_edit(memory, base, data, PERSON)
    except WriteConflict as conflict:
        return _conflict(memory, draft, conflict), result
    except InputError as error:
        return str(error), result
    draft.discard()
    revision = edited.revision
    result |= {"secrets": list(found.kinds), "warnings": list(edited.topic.warnings)}
    return None, result | {"saved": True, "revision": revision.id if revision else None}


def _conflict(memory: OpenMemory, draft: DraftFile, conflict: WriteConflict) -> str:
    """Describe the conflict, and rebase the draft so that saving again overwrites the change."""
    from reverie.memory.format.revisions import version

    if conflict.current is None:
        return f"{conflict.file} was removed meanwhile; to save it anew: reverie remember - < FILE"
    draft.rebase(version(conflict.current))
    up_to_date(memory)
    return (
        f"{conflict.file} was changed meanwhile in the same place; look at it with "
        f"`reverie show {conflict.file}`, merge the two, and save again"
    )


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _print(console: Console, data: dict[str, Any], memory: OpenMemory) -> None:
    if not data["saved"]:
        console.print("Nothing changed.")
        return
    console.print(printable(f"Saved {data['file']}"), soft_wrap=True)
    for warning in data["warnings"]:
        console.print(printable(f"  note: {warning}"), soft_wrap=True)
    if data["secrets"]:
        console.print(f"  removed a secret ({', '.join(data['secrets'])})")
    if data["revision"]:
        made: Revision = memory.history.revision(data["revision"])
        console.print(f"  {undo_hint(made, team=memory.team)}")
