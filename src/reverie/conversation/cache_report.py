"""Reports on the prompt cache from transcripts: hit rates, breaks, and what other plans would cost.

Transcripts of other clients do not record system prompt and tools. Their size is what remains of the
provider's first usage figure; later figures give the size of what was added in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from reverie.conversation import transcripts
from reverie.conversation.records import (
    Compacted,
    Folded,
    HeadFrozen,
    Record,
    Redacted,
    Rewound,
    Said,
    ToolResultsCleared,
    Unfolded,
    Used,
)
from reverie.conversation.state import SessionState
from reverie.core.messages import Message, Text, shared_length
from reverie.core.prompt_cache import (
    Chain,
    Link,
    extend,
    head_chain,
    no_marks,
    placed,
    root_digest,
    tail_only,
)
from reverie.core.prompt_cache.tracker import (
    Broken,
    Call,
    ExpectedBreak,
    Kept,
    Outcome,
    Plan,
    Sent,
    Simulator,
    Tracker,
    simulate,
)
from reverie.core.request import Head, Segment, message_segments
from reverie.core.usage import PER_MILLION, Prices, Usage
from reverie.core.window import CacheRules
from reverie.errors import TranscriptError
from reverie.models import selection as choosing
from reverie.models.catalog import Row
from reverie.settings import Settings

UNRECORDED = Head("unrecorded", (Text("system prompt and tools, not in the transcript"),))

# A prompt smaller than this share of the previous one was cut by the client without a record.
_SHRUNK = 0.8


@dataclass(frozen=True, slots=True)
class Replay:
    """The calls of one conversation, with the usage that the provider reported for each.

    `scales` are, by message id, the provider's tokens for one token of our estimate, where known;
    `heads` are the successive sizes assumed for the unrecorded head.
    """

    calls: tuple[Call, ...]
    reported: tuple[Used, ...]
    scales: Mapping[str, float] = field(default_factory=dict)
    heads: tuple[int, ...] = ()

    @property
    def model(self) -> str:
        names = [used.model for used in self.reported]
        return max(set(names), key=names.count) if names else ""


def replay(records: Sequence[Record]) -> Replay:
    used = {r.response: r for r in records if isinstance(r, Used) and r.purpose == "main"}
    state = SessionState()
    growing = _Growing()
    calls: list[Call] = []
    reported: list[Used] = []
    for record in records:
        if isinstance(record, HeadFrozen):
            growing.restart(record.head)
        elif isinstance(record, Said) and record.message.response in used:
            now = used.pop(record.message.response)
            sent = growing.chain(state.shown, now.usage.prompt)
            calls.append(Call(sent, now.at, now.usage.output))
            reported.append(now)
        state.apply(record)
    return Replay(tuple(calls), tuple(reported), growing.scales, tuple(growing.heads))


class _Growing:
    """A conversation's chain, sized by what the provider reported."""

    def __init__(self) -> None:
        self.scales: dict[str, float] = {}
        self.heads: list[int] = []
        self._generation = 0
        self._messages: tuple[Message, ...] = ()
        self.restart(UNRECORDED)

    def restart(self, head: Head) -> None:
        self._head = head
        # The unrecorded head gets its size from the first report.
        self._sized = head is not UNRECORDED
        self._begin(head_chain(head))

    def chain(self, messages: Sequence[Message], reported: int) -> Chain:
        """The chain as it was sent, its new part scaled to the reported size."""
        self._keep(shared_length(self._messages, messages))
        if not self._bare and 0 < reported < _SHRUNK * self._tokens:
            self._cut_silently()
        known = not self._bare
        pending = _segments(messages, len(self._messages))
        estimate = sum(segment.tokens for segment in chain.from_iterable(pending))
        if self._bare and reported and (not self._sized or reported < self._tokens):
            self._size_head(reported, estimate)
        room = max(0, reported - self._tokens)
        scale = room / estimate if reported and estimate else 1.0
        for segments in pending:
            self._add(replace(s, tokens=round(s.tokens * scale)) for s in segments)
        if known and room:
            # With a bare head, what else was in the prompt is unknown.
            self.scales |= {message.id: scale for message in messages[len(self._messages) :]}
        self._messages = tuple(messages)
        return Chain(self._head, tuple(self._links))

    @property
    def _tokens(self) -> int:
        return self._links[-1].tokens if self._links else 0

    @property
    def _bare(self) -> bool:
        """Whether the chain holds only the head so far."""
        head = self._links[: self._head_length]
        return self._tokens == (head[-1].tokens if head else 0)

    @property
    def _head_length(self) -> int:
        return len(self._head.tools) + len(self._head.system)

    def _begin(self, links: list[Link]) -> None:
        self._links = links
        self._messages = ()
        self._ends = [len(links)]

    def _keep(self, count: int) -> None:
        self._messages = self._messages[:count]
        del self._ends[count + 1 :]
        del self._links[self._ends[-1] :]

    def _add(self, segments: Iterable[Segment]) -> None:
        last = self._links[-1] if self._links else None
        self._links += extend(last, root_digest(self._head), segments)
        self._ends.append(len(self._links))

    def _size_head(self, reported: int, estimate: int) -> None:
        """Set the head's size to what a prompt holds beyond its messages.

        The first prompt sets it, and a smaller one corrects it: when a transcript starts in the
        middle of a conversation, the first prompt also holds the unrecorded part.
        """
        tokens = max(0, reported - estimate)
        share = tokens / self._tokens if self._tokens else 0.0
        self._links = [replace(link, tokens=round(link.tokens * share)) for link in self._links]
        self._sized = True
        self.heads.append(tokens)

    def _cut_silently(self) -> None:
        """Restart after the head: what the client sent instead is not in the transcript."""
        self._generation += 1
        mark = Segment("messages", 0, 0, f"cut {self._generation}".encode(), 0)
        kept = self._links[: self._head_length]
        last = kept[-1] if kept else None
        self._begin(kept + extend(last, root_digest(self._head), [mark]))


