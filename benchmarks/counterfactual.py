"""What a recorded session would have cost had a strategy decided what is sent.

The agent does what it did; at each recorded call the strategy says what it would send instead. The
prompt cache is simulated at the recorded times. Where the strategy hides a result that the next
response draws on (`needs`), the agent is taken to run that call again: one more request, and the
result is in the conversation again. Replies are priced, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from needs import CALL_TOKENS, Needs
from trajectories import Trajectory, row_of

from reverie.conversation.records import Used
from reverie.core.messages import Message, Text, shared_length
from reverie.core.prompt_cache import (
    Chain,
    Link,
    Mark,
    Policy,
    TtlChoice,
    extend,
    head_only,
    placed,
    root_digest,
)
from reverie.core.prompt_cache.tracker import Broken, Call, Sent, Simulator, Tracker
from reverie.core.request import Head, Segment, message_segments
from reverie.core.usage import PER_MILLION, Prices, Usage
from reverie.core.window import TTL_SECONDS, CacheRules, Ttl


@dataclass(frozen=True, slots=True)
class SideCall:
    """A call a strategy makes for itself; `on_prefix` when it extends the conversation.

    `head` is the size of its own system prompt and tools, `purpose` what it is booked under, `at`
    when it is made; None: right before the next request.
    """

    messages: tuple[Message, ...]
    output: int
    on_prefix: bool = False
    head: int = 0
    purpose: str = "compaction"
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent. `breaks` names why earlier bytes changed, when that was intended."""

    messages: Sequence[Message]
    breaks: str | None = None
    side: tuple[SideCall, ...] = ()


class Strategy(Protocol):
    """Decides what is sent. It hears everything that is said, and what each request used."""

    def feed(self, message: Message) -> None: ...

    def request(self, call: Used) -> Prompt: ...

    def answered(self, call: Used, usage: Usage, ttl: Ttl) -> None:
        """`ttl` is how long the provider keeps what was sent, as far as it was asked to."""
        ...

    def ended(self) -> tuple[SideCall, ...]:
        """The calls it makes when the session is over."""
        ...

    def close(self) -> None: ...

    @property
    def fired(self) -> Mapping[str, int]:
        """How often each of its layers did something."""
        ...

    @property
    def stored(self) -> Mapping[str, str]:
        """Texts it put aside, by the path they can be read at."""
        ...


# What the input of a request is: the head read or written, the rest read, and of what was written
# what is new, what a compaction made, and what was sent before; then the surcharge for an hour.
INPUT_PARTS = (
    "head read",
    "head written",
    "rest read",
    "new content",
    "records and files",
    "written again",
    "hour premium",
)


@dataclass(slots=True)
class Outcome:
    """The whole session under one strategy. `costs` are dollars by what they were spent on.

    `input_parts` are the dollars of its own requests' input by what the tokens were.
    """

    usages: list[Usage] = field(default_factory=list)
    side: list[Usage] = field(default_factory=list)
    costs: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    input_parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(INPUT_PARTS, 0.0))
    attainable: int = 0
    overflows: int = 0
    largest: int = 0
    rewrites: int = 0
    unexpected: int = 0
    rereads: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    shown: dict[int, tuple[Message, ...]] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> Usage:
        return sum((*self.usages, *self.side), Usage())

    @property
    def cost(self) -> float:
        return sum(self.costs.values())


# The marks for a call; the client's own lifetimes are those it was billed for.
MarksFor: TypeAlias = Callable[[Used], Policy]


def always(ttl: TtlChoice) -> MarksFor:
    policy = placed(ttl)
    return lambda call: policy


def as_the_client(trajectory: Trajectory) -> MarksFor:
    """Our places for marks with the lifetimes that the client was billed for."""
    lives: dict[str, Ttl] = {}
    ttl: Ttl = next(filter(None, (billed_ttl(call.usage) for call in trajectory.calls)), "5m")
    for call in trajectory.calls:
        ttl = lives[call.response] = billed_ttl(call.usage) or ttl
    return lambda call: placed(lives[call.response])


def billed_ttl(usage: Usage) -> Ttl | None:
    return "1h" if usage.cache_write_1h else "5m" if usage.cache_write_5m else None


