"""Tokens a call used, normalised across providers, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass

PER_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """`input` holds only what was neither read from nor written to the cache."""

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
        """Everything that was sent."""
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

    def cost(self, usage: Usage) -> float:
        """Dollars for one call; tiers go by the prompt of that call, so never price a sum."""
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