def _segments(messages: Sequence[Message], start: int) -> list[tuple[Segment, ...]]:
    return [message_segments(messages[i], i) for i in range(start, len(messages))]


@dataclass(frozen=True, slots=True)
class Break:
    """Tokens that had to be sent again."""

    call: int
    lost: int
    why: str
    expected: bool
    cost: float


@dataclass(frozen=True, slots=True)
class CacheRow:
    """One purpose of one session."""

    session: str
    purpose: str
    calls: int
    usage: Usage
    breaks: tuple[Break, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"hit_rate": self.usage.hit_rate}


def cache_report(
    session: str, records: Sequence[Record], rules: CacheRules, prices: Prices | None
) -> list[CacheRow]:
    used: dict[str, list[Used]] = {}
    for record in records:
        if isinstance(record, Used):
            used.setdefault(record.purpose, []).append(record)
    breaks = _breaks(replay(records), _registered(records), _redacted(records), rules, prices)
    return [
        CacheRow(
            session,
            purpose,
            len(calls),
            sum((call.usage for call in calls), Usage()),
            breaks if purpose == "main" else (),
        )
        for purpose, calls in used.items()
    ]


def _breaks(
    replayed: Replay,
    registered: Mapping[int, str],
    redacted: Mapping[int, str],
    rules: CacheRules,
    prices: Prices | None,
) -> tuple[Break, ...]:
    """The breaks that the tracker would have found in the recorded calls."""
    tracker = Tracker(rules)
    simulator = Simulator(rules)
    policy = placed()
    found = []
    for number, (call, used) in enumerate(zip(replayed.calls, replayed.reported, strict=True), 1):
        if number in registered:
            tracker.expect_break(registered[number])
        marks = policy(call.chain, simulator.standing(call.chain), rules)
        simulator.run(call, marks)
        promise = tracker.before(call.chain)
        verdict = tracker.after(promise, Sent(call.chain, marks, call.at), used.usage)
        if isinstance(verdict, Broken) and (cause := redacted.get(number)):
            verdict = ExpectedBreak(cause, verdict.lost)
        if not isinstance(verdict, Kept):
            found.append(_break(number, verdict, prices))
    return tuple(found)


