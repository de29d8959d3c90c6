"""What a decision on old tool results is made from: the moment, and how eager to be. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reverie.context import NotDue
from reverie.context.microcompaction.ledger import Held, ToolResultLedger
from reverie.core.usage import PER_MILLION, Prices
from reverie.core.window import TTL_SECONDS, Capabilities, Ttl, Window


@dataclass(frozen=True, slots=True)
class RequestConditions:
    """What is true right before a request.

    `context` is the size of the whole prompt as best known. Forks are not the main thread: they share a prefix they must not touch.
    """

    now: float
    context: int
    window: Window
    capabilities: Capabilities
    prices: Prices | None = None
    ttl: Ttl = "5m"
    main: bool = True

    @property
    def pressed(self) -> bool:
        return self.window.state(self.context) != "ok"

    @property
    def life(self) -> float:
        """How long the provider keeps a prefix nobody asks for, in seconds."""
        cache = self.capabilities.cache
        return TTL_SECONDS[self.ttl] if cache.kind == "explicit" else cache.ttl_seconds

    def idle(self, since: float | None) -> float:
        """Seconds since then; none when nothing happened yet."""
        return 0.0 if since is None else self.now - since

    @property
    def rates(self) -> Prices | None:
        return self.prices.tier(self.context) if self.prices is not None else None


# The sizes below suit windows from here on.
FULL_WINDOW = 200_000


@dataclass(frozen=True, slots=True)
class Policy:
    """The switches, and the figures behind them.

    time       after a pause of `idle_seconds`, keep the newest `keep`
    cached     past `live_above` results, or when the window fills up, ask the provider to drop all
               but the newest `keep`
    batch      when it pays: at least `least_freed` tokens, worth `margin` times what they cost;
               never the newest `keep` nor the newest `keep_tokens`

    A context under `least_context` is left alone by the last two. `calls` is how far ahead a batch
    looks (see batches.py).
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

    def fitting(self, window: Window) -> Policy:
        """The same policy for a smaller window: sizes shrink with it."""
        share = min(1.0, window.tokens / FULL_WINDOW)
        return replace(
            self,
            least_context=int(self.least_context * share),
            least_freed=int(self.least_freed * share),
            keep_tokens=int(self.keep_tokens * share),
        )


# Providers that cache charge in about these proportions.
USUAL_RATES = Prices.of(1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Batch:
    """Results to clear, oldest first; `rewritten` tokens have to be cached anew."""

    results: tuple[Held, ...]
    rewritten: int
    why: str


@dataclass(frozen=True, slots=True)
class TokenValue:
    """Dollars per million tokens: what a freed one saves, and what a rewritten one costs."""

    freed: float
    rewritten: float


def batch(ledger: ToolResultLedger, moment: RequestConditions, policy: Policy) -> Batch | NotDue:
    """The batch that saves most. Where nobody knows the prices, pressure lets the usual ones count."""
    if moment.context < policy.least_context:
        return NotDue(f"a context of {moment.context:,} tokens is left alone")
    least = policy.least_freed
    too_little = NotDue(f"old tool results hold less than {least:,} tokens")
    if ledger.gain < least:
        return too_little
    candidates = ledger.held[: clearable(ledger, policy.keep, policy.keep_tokens)]
    freed = sum(held.gain for held in candidates)
    if freed < least:
        return too_little
    worth = worth_of(ledger, moment, policy)
    if worth is None:
        return NotDue("the window has room, and prices are not known")
    return _paying(ledger, candidates, least, worth, moment, policy)


def clearable(ledger: ToolResultLedger, keep: int, keep_tokens: int = 0) -> int:
    """How many results, from the oldest, may go: not the newest, and none the model never saw."""
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


def worth_of(
    ledger: ToolResultLedger, moment: RequestConditions, policy: Policy
) -> TokenValue | None:
    """What tokens are worth now; None when the window has room and they cost nothing we know of."""
    rates = moment.rates
    if rates is None or not rates.input:
        if not moment.pressed:
            return None
        rates = USUAL_RATES
    calls = policy.calls
    if moment.capabilities.cache.kind == "none":
        return TokenValue((calls + 1) * rates.input, 0.0)
    write = rates.cache_write_5m
    if moment.idle(ledger.replied_at) > moment.life:
        return TokenValue(write + calls * rates.cache_read, 0.0)
    return TokenValue((calls + 1) * rates.cache_read, max(0.0, write - rates.cache_read))


def _paying(
    ledger: ToolResultLedger,
    candidates: Sequence[Held],
    least: int,
    worth: TokenValue,
    moment: RequestConditions,
    policy: Policy,
) -> Batch | NotDue:
    """The start from which clearing saves most above what it costs, margin included."""
    saves, costs = worth.freed, policy.margin * worth.rewritten
    best, most, rewritten, cleared = -1, 0.0, 0, 0
    freed = 0
    places = _found_places(ledger, candidates, moment)
    for i in range(len(candidates) - 1, -1, -1):
        freed += candidates[i].gain
        behind = max(0, ledger.seen - places[i] - freed)
        net = freed * saves - behind * costs
        if freed >= least and net > most:
            best, most, rewritten, cleared = i, net, behind, freed
    if best < 0:
        return NotDue("clearing old tool results would cost more than it saves")
    why = (
        f"keeping {cleared:,} tokens of old tool results would cost "
        f"${cleared * saves / PER_MILLION:.3f}, clearing them "
        f"${rewritten * worth.rewritten / PER_MILLION:.3f}"
    )
    return Batch(tuple(candidates[best:]), rewritten, why)


def _found_places(
    ledger: ToolResultLedger, results: Sequence[Held], moment: RequestConditions
) -> Sequence[int]:
    """For each result, how much of the prefix before it the cache would still find."""
    if moment.capabilities.cache.kind == "automatic":
        return [held.place for held in results]
    lives_since = moment.now - moment.life
    return [held.mark if held.at >= lives_since else ledger.start for held in results]
