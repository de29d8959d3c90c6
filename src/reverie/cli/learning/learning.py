"""`reverie learning`: what you want remembered and what never, in your own words."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

TEMPLATE = """\
# What to learn

What should be remembered here, in your own words. A model that learns or dreams reads all of it.

## Always keep

## Never keep

"""


@reverie_command(name="learning")
@click.option("--edit", is_flag=True, help="Open it in your editor ($VISUAL, $EDITOR).")
@click.option("--here", is_flag=True, help="The one for this project's memory alone.")
def command(frame: Invocation, edit: bool, here: bool) -> None:
    """Show or edit what you want remembered and what never, in your own words.

    There is one file for all projects and one for this project's memory, both among Reverie's own
    files, so that a repository cannot change them. Models that learn or dream read them. Short
    lines of plain words under a heading with "never" also apply without a model: text that contains
    such a phrase is not remembered.

    \b
    reverie learning
    reverie learning --edit
    reverie learning --edit --here
    """
    from reverie.learning.service import instructions_for, learning_files

    app = frame.app()
    memory = app.memory()
    everywhere, only_here = learning_files(app.settings, memory).values()
    if edit:
        _open(only_here if here else everywhere)
    instructions = instructions_for(app.settings, memory)
    data = {
        "files": [{"path": str(path), "text": _text(path)} for path in (everywhere, only_here)],
        "never": list(instructions.never),
        "notes": list(instructions.notes),
    }
    frame.show(data, lambda console: _print(console, data))


def _open(path: Path) -> None:
    from reverie.files.folders import make_private
    from reverie.settings.neighbours import editor

    make_private(path.parent)
    fresh = not path.exists()
    if fresh:
        path.touch(mode=0o600)
        path.write_text(TEMPLATE, "utf-8")
    line = [*editor(), str(path)]
    try:
        code = subprocess.run(line, check=False).returncode
    except OSError as error:
        raise InputError(
            f"cannot start the editor {line[0]!r} ({error.strerror}); set VISUAL or EDITOR"
        ) from error
    finally:
        # An unchanged template would only cost tokens.
        if fresh and path.exists() and path.read_text("utf-8", "replace") == TEMPLATE:
            path.unlink()
    if code:
        raise InputError(f"the editor ended with {code}; {path} is as you left it")


def _text(path: Path) -> str | None:
    return path.read_text("utf-8", "replace") if path.is_file() else None


def _print(console: Console, data: dict[str, Any]) -> None:
    for one in data["files"]:
        console.print(printable(one["path"]), soft_wrap=True)
        text = "  (not written yet)" if one["text"] is None else one["text"].rstrip()
        console.print(printable(text), soft_wrap=True)
    phrases = ", ".join(f"“{phrase}”" for phrase in data["never"]) or "none"
    console.print(printable(f"Phrases that also apply without a model: {phrases}"), soft_wrap=True)
    for note in data["notes"]:
        console.print(printable(f"note: {note}"), soft_wrap=True)
    console.print("change it with: reverie learning --edit [--here]")
