"""When clearing old tool results pays for the cache it breaks, and from where on. Pure.

Let T be the tokens a batch frees, and W those behind its first result that have to be written to
the cache anew because the prefix before them changed. With n calls still to come:

    saving = (n + 1) × T × price of reading a cached token
    cost   =           W × (price of writing one − price of reading one)

When the cache has lapsed anyway, everything is written anew in either case: the batch costs nothing
and saves a write of T as well. Without a cache, T tokens of plain input are saved on every call.

n is how far a batch looks ahead, not how long the conversation will last: the question is asked again
before every request, and what is cleared later is cleared then. On real sessions a constant near ten
saves most; as many calls as there were so far fires in dribbles and costs more than it saves.

What can be found of the prefix before the first cleared result depends on the cache. Automatic ones
find all of it. Explicit ones find it at the end of an earlier request, if that entry still lives;
it was last read when the request after it was sent, which carried the result. Otherwise only the
start of the conversation is found, whose mark every request renews. So the start of the batch is
chosen: beginning later frees less and rewrites less. One walk back over the results tries them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reverie.core.usage import PER_MILLION, Prices
from reverie.layers import NotDue
from reverie.layers.microcompaction.ledger import Held, ToolResultLedger
from reverie.layers.microcompaction.moment import Moment, Policy

# Providers that cache charge in about these proportions.
USUAL_RATES = Prices.of(1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Batch:
    """Results to clear, oldest first; `rewritten` tokens have to be cached anew."""

    results: tuple[Held, ...]
    rewritten: int
    why: str


@dataclass(frozen=True, slots=True)
class Worth:
    """Dollars per million tokens: what a freed one saves, and what a rewritten one costs."""

    freed: float
    rewritten: float


def batch(ledger: ToolResultLedger, moment: Moment, policy: Policy) -> Batch | NotDue:
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


def worth_of(ledger: ToolResultLedger, moment: Moment, policy: Policy) -> Worth | None:
    """What tokens are worth now; None when the window has room and they cost nothing we know of."""
    rates = moment.rates
    if rates is None or not rates.input:
        if not moment.pressed:
            return None
        rates = USUAL_RATES
    calls = policy.calls
    if moment.capabilities.cache.kind == "none":
        return Worth((calls + 1) * rates.input, 0.0)
    write = rates.cache_write_5m
    if moment.idle(ledger.replied_at) > moment.life:
        return Worth(write + calls * rates.cache_read, 0.0)
    return Worth((calls + 1) * rates.cache_read, max(0.0, write - rates.cache_read))


def _paying(
    ledger: ToolResultLedger,
    candidates: Sequence[Held],
    least: int,
    worth: Worth,
    moment: Moment,
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
    ledger: ToolResultLedger, results: Sequence[Held], moment: Moment
) -> Sequence[int]:
    """For each result, how much of the prefix before it the cache would still find."""
    if moment.capabilities.cache.kind == "automatic":
        return [held.place for held in results]
    lives_since = moment.now - moment.life
    return [held.mark if held.at >= lives_since else ledger.start for held in results]
