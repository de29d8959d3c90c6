"""Tracks the cache: what the prefix promised, what the provider read, and why they differ.

Before a request the tracker compares its chain with the last one; after the response it compares
the cache-read tokens with what the common prefix promised. A layer that is about to edit history
says so first (`expect_break`); any other miss is a `Broken` verdict that names the cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from reverie.core.prompt_cache import Chain, Change, Mark, changes, common_length
from reverie.core.usage import Usage
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
