"""A transcript as the sequence of requests it was made of, for the cache simulator.

Foreign transcripts do not record system prompt and tools. Their size is what the provider's first
usage figure leaves over; later figures set the size of everything that was added in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reverie.core.messages import Message, Text
from reverie.core.prompt_cache.chain import Chain, Link, extend, head_chain, root_digest
from reverie.core.prompt_cache.simulator import Call
from reverie.core.request import Head, Segment, message_segments
from reverie.session.records import Compacted, HeadFrozen, Record, Said, Used

UNRECORDED = Head("unrecorded", (Text("system prompt and tools, not in the transcript"),))

# A prompt this much smaller than the one before it was cut by the client without saying so.
_SHRUNK = 0.8


@dataclass(frozen=True, slots=True)
class Replay:
    """The calls of one conversation, with what the provider really reported for each."""

    calls: tuple[Call, ...]
    reported: tuple[Used, ...]

    @property
    def model(self) -> str:
        names = [used.model for used in self.reported]
        return max(set(names), key=names.count) if names else ""


def replay(records: Sequence[Record]) -> Replay:
    used = {r.response: r for r in records if isinstance(r, Used) and r.purpose == "main"}
    growing = _Growing()
    calls: list[Call] = []
    reported: list[Used] = []
    for record in records:
        match record:
            case HeadFrozen(head):
                growing.restart(head)
            case Compacted(start, kept_from, _, _, _):
                growing.compact(start, kept_from)
            case Said(message):
                if message.response in used:
                    now = used.pop(message.response)
                    calls.append(Call(growing.chain(now.usage.prompt), now.at, now.usage.output))
                    reported.append(now)
                growing.add(message)
            case _:
                pass
    return Replay(tuple(calls), tuple(reported))


class _Growing:
    """A conversation's chain, sized by what the provider reported."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._pending: list[Segment] = []
        self._generation = 0
        self.restart(UNRECORDED)

    def restart(self, head: Head) -> None:
        self._head = head
        self._links = head_chain(head)
        # The unrecorded head gets its size from the first report.
        self._sized = head is not UNRECORDED
        self._pending = _segments(self._messages)

    def compact(self, start: Iterable[Message], kept_from: str | None) -> None:
        ids = [message.id for message in self._messages]
        kept = self._messages[ids.index(kept_from) :] if kept_from in ids else []
        self._messages = [*start, *kept]
        self._links = self._links[: self._head_length]
        self._pending = _segments(self._messages)

    def add(self, message: Message) -> None:
        self._pending += message_segments(message, len(self._messages))
        self._messages.append(message)

    def chain(self, reported: int) -> Chain:
        """The chain as it was sent, its new part scaled to the size the provider saw."""
        if not self._bare and 0 < reported < _SHRUNK * self._tokens:
            self._cut_silently()
        if self._bare and reported and (not self._sized or reported < self._tokens):
            self._size_head(reported)
        room = max(0, reported - self._tokens)
        estimate = sum(segment.tokens for segment in self._pending)
        scale = room / estimate if reported and estimate else 1.0
        sized = (replace(s, tokens=round(s.tokens * scale)) for s in self._pending)
        last = self._links[-1] if self._links else None
        self._links += extend(last, root_digest(self._head), sized)
        self._pending = []
        return Chain(self._head, tuple(self._links))

    @property
    def _tokens(self) -> int:
        return self._links[-1].tokens if self._links else 0

    @property
    def _head_length(self) -> int:
        return len(self._head.tools) + len(self._head.system)

    @property
    def _bare(self) -> bool:
        """Is only the head linked so far?"""
        head = self._links[: self._head_length]
        return self._tokens == (head[-1].tokens if head else 0)

    def _size_head(self, reported: int) -> None:
        """Whatever a prompt holds beyond its messages is the head.

        It is sized by the first prompt, and again by a smaller one: a transcript that starts in the
        middle of a conversation has hidden a part of that conversation in its head.
        """
        estimate = sum(segment.tokens for segment in self._pending)
        tokens = max(0, reported - estimate)
        share = tokens / self._tokens if self._tokens else 0.0
        self._links = [replace(link, tokens=round(link.tokens * share)) for link in self._links]
        self._sized = True

    def _cut_silently(self) -> None:
        """Other bytes from the head on: what the client sent instead is not in the transcript."""
        self._generation += 1
        mark = Segment("messages", 0, 0, f"cut {self._generation}".encode(), 0)
        kept: list[Link] = self._links[: self._head_length]
        self._links = kept + extend(kept[-1] if kept else None, root_digest(self._head), [mark])
        self._pending = _segments(self._messages)


def _segments(messages: Sequence[Message]) -> list[Segment]:
    return [segment for i, m in enumerate(messages) for segment in message_segments(m, i)]
