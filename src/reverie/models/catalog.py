"""The built-in model table: windows, prices, cache rules and thinking rules.

Prices are US dollars per million tokens as published by 2026-11. A model that is not listed still
works: its provider's models endpoint and the settings supply the missing values.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

from reverie.core.usage import Prices
from reverie.core.window import CacheRules, Capabilities

Kind: TypeAlias = Literal["anthropic", "openai"]

LARGE = 1_000_000
# The factor on all prices that Anthropic and OpenAI charge for requests in a batch.
BATCH_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """One model as its provider documents it."""

    name: str
    kind: Kind
    capabilities: Capabilities
    prices: Prices | None


# Thinking modes a request may ask for, by model generation.
_EXTENDED = frozenset({"off", "budget"})
_ADAPTIVE = frozenset({"off", "adaptive"})
_ALWAYS = frozenset({"adaptive"})
_BETWEEN = frozenset({"off", "adaptive", "between_tools"})


def _claude(  # noqa: PLR0913 - a row has its columns
    name: str,
    prices: Prices,
    *,
    window: int = LARGE,
    output: int = 128_000,
    minimum: int = 1024,
    thinking: frozenset[str] = _ADAPTIVE,
    bound: bool = False,
    system_messages: bool = True,
    compaction: bool = True,
) -> Row:
    cache = CacheRules("explicit", minimum=minimum)
    capabilities = Capabilities(
        window=window,
        max_output=output,
        cache=cache,
        thinking=thinking,
        thinking_bound=bound,
        effort=thinking is not _EXTENDED,
        json_schema=True,
        context_management=True,
        compaction=compaction,
        system_messages=system_messages,
    )
    return Row(name, "anthropic", capabilities, prices)


def _gpt(name: str, input: float, output: float, *, writes: bool = False) -> Row:
    prices = Prices(input, output, input * 0.1, input * (1.25 if writes else 1), input)
    cache = CacheRules("automatic", minimum=1024, step=128, ttl_seconds=1800.0 if writes else 300.0)
    capabilities = Capabilities(
        window=LARGE,
        max_output=128_000,
        cache=cache,
        thinking=frozenset({"off", "adaptive"}),
        effort=True,
        json_schema=True,
        compaction=True,
        system_messages=True,
    )
    return Row(name, "openai", capabilities, prices)


_HAIKU_LONG = Prices.of(0.5, 2.5)
_HAIKU = Prices(0.1, 0.5, 0.01, 0.125, 0.2, long_above=100_000, long=_HAIKU_LONG)

# Minimum cacheable sizes of the 5.1, 5.2 and 5.5 models are not published; 1,024 is the value of
# most of their predecessors. Binding of thinking on Opus 5.5 and Haiku 5.5 is inferred: treating
# it as bound costs a stripped block, the opposite mistake costs a refused request.
ROWS: tuple[Row, ...] = (
    _claude("claude-fable-5-2", Prices.of(10, 50, read=0.025), thinking=_ALWAYS, bound=True),
    _claude("claude-fable-5-1", Prices.of(10, 50, read=0.025), thinking=_ALWAYS, bound=True),
    _claude("claude-fable-5", Prices.of(10, 50), minimum=512),
    _claude("claude-opus-5-5", Prices.of(4, 20, read=0.05), thinking=_ALWAYS, bound=True),
    _claude("claude-opus-5", Prices.of(5, 25), minimum=512),
    _claude("claude-opus-4-8", Prices.of(5, 25)),
    _claude("claude-opus-4-7", Prices.of(5, 25), minimum=2048, system_messages=False),
    _claude("claude-opus-4-6", Prices.of(5, 25), minimum=4096, system_messages=False),
    _claude(
        "claude-opus-4-5",
        Prices.of(5, 25),
        window=200_000,
        output=64_000,
        minimum=4096,
        thinking=_EXTENDED,
        system_messages=False,
        compaction=False,
    ),
    _claude(
        "claude-sonnet-5-5",
        Prices.of(2, 10, read=0.05),
        thinking=_BETWEEN,
        bound=True,
    ),
    _claude("claude-sonnet-5", Prices.of(2, 10), system_messages=False),
    _claude("claude-sonnet-4-6", Prices.of(3, 15), system_messages=False),
    _claude(
        "claude-sonnet-4-5",
        Prices.of(3, 15),
        window=200_000,
        output=64_000,
        thinking=_EXTENDED,
        system_messages=False,
        compaction=False,
    ),
    _claude("claude-haiku-5-5", _HAIKU, bound=True),
    _claude(
        "claude-haiku-4-5",
        Prices.of(1, 5),
        window=200_000,
        output=64_000,
        minimum=4096,
        thinking=_EXTENDED,
        system_messages=False,
        compaction=False,
    ),
    _gpt("gpt-5.6-sol", 5, 30, writes=True),
    _gpt("gpt-5.6-terra", 2.5, 15, writes=True),
    _gpt("gpt-5.6-luna", 1, 6, writes=True),
    _gpt("gpt-5.5", 5, 30),
    _gpt("gpt-5.4", 2.5, 15),
    _gpt("gpt-5.4-mini", 0.75, 4.5),
    _gpt("gpt-5.4-nano", 0.2, 1.25),
)

_BY_NAME = {row.name: row for row in ROWS}


def find(name: str) -> Row | None:
    """The row of a model, also by a dated name such as claude-opus-4-5-20251101."""
    row = _BY_NAME.get(name)
    if row is None and name.rpartition("-")[2].isdigit() and len(name.rpartition("-")[2]) == 8:
        row = _BY_NAME.get(name.rpartition("-")[0])
    return row


def batch_prices(prices: Prices | None) -> Prices | None:
    """What a model costs in a batch; None if its price is not known."""
    return prices.scaled(BATCH_SHARE) if prices else None


def similar(name: str) -> list[str]:
    """Known names that are close to a mistyped one."""
    return get_close_matches(name, _BY_NAME, n=3, cutoff=0.5)
