"""A model of the documented cache rules: replays any conversation under any policy and prices it.

Explicit caches: entries exist only at marks; a mark finds the newest entry within `look_back`
blocks (itself included); prefixes under `minimum` tokens are not kept; an entry lives for its TTL
and each read renews it. Automatic caches: any earlier prefix is found, rounded down to `step`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from reverie.core.capabilities import TTL_SECONDS, CacheRules, Ttl
from reverie.core.prompt_cache.breakpoints import Policy
from reverie.core.prompt_cache.chain import Chain
from reverie.core.usage import Prices, Usage


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a conversation: what was sent, when, and how much came back."""

    chain: Chain
    at: float
    output: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """A named way to use the cache."""

    name: str
    policy: Policy
    ttl: Ttl = "5m"


@dataclass(frozen=True, slots=True)
class Outcome:
    plan: Plan
    usages: tuple[Usage, ...]
    cost: float

    @property
    def total(self) -> Usage:
        return sum(self.usages, Usage())


@dataclass(slots=True)
class Simulator:
    """The provider's side of one cache, fed call by call."""

    rules: CacheRules
    expiry: dict[str, float] = field(default_factory=dict)

    def run(self, call: Call, marks: tuple[int, ...], ttl: Ttl = "5m") -> Usage:
        if self.rules.kind == "automatic":
            return self._automatic(call)
        read = self._find(call, marks)
        kept = [mark for mark in marks if call.chain.links[mark].tokens >= self.rules.minimum]
        for mark in kept:
            self.expiry[call.chain.links[mark].digest] = call.at + TTL_SECONDS[ttl]
        read_tokens = call.chain.links[read].tokens if read >= 0 else 0
        stored = max(call.chain.links[kept[-1]].tokens, read_tokens) if kept else read_tokens
        written = stored - read_tokens
        return Usage(
            input=call.chain.tokens - stored,
            cache_read=read_tokens,
            cache_write_5m=written if ttl == "5m" else 0,
            cache_write_1h=written if ttl == "1h" else 0,
            output=call.output,
        )

    def anchor(self, chain: Chain) -> int:
        """The newest link with a living or dead entry: where an earlier mark still stands."""
        for i in range(len(chain.links) - 1, -1, -1):
            if chain.links[i].digest in self.expiry:
                return i
        return -1

    def _find(self, call: Call, marks: tuple[int, ...]) -> int:
        for mark in reversed(marks):
            for i in range(mark, max(-1, mark - self.rules.look_back), -1):
                if self._alive(call.chain.links[i].digest, call.at):
                    return i
        return -1

    def _automatic(self, call: Call) -> Usage:
        links = call.chain.links
        read = next(
            (i for i in range(len(links) - 1, -1, -1) if self._alive(links[i].digest, call.at)), -1
        )
        tokens = links[read].tokens // self.rules.step * self.rules.step if read >= 0 else 0
        tokens = tokens if tokens >= self.rules.minimum else 0
        self.expiry |= {link.digest: call.at + self.rules.ttl_seconds for link in links}
        return Usage(call.chain.tokens - tokens, cache_read=tokens, output=call.output)

    def _alive(self, digest: str, at: float) -> bool:
        return self.expiry.get(digest, float("-inf")) >= at


def simulate(calls: Iterable[Call], plan: Plan, rules: CacheRules, prices: Prices) -> Outcome:
    """Replay `calls` under `plan` on an empty cache."""
    simulator = Simulator(rules)
    usages = []
    for call in calls:
        marks = plan.policy(call.chain, simulator.anchor(call.chain), rules)
        usages.append(simulator.run(call, marks, plan.ttl))
    return Outcome(plan, tuple(usages), sum(prices.cost(usage) for usage in usages))
