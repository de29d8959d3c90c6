"""Money: what a call was for, what it cost, and whether the next one may be made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from reverie.core.usage import Usage

# main, recall, extract, notes, compact, dream, summary, agent:NAME
Purpose: TypeAlias = str

MAIN: Purpose = "main"
DREAM: Purpose = "dream"
EXTRACT: Purpose = "extract"


@dataclass(frozen=True, slots=True)
class Entry:
    """One model call on the ledger. The cost is None when nobody knows the model's price."""

    at: float
    purpose: Purpose
    session: str
    model: str
    usage: Usage
    cost: float | None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits in US dollars; None is no limit. Purpose caps hold per day."""

    day: float | None = None
    session: float | None = None
    purpose: Mapping[Purpose, float] = field(default_factory=dict)
    main_stops: bool = False

    @property
    def any(self) -> bool:
        return self.day is not None or self.session is not None or bool(self.purpose)


@dataclass(frozen=True, slots=True)
class Spent:
    """Dollars already spent or promised to calls under way."""

    day: float = 0.0
    session: float = 0.0
    purpose: float = 0.0


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may be made; `warning` says which cap it passes, where passing is allowed.

    `ticket` names the reservation, to be settled with what the call really cost.
    """

    warning: str = ""
    ticket: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call may not be made; a smaller one may, if `left` dollars suffice for it."""

    reason: str
    left: float = 0.0


Decision: TypeAlias = Allowed | Refused


def decide(purpose: Purpose, ceiling: float, spent: Spent, caps: Caps) -> Decision:
    """May a call that can cost up to `ceiling` be made? Decided before it, so a cap is never passed."""
    checks = (
        ("day", spent.day, caps.day, "spend.day"),
        ("session", spent.session, caps.session, "spend.session"),
        (
            f"{purpose} per day",
            spent.purpose,
            caps.purpose.get(purpose),
            f"spend.purpose.{purpose}",
        ),
    )
    for name, used, cap, setting in checks:
        if cap is not None and used + ceiling > cap:
            reason = (
                f"the {name} cap of ${cap:.2f} could be passed: ${used:.4f} is spent and this "
                f"{purpose} call may cost up to ${ceiling:.4f}; raise {setting} to allow it"
            )
            may_pass = purpose == MAIN and not caps.main_stops
            left = min(limit - spent_ for _, spent_, limit, _ in checks if limit is not None)
            return Allowed(reason) if may_pass else Refused(reason, left)
    return Allowed()
