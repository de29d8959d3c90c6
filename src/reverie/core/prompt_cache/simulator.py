"""Simulates the documented cache rules: replays a conversation under a policy and prices it.

Explicit caches: entries exist only at marks; a mark finds the newest entry within `look_back`
blocks (itself included); prefixes under `minimum` tokens are not kept; an entry lives for its TTL
and each read renews it. Automatic caches: any earlier prefix is found, rounded down to `step`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from reverie.core.prompt_cache import Chain, Mark, Policy, StandingMarks
from reverie.core.usage import Prices, Usage
from reverie.core.window import TTL_SECONDS, CacheRules, Ttl


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
