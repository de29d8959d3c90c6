"""Whether to dream, cheapest question first: one stat on an ordinary turn, rarely a scan, then the lock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from reverie.layers import NotDue
from reverie.ports import Clock

HOUR = 3600.0
SCAN_EVERY = 600.0
# Clocks of machines that share a folder differ a little; a time further ahead is no time.
_AHEAD = 300.0

# When a dream was last completed; one stat.
LastDream: TypeAlias = Callable[[], float | None]
# How many other sessions are newer than a moment; a scan.
SessionsSince: TypeAlias = Callable[[float], int]


@dataclass(frozen=True, slots=True)
class Due:
    """It is time: when we last dreamt (None: never), and how many sessions came since."""

    last: float | None
    sessions: int


@dataclass(frozen=True, slots=True)
class Thresholds:
    hours: float = 24.0
    sessions: int = 5


@dataclass(slots=True)
class Gates:
    """The first two gates of one session; the third is the lock itself."""

    last_dream: LastDream
    sessions_since: SessionsSince
    clock: Clock
    thresholds: Thresholds = field(default_factory=Thresholds)
    _scanned: float | None = None

    def due(self) -> Due | NotDue:
        now = self.clock.now()
        last = self.last_dream()
        if (early := too_early(last, now, self.thresholds.hours)) is not None:
            return early
        if self._scanned is not None and 0 <= now - self._scanned < SCAN_EVERY:
            return NotDue("sessions were counted less than ten minutes ago")
        self._scanned = now
        count = self.sessions_since(last or 0.0)
        if count < self.thresholds.sessions:
            return NotDue(f"{count} of {self.thresholds.sessions} sessions since the last dream")
        return Due(last, count)


def too_early(last: float | None, now: float, hours: float) -> NotDue | None:
    """The time gate; a last dream in the future is a clock that was wrong, and closes nothing."""
    if last is None or last > now + _AHEAD or now - last >= hours * HOUR:
        return None
    return NotDue(f"the last dream was {max(0.0, now - last) / HOUR:.1f} h ago, under {hours:g} h")
