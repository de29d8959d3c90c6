"""Formatting for the terminal: tokens, dollars, shares, times, sparklines, patches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from typing import TYPE_CHECKING, Literal

import click

from reverie.core.foreign_text import printable, printable_json
from reverie.text.figures import counted, dollars, share, sparkline, tokens, when

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Finding",
    "counted",
    "date_option",
    "dollars",
    "late_recall",
    "print_patch",
    "printable",
    "printable_json",
    "share",
    "sparkline",
    "tokens",
    "when",
]


def late_recall(seconds: float) -> str:
    return f"recall took longer than {seconds:g} s (recall.deadline); answering without it"


def date_option(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Parse a date: `2026-03-01` is the end of that day, `2026-03-01T14:30` that minute, local time."""
    if value is None:
        return None
    text = value.strip()
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a date; write it like 2026-03-01 or 2026-03-01T14:30"
        ) from None
    if len(text) <= len("2026-03-01"):
        parsed = datetime.combine(parsed.date(), time.max)
    return parsed.astimezone()


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_HEADS = ("diff --git", "index ", "--- ", "+++ ", "new file", "deleted file", "\\ No newline")


def print_patch(console: Console, patch: str) -> None:
    """Print a patch line by line, with git's header lines dimmed."""
    from rich.text import Text

    for line in patch.split("\n")[:-1] if patch.endswith("\n") else patch.split("\n"):
        style = "dim" if line.startswith(_HEADS) else _COLOURS.get(line[:1], "")
        console.print(Text(printable(line), style), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `advice` says what to do about it."""

    state: Literal["ok", "note", "wrong"]
    what: str
    advice: str = ""
