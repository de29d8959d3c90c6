"""Whether to compact now. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reverie.core.spend import MAIN, Purpose
from reverie.core.window import Window
from reverie.layers import NotDue

Trigger: TypeAlias = Literal["automatic", "manual", "reactive"]

MOST_FAILURES = 3

# Side calls on somebody's conversation: a fork that compacted would forget its own task.
_SIDE_CALLS = frozenset({"compact", "notes", "extract", "recall", "summary"})


@dataclass(frozen=True, slots=True)
class Due:
    """Compact, and why."""

    reason: str


def due(
    tokens: int,
    window: Window,
    failures: int,
    *,
    enabled: bool,
    querying: Purpose = MAIN,
    manual: bool = False,
) -> Due | NotDue:
    """Past the threshold, unless it is off, failed three times in a row, or a fork asks."""
    if querying in _SIDE_CALLS:
        return NotDue(f"{querying} works on another's conversation")
    if manual:
        return Due("it was asked for")
    if not enabled:
        return NotDue("it is switched off (features.autocompact)")
    if failures >= MOST_FAILURES:
        return NotDue(f"it failed {failures} times in a row; it is off for this session")
    if tokens < window.compaction:
        return NotDue(f"{tokens:,} of {window.compaction:,} tokens")
    return Due(f"{tokens:,} tokens passed {window.compaction:,}")
