"""A transcript as the sequence of requests it was made of, for the cache simulator.

Foreign transcripts do not record system prompt and tools. Their size is what the provider's first
usage figure leaves over; later figures set the size of everything that was added in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from reverie.core.incremental import shared_length
from reverie.core.messages import Message, Text
from reverie.core.prompt_cache.chain import Chain, Link, extend, head_chain, root_digest
from reverie.core.prompt_cache.simulator import Call
from reverie.core.request import Head, Segment, message_segments
from reverie.session.records import HeadFrozen, Record, Said, Used
from reverie.session.state import SessionState

UNRECORDED = Head("unrecorded", (Text("system prompt and tools, not in the transcript"),))

# A prompt this much smaller than the one before it was cut by the client without saying so.
_SHRUNK = 0.8


@dataclass(frozen=True, slots=True)
class Replay:
    """The calls of one conversation, with what the provider really reported for each.

    `scales` say, by message, how many tokens the provider counted for one of our estimate, where its
    reports tell; `heads` are the sizes the unrecorded head was given, one after the other.
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
        """The chain as it was sent, its new part scaled to the size the provider saw."""
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
            # Beside a bare head, what else was in the prompt is anybody's guess.
            self.scales |= {message.id: scale for message in messages[len(self._messages) :]}
        self._messages = tuple(messages)
        return Chain(self._head, tuple(self._links))

    @property
    def _tokens(self) -> int:
        return self._links[-1].tokens if self._links else 0

    @property
    def _bare(self) -> bool:
        """Is only the head linked so far?"""
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
        """Whatever a prompt holds beyond its messages is the head.

        It is sized by the first prompt, and again by a smaller one: a transcript that starts in the
        middle of a conversation has hidden a part of that conversation in its head.
        """
        tokens = max(0, reported - estimate)
        share = tokens / self._tokens if self._tokens else 0.0
        self._links = [replace(link, tokens=round(link.tokens * share)) for link in self._links]
        self._sized = True
        self.heads.append(tokens)

    def _cut_silently(self) -> None:
        """Other bytes from the head on: what the client sent instead is not in the transcript."""
        self._generation += 1
        mark = Segment("messages", 0, 0, f"cut {self._generation}".encode(), 0)
        kept = self._links[: self._head_length]
        last = kept[-1] if kept else None
        self._begin(kept + extend(last, root_digest(self._head), [mark]))


def _segments(messages: Sequence[Message], start: int) -> list[tuple[Segment, ...]]:
    return [message_segments(messages[i], i) for i in range(start, len(messages))]