def play(
    trajectory: Trajectory,
    strategy: Strategy,
    marks: MarksFor,
    checkpoints: Container[int] = (),
    needs: Needs | None = None,
    *,
    mixed: bool = True,
) -> Outcome:
    """Replay a session under a strategy; what is sent at the checkpoints (calls) is kept.

    With `needs`, calls are made again for what the strategy no longer shows. `mixed` says whether
    an hour's entry may stand behind a prefix that was written for five minutes.
    """
    outcome = Outcome()
    provider = _Provider(trajectory, marks, outcome, mixed=mixed)
    number = 0
    last: Message | None = None
    for event in trajectory.events:
        if isinstance(event, Message):
            strategy.feed(event)
            last = event
            continue
        prompt = strategy.request(event)
        provider.ask_all_aside(prompt.side, event)
        if number in checkpoints:
            outcome.shown[number] = tuple(prompt.messages)
        missing = needs.missing(number, prompt.messages) if needs and last else ()
        if needs and last and missing:
            outcome.rereads += len(missing)
            extra = replace(event, response=f"{event.response} again")
            usage, kept_for = provider.ask(prompt, extra, CALL_TOKENS * len(missing), "re-reads")
            again = needs.again(missing, last, extra.response)
            strategy.feed(again.asked)
            strategy.answered(extra, usage, kept_for)
            strategy.feed(again.answer)
            prompt = strategy.request(event)
            provider.ask_all_aside(prompt.side, event)
        usage, kept_for = provider.ask(prompt, event)
        strategy.answered(event, usage, kept_for)
        number += 1
    provider.ask_all_aside(strategy.ended(), trajectory.calls[-1])
    outcome.fired.update(strategy.fired)
    outcome.stored.update(strategy.stored)
    strategy.close()
    return outcome


def input_cost(prices: Prices, usage: Usage) -> float:
    return prices.cost(replace(usage, output=0))


class _Provider:
    """The other side: counts, caches and bills."""

    def __init__(
        self, trajectory: Trajectory, marks: MarksFor, outcome: Outcome, *, mixed: bool
    ) -> None:
        self._trajectory = trajectory
        self._marks = marks
        self._outcome = outcome
        self._mixed = mixed
        self._model: str | None = None
        self._spoken = trajectory.spoken
        self._seen: set[str] = set()

    def ask(
        self, prompt: Prompt, call: Used, output: int | None = None, purpose: str = "input"
    ) -> tuple[Usage, Ttl]:
        self._serve(call)
        said = self._spoken[call.response] if output is None else output
        chain = self._chains.chain(prompt.messages)
        marks = self._policy(call)(chain, self._cache.standing(chain), self._rules)
        if prompt.breaks:
            self._tracker.expect_break(prompt.breaks)
        promise = self._tracker.before(chain)
        self._outcome.attainable += self._ideal.read(chain, marks, call.at)
        usage = self._cache.run(Call(chain, call.at, said), marks)
        verdict = self._tracker.after(promise, Sent(chain, marks, call.at), usage)
        self._outcome.rewrites += bool(promise.changed)
        self._outcome.unexpected += isinstance(verdict, Broken) and bool(promise.changed)
        self._outcome.overflows += chain.tokens > self._trajectory.window.tokens
        self._outcome.largest = max(self._outcome.largest, chain.tokens)
        self._bill(usage, self._outcome.usages, purpose)
        self._part(prompt.messages, usage)
        return usage, self._tracker.ttl

    def ask_all_aside(self, calls: Sequence[SideCall], now: Used) -> None:
        for call in calls:
            self.ask_aside(call, now)

    def ask_aside(self, call: SideCall, now: Used) -> None:
        self._serve(now)
        chains = self._chains.copy() if call.on_prefix else _Chains(self._trajectory, now.model, 0)
        chain = chains.chain(call.messages)
        marks = head_only(chain, self._cache.standing(chain), self._rules)
        if call.on_prefix:
            marks = self._policy(now)(chain, self._cache.standing(chain), self._rules)
        at = now.at if call.at is None else call.at
        usage = self._cache.run(Call(chain, at, call.output), marks)
        usage = replace(usage, input=usage.input + call.head)
        self._bill(usage, self._outcome.side, call.purpose)

    def _policy(self, call: Used) -> Policy:
        response = call.response.removesuffix(" again")
        return self._marks(replace(call, response=response))

    def _serve(self, call: Used) -> None:
        """Another model has a cache of its own, in which nothing is yet."""
        if call.model == self._model:
            return
        row = row_of(call.model)
        self._rules: CacheRules = row.capabilities.cache
        self._prices: Prices = row.prices or Prices.of(0, 0)
        self._cache = Simulator(self._rules, mixed=self._mixed)
        self._ideal = _Ideal(self._rules)
        self._tracker = Tracker(self._rules)
        self._chains = _Chains(self._trajectory, call.model, self._trajectory.head)
        if self._model is None and self._trajectory.warm:
            other, marks = self._chains.warm(call.at)
            self._cache.run(other, marks)
            self._ideal.read(other.chain, marks, call.at)
        self._model = call.model

    def _part(self, messages: Sequence[Message], usage: Usage) -> None:
        """Book the input by what it was; what was written again was changed or had lapsed."""
        rates = self._prices.tier(usage.prompt)
        head = self._trajectory.head
        read = min(usage.cache_read, head)
        added = [message for message in messages if message.id not in self._seen]
        made = sum(sum(self._trajectory.sizes(m)) for m in added if m.origin == "reverie")
        new = sum(sum(self._trajectory.sizes(m)) for m in added if m.origin != "reverie")
        self._seen.update(message.id for message in added)
        written = usage.cache_write + usage.input
        again = max(0, written - (head - read) - new - made)
        tokens = (read, head - read, usage.cache_read - read, new, made, again)
        write = rates.cache_write_5m
        prices = (rates.cache_read, write, rates.cache_read, write, write, write)
        dollars = [count * price for count, price in zip(tokens, prices, strict=True)]
        dollars.append(usage.cache_write_1h * (rates.cache_write_1h - rates.cache_write_5m))
        for part, price in zip(INPUT_PARTS, dollars, strict=True):
            self._outcome.input_parts[part] += price / PER_MILLION

    def _bill(self, usage: Usage, book: list[Usage], purpose: str) -> None:
        book.append(usage)
        spoken = usage.output * self._prices.tier(usage.prompt).output / PER_MILLION
        self._outcome.costs[purpose] += input_cost(self._prices, usage)
        self._outcome.costs["output" if purpose == "input" else purpose] += spoken


