"""Formatting for the terminal: tokens, dollars, shares, times, sparklines, patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import TYPE_CHECKING, Literal

import click

from reverie.core.foreign_text import printable, printable_json

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

_BARS = "▁▂▃▄▅▆▇█"


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 memory`, `2 memories`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def tokens(count: float) -> str:
    if count >= 10_000_000:
        return f"{count / 1_000_000:.0f}M"
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}M"
    return f"{count / 1000:.1f}k" if count >= 10_000 else f"{count:,.0f}"


def dollars(amount: float | None) -> str:
    if amount is None:
        return "?"
    return f"${amount:,.2f}" if amount >= 1 or amount == 0 else f"${amount:.4f}"


def share(part: float) -> str:
    return f"{part * 100:.1f} %"


def when(at: float) -> str:
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M") if at else "–"
    except (ValueError, OverflowError, OSError):
        # Out of range: the file may have been written by another program.
        return "?"


def sparkline(values: Sequence[float]) -> str:
    """One character per value, scaled to the largest value."""
    top = max(values, default=0)
    if top <= 0:
        return _BARS[0] * len(values)
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in values)


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
