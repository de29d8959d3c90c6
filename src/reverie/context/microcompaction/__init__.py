"""Layer 2: clears old tool results without summarising anything, and decides when clearing a batch of them pays.

There are four ways, depending on the provider and the state of the cache:

    time     after an hour's pause the cache has expired: clearing old results costs nothing
    cached   the provider drops results from its cached prefix; the messages here stay unchanged
    server   the provider clears by itself, as set when the session opened (`context_edits`)
    batch    otherwise: many results at once, rarely, when it saves more than it costs

Only results of tools that can be run again are cleared, and never one the model has not seen yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias, assert_never

from reverie.context import NotDue
from reverie.context.microcompaction.ledger import (
    COMPACTABLE,
    Held,
    ToolResultLedger,
    compactable,
    context_edits,
)
from reverie.context.previews import outline_line
from reverie.core.usage import PER_MILLION, Prices
from reverie.core.window import TTL_SECONDS, Capabilities, Ttl, Window, text_tokens
from reverie.events import Announce, LayerFired, no_listener


@dataclass(frozen=True, slots=True)
class RequestConditions:
    """The conditions right before a request.

    `context` is the best known size of the whole prompt. `main` is false for forks, which must not
    change the prefix they share. `spent` is what the session has cost so far, in dollars, if known.
    """

    now: float
    context: int
    window: Window
    capabilities: Capabilities
    prices: Prices | None = None
    ttl: Ttl = "5m"
    main: bool = True
    spent: float | None = None

    @property
    def pressed(self) -> bool:
        return self.window.state(self.context) != "ok"

    @property
    def life(self) -> float:
        """How long the provider keeps an unused prefix, in seconds."""
        cache = self.capabilities.cache
        return TTL_SECONDS[self.ttl] if cache.kind == "explicit" else cache.ttl_seconds

    def idle(self, since: float | None) -> float:
        """Seconds since then; 0 when there was no reply yet."""
        return 0.0 if since is None else self.now - since

    @property
    def rates(self) -> Prices | None:
        return self.prices.tier(self.context) if self.prices is not None else None


# The sizes below are meant for windows of at least this size.
FULL_WINDOW = 200_000
# How many of the newest results stay even in the smallest window.
FEWEST_KEPT = 3


@dataclass(frozen=True, slots=True)
class Policy:
    """The switches and their thresholds.

    time       after a pause of `idle_seconds`, keep the newest `keep`
    cached     past `live_above` results, or when the window fills up, ask the provider to drop all
               but the newest `keep`
    batch      when it pays: at least `least_freed` tokens, worth `margin` times what they cost;
               never the newest `keep` nor the newest `keep_tokens`

    The last two leave a context under `least_context` alone. `calls` is the number of requests that
    a batch is weighed over. `budget` is the most a batch may cost, in dollars, and `share` the most
    as a share of what the session has paid so far.
    """

    time: bool = False
    cached: bool = True
    batch: bool = True
    keep: int = 3
    idle_seconds: float = 3_600.0
    live_above: int = 20
    least_context: int = 40_000
    least_freed: int = 1_000
    keep_tokens: int = 0
    margin: float = 1.0
    calls: int = 10
    budget: float = math.inf
    share: float = math.inf

    def allowed(self, spent: float | None) -> float:
        """The dollars that one batch may cost in a session that has paid `spent`."""
        return self.budget if spent is None else min(self.budget, self.share * spent)

    def fitting(self, window: Window) -> Policy:
        """The same policy with its sizes scaled down to a smaller window."""
        share = min(1.0, window.tokens / FULL_WINDOW)
        return replace(
            self,
            keep=max(min(self.keep, FEWEST_KEPT), int(self.keep * share)),
            least_context=int(self.least_context * share),
            least_freed=int(self.least_freed * share),
            keep_tokens=int(self.keep_tokens * share),
        )


# Providers with a cache charge in about these proportions.
USUAL_RATES = Prices.of(1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Batch:
    """Results to clear, oldest first; `rewritten` tokens must be written to the cache again."""

    results: tuple[Held, ...]
    rewritten: int
    why: str


@dataclass(frozen=True, slots=True)
class TokenValue:
    """Dollars per million tokens: saved by freed tokens, and paid for rewritten ones."""

    freed: float
    rewritten: float


def batch(
    ledger: ToolResultLedger, conditions: RequestConditions, policy: Policy
) -> Batch | NotDue:
    """Return the batch that saves most. Unknown prices are assumed only when the window fills up."""
    if conditions.context < policy.least_context:
        return NotDue(f"a context of {conditions.context:,} tokens is left alone")
    least = policy.least_freed
    too_little = NotDue(f"old tool results hold less than {least:,} tokens")
    if ledger.gain < least:
        return too_little
    old = ledger.held[: clearable(ledger, policy.keep, policy.keep_tokens)]
    candidates = [held for held in old if not ledger.about_to_be_edited(held)]
    freed = sum(held.gain for held in candidates)
    if freed < least:
        return too_little
    value = token_value(ledger, conditions, policy)
    if value is None:
        return NotDue("the window has room, and prices are not known")
    return _paying(ledger, candidates, least, value, conditions, policy)


def clearable(ledger: ToolResultLedger, keep: int, keep_tokens: int = 0) -> int:
    """How many of the oldest results may be cleared: not the newest, and none the model never saw."""
    end = len(ledger.held)
    kept = tokens = 0
    while end:
        newest = ledger.held[end - 1]
        if kept >= max(keep, 1) and tokens >= keep_tokens and newest.place < ledger.seen:
            break
        end -= 1
        kept += 1
        tokens += newest.tokens
    return end


def token_value(
    ledger: ToolResultLedger, conditions: RequestConditions, policy: Policy
) -> TokenValue | None:
    """Return what tokens are worth now; None when prices are unknown and the window has room."""
    rates = conditions.rates
    if rates is None or not rates.input:
        if not conditions.pressed:
            return None
        rates = USUAL_RATES
    calls = policy.calls
    if conditions.capabilities.cache.kind == "none":
        return TokenValue((calls + 1) * rates.input, 0.0)
    write = rates.cache_write_5m
    if conditions.idle(ledger.replied_at) > conditions.life:
        return TokenValue(write + calls * rates.cache_read, 0.0)
    return TokenValue((calls + 1) * rates.cache_read, max(0.0, write - rates.cache_read))


def _paying(
    ledger: ToolResultLedger,
    candidates: Sequence[Held],
    least: int,
    value: TokenValue,
    conditions: RequestConditions,
    policy: Policy,
) -> Batch | NotDue:
    """Find the first result from which clearing saves most, net of its cost and the margin."""
    saves, costs = value.freed, policy.margin * value.rewritten
    best: tuple[int, int, int] | None = None
    most, freed = 0.0, 0
    places = _found_places(ledger, candidates, conditions)
    for i in range(len(candidates) - 1, -1, -1):
        freed += candidates[i].gain
        behind = max(0, ledger.seen - places[i] - freed)
        net = freed * saves - behind * costs
        if freed >= least and net > most:
            best, most = (i, behind, freed), net
    if best is None:
        return NotDue("clearing old tool results would cost more than it saves")
    first, rewritten, cleared = best
    allowed = policy.allowed(conditions.spent)
    # When the window fills up, the alternative is a compaction, which costs more.
    if not conditions.pressed and rewritten * value.rewritten > allowed * PER_MILLION:
        return NotDue(f"clearing may cost at most ${allowed:.3f} now")
    why = (
        f"keeping {cleared:,} tokens of old tool results would cost "
        f"${cleared * saves / PER_MILLION:.3f}, clearing them "
        f"${rewritten * value.rewritten / PER_MILLION:.3f}"
    )
    return Batch(tuple(candidates[first:]), rewritten, why)


def _found_places(
    ledger: ToolResultLedger, results: Sequence[Held], conditions: RequestConditions
) -> Sequence[int]:
    """For each result, how much of the prefix before it is still in the cache."""
    if conditions.capabilities.cache.kind == "automatic":
        return [held.place for held in results]
    lives_since = conditions.now - conditions.life
    return [held.mark if held.at >= lives_since else ledger.start for held in results]


__all__ = [
    "CLEARED",
    "COMPACTABLE",
    "Clear",
    "Due",
    "EditCache",
    "Policy",
    "RequestConditions",
    "ToolResultLedger",
    "compactable",
    "context_edits",
    "due",
    "plan",
    "run",
]

NAME = "microcompaction"
CLEARED = "[Old tool result content cleared]"

Way: TypeAlias = Literal["time", "cached", "batch"]


@dataclass(frozen=True, slots=True)
class Due:
    """These results should be cleared in this way."""

    way: Way
    results: tuple[Held, ...]
    why: str
    after_message: str
    rewritten: int = 0
    # Lines that describe the cleared results, by id, as far as they are known.
    outlines: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clear:
    """From now on these results are sent as these texts."""

    texts: dict[str, str]
    freed: int
    why: str
    rewritten: int = 0


@dataclass(frozen=True, slots=True)
class EditCache:
    """The provider drops these results from its cache; every later request repeats the edit."""

    tool_use_ids: tuple[str, ...]
    after_message: str
    freed: int = 0
    why: str = ""


def due(
    ledger: ToolResultLedger,
    conditions: RequestConditions,
    policy: Policy,
    edited: Container[str] = frozenset(),
) -> Due | NotDue:
    """Return the first way that applies; `edited` are results the provider was already asked to drop."""
    if not ledger.held:
        return NotDue("there are no tool results that may be cleared")
    idle = conditions.idle(ledger.replied_at)
    if policy.time and idle > policy.idle_seconds:
        return _after_pause(ledger, idle, policy)
    if policy.cached and conditions.capabilities.cache_edits and conditions.main:
        return _dropped(ledger, conditions, policy, edited)
    if not policy.batch:
        return NotDue("clearing in batches is off")
    found = batch(ledger, conditions, policy)
    if isinstance(found, NotDue):
        return found
    return Due("batch", found.results, found.why, ledger.last, found.rewritten, ledger.outlines)


def plan(due: Due) -> Clear | EditCache | NotDue:
    """Return the marker texts that replace the results, or the cache edit to ask for."""
    match due.way:
        case "cached":
            ids = tuple(held.id for held in due.results)
            return EditCache(ids, due.after_message, sum(h.tokens for h in due.results), due.why)
        case "time":
            return _cleared(due, _plain_marker, at_most=1.0)
        case "batch":
            return _cleared(due, partial(_described_marker, due.outlines), at_most=0.5)
        case _:
            assert_never(due.way)


def run(
    change: Clear | EditCache,
    conditions: RequestConditions,
    expect_break: Callable[[str], None],
    announce: Announce = no_listener,
) -> None:
    """Register the cache break, if there is one, and announce; the session records the change."""
    if isinstance(change, Clear):
        expect_break(f"{NAME}: {change.why}")
    announce(LayerFired(NAME, conditions.context, conditions.context - change.freed, change.why))


def _after_pause(ledger: ToolResultLedger, idle: float, policy: Policy) -> Due | NotDue:
    old = tuple(ledger.held[: clearable(ledger, policy.keep)])
    if not old:
        return NotDue("all tool results are among the newest")
    return Due("time", old, f"a pause of {idle / 60:.0f} minutes", ledger.last)


def _dropped(
    ledger: ToolResultLedger, conditions: RequestConditions, policy: Policy, edited: Container[str]
) -> Due | NotDue:
    if conditions.context < policy.least_context:
        return NotDue(f"a context of {conditions.context:,} tokens is left alone")
    old = ledger.held[: clearable(ledger, policy.keep)]
    fresh = tuple(held for held in old if held.id not in edited)
    live = len(ledger.held) - len(old) + len(fresh)
    if not fresh or not (live > policy.live_above or conditions.pressed):
        return NotDue(f"{live} live tool results; more than {policy.live_above} are too many")
    return Due("cached", fresh, f"{live} live tool results", ledger.last)


def _cleared(due: Due, marker: Callable[[Held], str], *, at_most: float) -> Clear | NotDue:
    """Markers for the results; a result stays where the marker would not be clearly shorter."""
    texts: dict[str, str] = {}
    freed = 0
    for held in due.results:
        text = marker(held)
        size = text_tokens(text)
        if size < at_most * held.tokens:
            texts[held.id] = text
            freed += held.tokens - size
    if not texts:
        return NotDue("the markers would be as long as the results")
    return Clear(texts, freed, due.why, due.rewritten)


def _plain_marker(held: Held) -> str:
    return f"{CLEARED[:-1]}; it is saved in {held.path}]" if held.path else CLEARED


def _described_marker(outlines: Mapping[str, str], held: Held) -> str:
    """A marker with what the model may still need: length, key line and path of the result."""
    where = f"; saved in {held.path}" if held.path else ""
    line = outlines.get(held.id) or outline_line(held.result.text)
    return f"[Old tool result cleared: {line}{where}]"