class _Ideal:
    """A cache that finds the longest prefix any earlier request had, while its entry lives."""

    def __init__(self, rules: CacheRules) -> None:
        self._rules = rules
        self._expires: dict[str, float] = {}

    def read(self, chain: Chain, marks: Sequence[Mark], at: float) -> int:
        found = 0
        for link in reversed(chain.links):
            if self._expires.get(link.digest, 0.0) >= at:
                found = link.tokens
                break
        self._keep(chain, marks, at)
        return found if found >= self._rules.minimum else 0

    def _keep(self, chain: Chain, marks: Sequence[Mark], at: float) -> None:
        """What stands before a mark lives as long as the mark's entry; nothing lives shorter."""
        hour = max((mark.index for mark in marks if mark.ttl == "1h"), default=-1)
        short = TTL_SECONDS["5m"] if marks else self._rules.ttl_seconds
        for i, link in enumerate(chain.links):
            life = TTL_SECONDS["1h"] if i <= hour else short
            self._expires[link.digest] = max(at + life, self._expires.get(link.digest, 0.0))


class _Chains:
    """The chains of one conversation with one model, each from the last, in the provider's sizes."""

    def __init__(self, trajectory: Trajectory, model: str, head: int) -> None:
        self._trajectory = trajectory
        self._head = Head(model, (Text("shared"), Text("own")) if head else ())
        warm = trajectory.warm
        sizes = (("shared", warm), ("own", head - warm)) if head else ()
        segments = [
            Segment("system", i, 0, name.encode(), tokens) for i, (name, tokens) in enumerate(sizes)
        ]
        self._links: list[Link] = extend(None, root_digest(self._head), segments)
        self._ends = [len(self._links)]
        self._messages: tuple[Message, ...] = ()
        self._made: dict[int, tuple[Message, tuple[Segment, ...]]] = {}

    def copy(self) -> _Chains:
        other = _Chains.__new__(_Chains)
        other._trajectory = self._trajectory
        other._head = self._head
        other._links = self._links.copy()
        other._ends = self._ends.copy()
        other._messages = self._messages
        other._made = self._made
        return other

    def warm(self, at: float) -> tuple[Call, tuple[Mark, ...]]:
        """The request of another session that left the shared part of the head in the cache."""
        return Call(Chain(self._head, (self._links[0],)), at), (Mark(0),)

    def chain(self, messages: Sequence[Message]) -> Chain:
        kept = shared_length(self._messages, messages)
        del self._ends[kept + 1 :]
        del self._links[self._ends[-1] :]
        for index in range(kept, len(messages)):
            last = self._links[-1] if self._links else None
            segments = self._segments(messages[index], index)
            self._links += extend(last, root_digest(self._head), segments)
            self._ends.append(len(self._links))
        self._messages = tuple(messages)
        return Chain(self._head, tuple(self._links))

    def _segments(self, message: Message, index: int) -> tuple[Segment, ...]:
        """Segments in the provider's sizes; a message that moved keeps its bytes."""
        known = self._made.get(id(message))
        if known is None:
            sizes = self._trajectory.sizes(message)
            segments = zip(message_segments(message, index), sizes, strict=True)
            known = (message, tuple(replace(s, tokens=size) for s, size in segments))
            self._made[id(message)] = known
        made = known[1]
        if made and made[0].index != index:
            return tuple(replace(segment, index=index) for segment in made)
        return made