def _break(number: int, verdict: Broken | ExpectedBreak, prices: Prices | None) -> Break:
    extra = prices.cache_write_5m - prices.cache_read if prices else 0.0
    cost = verdict.lost * extra / PER_MILLION
    if isinstance(verdict, ExpectedBreak):
        return Break(number, verdict.lost, f"expected: {verdict.reason}", True, cost)  # noqa: FBT003 - a field
    why = "; ".join(f"{cause.what}: {cause.detail}" for cause in verdict.causes)
    return Break(number, verdict.lost, why, False, cost)  # noqa: FBT003 - a field


def _registered(records: Sequence[Record]) -> dict[int, str]:
    """The numbers of the calls whose prefix was changed on purpose, and why."""
    responses = {r.response for r in records if isinstance(r, Used) and r.purpose == "main"}
    found: dict[int, str] = {}
    number = 0
    pending: str | None = None
    for record in records:
        pending = _BREAKS.get(type(record), pending)
        if isinstance(record, Said) and record.message.response in responses:
            responses.discard(record.message.response)
            number += 1
            if pending is not None:
                found[number] = pending
                pending = None
    return found


def _redacted(records: Sequence[Record]) -> dict[int, str]:
    """Calls that a resumed process may have made with redacted text, and the cause.

    The original process kept sending the secret; no record says when it was resumed.
    """
    responses = {r.response for r in records if isinstance(r, Used) and r.purpose == "main"}
    causes: dict[str, None] = {}
    found: dict[int, str] = {}
    number = 0
    for record in records:
        if isinstance(record, Redacted):
            causes[record.cause] = None
        elif isinstance(record, Said) and record.message.response in responses:
            responses.discard(record.message.response)
            number += 1
            if causes:
                found[number] = f"taken out of the transcript: {'; '.join(causes)}"
    return found


_BREAKS: dict[type, str] = {
    Compacted: "compaction",
    ToolResultsCleared: "microcompaction",
    Folded: "folded rounds",
    Unfolded: "unfolded rounds",
    Rewound: "the history was changed",
}


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The cost of one transcript under several caching plans."""

    replay: Replay
    row: Row
    outcomes: tuple[Outcome, ...]

    @property
    def billed(self) -> Usage:
        """The usage that the provider reported for the actual session."""
        return sum((used.usage for used in self.replay.reported), Usage())

    @property
    def billed_cost(self) -> float:
        prices = self.row.prices
        return sum(prices.cost(used.usage) for used in self.replay.reported) if prices else 0.0


PLANS = (
    Plan("no caching", no_marks),
    Plan("tail only", tail_only),
    Plan("ours", placed("5m")),
    Plan("ours, ttl auto", placed("auto")),
)


def what_if(settings: Settings, transcript: Path, *, model: str | None = None) -> WhatIf:
    """Replay a transcript under each plan; `model` prices it as another model."""
    replayed = replay(transcripts.load(transcript).records)
    if not replayed.calls:
        raise TranscriptError(f"{transcript} holds no model call with usage figures to replay")
    row = choosing.require_row(settings, model or replayed.model)
    prices = row.prices or Prices.of(0, 0)
    outcomes = tuple(
        simulate(replayed.calls, plan, row.capabilities.cache, prices) for plan in PLANS
    )
    return WhatIf(replayed, row, outcomes)


def report_on(settings: Settings, transcript: Path, *, model: str | None = None) -> list[CacheRow]:
    """Hit rate and breaks of a recorded session, by purpose."""
    records = transcripts.load(transcript).records
    return report_records(settings, transcript.stem, records, model=model)


def report_records(
    settings: Settings, session: str, records: Sequence[Record], *, model: str | None = None
) -> list[CacheRow]:
    """Hit rate and breaks of a session, from its records."""
    name = model or next((r.model for r in records if isinstance(r, Used)), "")
    row = choosing.find_row(settings, name)
    rules = row.capabilities.cache if row else CacheRules()
    known = row.prices if row else None
    prices = known or choosing.price_of(settings, name.partition(":")[2] or name, None)
    return cache_report(session, records, rules, prices)
