"""What speaks for or against a memory before the question is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

DAY = 86_400.0

# In standard deviations of the fused score: enough to settle a draw, or to sink what is outdated.
_SUPERSEDED = -1.5
_EXPIRED = -1.0
_NOT_YET = -0.5
_PINNED = 0.4
_RECENCY = 0.2
_RECENCY_DAYS = 60.0
_USE = 0.15
_MOST_USE = 0.6
_DOUBT = 1.0
_USUAL_CONFIDENCE = 0.8
_TYPES: Mapping[str, float] = {"feedback": 0.1, "user": 0.05}


@dataclass(frozen=True, slots=True)
class Standing:
    """What a memory's frontmatter says about its worth."""

    type: str | None
    created: float | None
    valid_from: float | None
    valid_until: float | None
    confidence: float | None
    superseded: bool
    pinned: bool
    archived: bool

    def label(self, now: float) -> str:
        """What a reader must know before relying on it."""
        if self.archived:
            return "archived"
        if self.superseded:
            return "superseded"
        if self.valid_until is not None and self.valid_until <= now:
            return "expired"
        if self.valid_from is not None and self.valid_from > now:
            return f"from {datetime.fromtimestamp(self.valid_from).astimezone():%Y-%m-%d}"
        doubtful = self.confidence is not None and self.confidence < 0.5
        return "low confidence" if doubtful else ""


def _outdated(standing: Standing, now: float) -> float:
    over = standing.valid_until is not None and standing.valid_until <= now
    return _SUPERSEDED * bool(standing.superseded) + _EXPIRED * over


def prior(standing: Standing, now: float, uses: int, *, former: bool = False) -> float:
    """The sum of all that speaks for and against; a question about what was sees it unpenalised."""
    total = _TYPES.get(standing.type or "", 0.0) + _PINNED * bool(standing.pinned)
    total += _outdated(standing, now) if not former else 0.0
    if standing.valid_from is not None and standing.valid_from > now:
        total += _NOT_YET
    if standing.confidence is not None:
        total += _DOUBT * min(0.0, standing.confidence - _USUAL_CONFIDENCE)
    if standing.created is not None:
        age = max(0.0, now - standing.created) / DAY
        total += _RECENCY * math.exp(-age / _RECENCY_DAYS)
    return total + min(_MOST_USE, _USE * math.log1p(max(0, uses)))
