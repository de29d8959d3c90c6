"""What the prompt cache does: the provider's report against what the prefix promised, and the documented rules as a simulation.

Before a request the tracker compares its chain with the last one; after the response it compares
the cache-read tokens with what the common prefix promised. A layer that is about to edit history
says so first (`expect_break`); any other miss is a `Broken` verdict that names the cause.

Explicit caches: entries exist only at marks; a mark finds the newest entry within `look_back`
blocks (itself included); prefixes under `minimum` tokens are not kept; an entry lives for its TTL
and each read renews it. Automatic caches: any earlier prefix is found, rounded down to `step`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from reverie.core.prompt_cache import (
    Chain,
    Change,
    Mark,
    Policy,
    StandingMarks,
    changes,
    common_length,
)
from reverie.core.usage import Prices, Usage
from reverie.core.window import TTL_SECONDS, CacheRules, Ttl

# Providers round and re-tokenise at block edges; a smaller difference is noise.
TOLERATED_SHARE = 0.05
TOLERATED_TOKENS = 256


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a request should read from the cache, and what changed since the last one."""

    tokens: int
    lost: int
    changed: tuple[Change, ...] = ()
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The provider read at least what the prefix promised; the first request promises nothing."""

    read: int


@dataclass(frozen=True, slots=True)
class ExpectedBreak:
    """The prefix changed, and a layer had registered that."""

    reason: str
    lost: int


@dataclass(frozen=True, slots=True)
class Broken:
    """Tokens that should have been read were not; `causes` names possible reasons."""

    lost: int
    causes: tuple[Change, ...]


Verdict: TypeAlias = Kept | ExpectedBreak | Broken


@dataclass(frozen=True, slots=True)
class Sent:
    """A sent request: its chain, its marks with their TTL, and the time."""

    chain: Chain
    marks: tuple[Mark, ...]
    at: float


@dataclass(frozen=True, slots=True)
class _Cached:
    sent: Sent
    tokens: int


class Tracker:
    """The cache of one conversation, as far as it is known on the client's side."""

    def __init__(self, rules: CacheRules) -> None:
        self._rules = rules
        self._last: _Cached | None = None
        self._expected: str | None = None

    def clone(self) -> Tracker:
        """A copy for a side conversation on the same prefix."""
        other = Tracker(self._rules)
        other._last = self._last
        return other

    @property
    def ttl(self) -> Ttl:
        """The TTL that we requested for the newest entry."""
        marks = self._last.sent.marks if self._last is not None else ()
        return "1h" if any(mark.ttl == "1h" for mark in marks) else "5m"

    def expect_break(self, reason: str) -> None:
        """Register that the next request changes its prefix on purpose."""
        self._expected = reason

    def before(self, chain: Chain) -> Expectation:
        """What the next request can expect; a registered break applies until a reply arrives."""
        last, expected = self._last, self._expected
        if last is None or not last.tokens:
            return Expectation(0, 0, expected=expected)
        changed = changes(last.sent.chain, chain)
        standing = self._standing(last, chain) if changed else last.tokens
        return Expectation(standing, last.tokens - standing, changed, expected)

    def after(self, promise: Expectation, sent: Sent, usage: Usage, diagnosis: str = "") -> Verdict:
        """Judge the response, and store this request as the one to extend."""
        last = self._last
        self._last = _Cached(sent, usage.cache_read + usage.cache_write)
        if self._expected == promise.expected:
            self._expected = None
        hoped = promise.tokens + promise.lost
        # The provider may have found an older entry beyond the last marks.
        lost = hoped - usage.cache_read
        if last is None or lost <= max(TOLERATED_TOKENS, hoped * TOLERATED_SHARE):
            return Kept(usage.cache_read)
        if promise.expected is not None:
            return ExpectedBreak(promise.expected, lost)
        return Broken(lost, self._causes(promise, last.sent, sent.at, diagnosis))

    def _standing(self, last: _Cached, chain: Chain) -> int:
        """The part of the cached prefix before the first change, up to a mark."""
        old, marks = last.sent.chain, last.sent.marks
        shared = common_length(old, chain)
        standing = [mark.index for mark in marks if mark.index < shared]
        if self._rules.kind == "automatic" and shared:
            standing.append(shared - 1)
        whole = old.links[marks[-1].index].tokens if marks else old.tokens
        kept = old.links[max(standing)].tokens if standing else 0
        return last.tokens * kept // whole if whole else 0

    def _causes(
        self, promise: Expectation, last: Sent, at: float, diagnosis: str
    ) -> tuple[Change, ...]:
        causes = list(promise.changed)
        idle, life = at - last.at, self._life(last)
        if not causes and idle > life:
            causes.append(Change("ttl_expired", f"{idle:.0f} s idle, entries live {life:.0f} s"))
        if not causes:
            causes.append(Change("provider", "nothing changed on this side; the entry was evicted"))
        if diagnosis:
            causes.append(Change("provider", f"says: {diagnosis}"))
        return tuple(causes)

    def _life(self, last: Sent) -> float:
        return TTL_SECONDS[last.marks[-1].ttl] if last.marks else self._rules.ttl_seconds


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a conversation: what was sent, when, and the size of the reply."""

    chain: Chain
    at: float
    output: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """A named cache policy."""

    name: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class Outcome:
    plan: Plan
    usages: tuple[Usage, ...]
    cost: float

    @property
    def total(self) -> Usage:
        return sum(self.usages, Usage())


@dataclass(frozen=True, slots=True)
class _Entry:
    expires: float
    ttl: Ttl = "5m"


@dataclass(slots=True)
class Simulator:
    """The provider's side of one cache.

    `mixed` says whether an entry may live for an hour behind a prefix that was written for five
    minutes. Without it, such an entry is paid for as an hour and lives as long as its prefix.
    """

    rules: CacheRules
    entries: dict[str, _Entry] = field(default_factory=dict)
    mixed: bool = True

    def run(self, call: Call, marks: tuple[Mark, ...]) -> Usage:
        if self.rules.kind == "automatic":
            return self._automatic(call)
        links = call.chain.links
        kept = [mark for mark in marks if links[mark.index].tokens >= self.rules.minimum]
        read = self._find(call, marks)
        self._keep(call, kept, read)
        read_tokens = links[read].tokens if read >= 0 else 0
        hour = max((links[m.index].tokens for m in kept if m.ttl == "1h"), default=0)
        stored = max((links[m.index].tokens for m in kept), default=0)
        hour, stored = max(hour, read_tokens), max(stored, read_tokens)
        return Usage(
            input=call.chain.tokens - stored,
            cache_read=read_tokens,
            cache_write_5m=stored - hour,
            cache_write_1h=hour - read_tokens,
            output=call.output,
        )

    def standing(self, chain: Chain) -> StandingMarks:
        """Where earlier marks still match this chain, whether or not their entries are alive."""
        newest = newest_hour = -1
        for i in range(len(chain.links) - 1, -1, -1):
            entry = self.entries.get(chain.links[i].digest)
            if entry is not None:
                newest = max(newest, i)
                newest_hour = i if entry.ttl == "1h" else newest_hour
                if newest_hour >= 0:
                    break
        return StandingMarks(newest, newest_hour)

    def _find(self, call: Call, marks: tuple[Mark, ...]) -> int:
        for mark in reversed(marks):
            for i in range(mark.index, max(-1, mark.index - self.rules.look_back), -1):
                if self._alive(call.chain.links[i].digest, call.at):
                    return i
        return -1

    def _keep(self, call: Call, marks: list[Mark], read: int) -> None:
        """Write an entry at each mark; reading or marking renews an entry, and never shortens its life."""
        renewed = {mark.index: mark.ttl for mark in marks}
        if read >= 0:
            renewed.setdefault(read, self.entries[call.chain.links[read].digest].ttl)
        short = not self.mixed and read >= 0 and self._life(call.chain.links[read].digest) == "5m"
        for index, ttl in renewed.items():
            digest = call.chain.links[index].digest
            hour = self._alive(digest, call.at) and self._life(digest) == "1h"
            life: Ttl = "1h" if hour else "5m" if short else ttl
            self.entries[digest] = _Entry(call.at + TTL_SECONDS[life], life)

    def _life(self, digest: str) -> Ttl:
        return self.entries[digest].ttl

    def _automatic(self, call: Call) -> Usage:
        links = call.chain.links
        read = next(
            (i for i in range(len(links) - 1, -1, -1) if self._alive(links[i].digest, call.at)), -1
        )
        tokens = links[read].tokens // self.rules.step * self.rules.step if read >= 0 else 0
        tokens = tokens if tokens >= self.rules.minimum else 0
        entry = _Entry(call.at + self.rules.ttl_seconds)
        self.entries |= {link.digest: entry for link in links}
        return Usage(call.chain.tokens - tokens, cache_read=tokens, output=call.output)

    def _alive(self, digest: str, at: float) -> bool:
        entry = self.entries.get(digest)
        return entry is not None and entry.expires >= at


def simulate(calls: Iterable[Call], plan: Plan, rules: CacheRules, prices: Prices) -> Outcome:
    """Replay `calls` under `plan` on an empty cache."""
    simulator = Simulator(rules)
    usages = []
    for call in calls:
        marks = plan.policy(call.chain, simulator.standing(call.chain), rules)
        usages.append(simulator.run(call, marks))
    return Outcome(plan, tuple(usages), sum(prices.cost(usage) for usage in usages))
