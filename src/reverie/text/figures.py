"""Figures as people read them: counts, tokens, dollars, shares, times, sparklines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

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
