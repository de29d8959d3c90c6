"""Tokens a call used, normalised across providers, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

PER_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; `input` excludes what was read from or written to the cache."""

    input: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0

    @property
    def cache_write(self) -> int:
        return self.cache_write_5m + self.cache_write_1h

    @property
    def prompt(self) -> int:
        """All tokens that were sent."""
        return self.input + self.cache_read + self.cache_write

    @property
    def context(self) -> int:
        """The size of the conversation after the reply."""
        return self.prompt + self.output

    @property
    def hit_rate(self) -> float:
        """The share of the prompt that came from the cache."""
        return self.cache_read / self.prompt if self.prompt else 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.output + other.output,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens. Prompts larger than `long_above` are priced by `long`."""

    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    long_above: int | None = None
    long: Prices | None = None

    @classmethod
    def of(cls, input: float, output: float, *, read: float = 0.1) -> Prices:
        """The usual ratios of explicit caches: writes at ×1.25 (5 min) and ×2 (1 h)."""
        return cls(input, output, input * read, input * 1.25, input * 2)

    @property
    def dearest_input(self) -> float:
        return max(self.input, self.cache_write_5m, self.cache_write_1h)

    def tier(self, prompt: int) -> Prices:
        if self.long is not None and self.long_above is not None and prompt > self.long_above:
            return self.long
        return self

    def scaled(self, factor: float) -> Prices:
        """The same prices times a factor, as providers charge for a batch."""
        return Prices(
            self.input * factor,
            self.output * factor,
            self.cache_read * factor,
            self.cache_write_5m * factor,
            self.cache_write_1h * factor,
            self.long_above,
            self.long.scaled(factor) if self.long else None,
        )

    def cost(self, usage: Usage) -> float:
        """Dollars for one call. Tiers depend on the call's prompt, so sums of usage cannot be priced."""
        rate = self.tier(usage.prompt)
        return (
            usage.input * rate.input
            + usage.cache_read * rate.cache_read
            + usage.cache_write_5m * rate.cache_write_5m
            + usage.cache_write_1h * rate.cache_write_1h
            + usage.output * rate.output
        ) / PER_MILLION

    def ceiling(self, prompt: int, max_output: int) -> float:
        """The most a call of this size can cost: nothing cached, every output token used."""
        rate = self.tier(prompt)
        return (prompt * rate.dearest_input + max_output * rate.output) / PER_MILLION


FREE = Prices(0.0, 0.0, 0.0, 0.0, 0.0)

# main, recall, extract, notes, compact, dream, summary, agent:NAME
Purpose: TypeAlias = str

MAIN: Purpose = "main"
DREAM: Purpose = "dream"
EXTRACT: Purpose = "extract"


@dataclass(frozen=True, slots=True)
class Entry:
    """One model call on the ledger. The cost is None when the model's price is unknown."""

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
    """Dollars already spent or reserved for running calls."""

    day: float = 0.0
    session: float = 0.0
    purpose: float = 0.0


@dataclass(frozen=True, slots=True)
class Allowed:
    """The call may be made; `warning` names a cap that it exceeds, if exceeding is allowed.

    `ticket` identifies the reservation, which is settled with the actual cost.
    """

    warning: str = ""
    ticket: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """The call may not be made; a call of up to `left` dollars may."""

    reason: str
    left: float = 0.0


Decision: TypeAlias = Allowed | Refused


def decide(purpose: Purpose, ceiling: float, spent: Spent, caps: Caps) -> Decision:
    """Whether a call that can cost up to `ceiling` may be made without exceeding a cap."""
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
