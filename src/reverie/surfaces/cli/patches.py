"""Patches on a screen: what was added, what was removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.surfaces.cli.figures import printable

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_HEADS = ("diff --git", "index ", "--- ", "+++ ", "new file", "deleted file", "\\ No newline")


def print_patch(console: Console, patch: str) -> None:
    """Line by line; the plumbing of git is dimmed."""
    from rich.text import Text

    for line in patch.split("\n")[:-1] if patch.endswith("\n") else patch.split("\n"):
        style = "dim" if line.startswith(_HEADS) else _COLOURS.get(line[:1], "")
        console.print(Text(printable(line), style), soft_wrap=True)
