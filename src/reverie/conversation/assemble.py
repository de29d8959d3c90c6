"""Assembles requests from the frozen head and the messages.

The work is proportional to what is new: messages that are the same objects as last time keep their
links. Thinking whose prefix has changed is left out (core.thinking), and the marks for the prompt
cache are placed (core.prompt_cache.breakpoints).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from reverie.core.messages import Message, shared_length
from reverie.core.prompt_cache.breakpoints import (
    Mark,
    Policy,
    StandingMarks,
    as_breakpoints,
    placed,
)
from reverie.core.prompt_cache.chain import Chain, Link, extend, head_chain, root_digest
from reverie.core.request import Head, Request, message_segments, with_key
from reverie.core.transcript import valid_under
from reverie.core.window import Capabilities, Ttl


@dataclass(frozen=True, slots=True)
class Assembled:
    """A request, its chain, and which links carry a cache mark."""

    request: Request
    chain: Chain
    marks: tuple[Mark, ...]


class Assembler:
    """Assembles the requests of one conversation, each from the one before.

    `assemble` does not change which marks stand. Call `sent` for a request that was answered: from
    then on its marks stand for cache entries at the provider.
    """

    def __init__(self, capabilities: Capabilities, policy: Policy | None = None) -> None:
        self._capabilities = capabilities
        self._policy = policy or placed()
        self._head: Head | None = None
        self._given: tuple[Message, ...] = ()
        self._sent: list[Message] = []
        self._links: list[Link] = []
        self._ends: list[int] = []
        self._marked: dict[Ttl, list[tuple[int, str]]] = {"5m": [], "1h": []}

    def assemble(
        self, head: Head, messages: Sequence[Message], *, previous_response: str | None = None
    ) -> Assembled:
        if head != self._head:
            self._restart(head)
        self._keep(shared_length(self._given, messages))
        for message in messages[len(self._sent) :]:
            self._add(message, head)
        self._given = tuple(messages)
        chain = Chain(head, tuple(self._links))
        marks = self._policy(chain, self._standing(), self._capabilities.cache)
        points = as_breakpoints(chain, marks)
        request = Request(head, tuple(self._sent), points, previous_response, chain.tokens)
        return Assembled(request, chain, marks)

    def sent(self, request: Assembled) -> None:
        """Remember the marks of an answered request."""
        self._remember(request.marks, request.chain.links)

    def _remember(self, marks: Sequence[Mark], links: Sequence[Link]) -> None:
        """Keep the marks sorted and without duplicates."""
        for mark in marks:
            entry = (mark.index, links[mark.index].digest)
            marked = self._marked[mark.ttl]
            place = bisect_left(marked, entry)
            if marked[place : place + 1] != [entry]:
                marked.insert(place, entry)

    def clone(self) -> Assembler:
        """An independent copy in the same state."""
        other = Assembler(self._capabilities, self._policy)
        other._head = self._head
        other._given = self._given
        other._sent = self._sent.copy()
        other._links = self._links.copy()
        other._ends = self._ends.copy()
        other._marked = {ttl: marks.copy() for ttl, marks in self._marked.items()}
        return other

    def resume(self, head: Head, messages: Sequence[Message]) -> None:
        """Find out which marks stand: every response records the prefix it answered.

        One pass over the messages; the marks of each request follow from those before it.
        """
        self._restart(head)
        for message in messages:
            if message.bound_to is not None and self._digest(head) == message.bound_to:
                # Used up before the next message is added, so that no copy is needed.
                chain = Chain(head, self._links)
                marks = self._policy(chain, self._standing(), self._capabilities.cache)
                self._remember(marks, self._links)
            self._add(message, head)
        self._given = tuple(messages)

    def _digest(self, head: Head) -> str:
        return self._links[-1].digest if self._links else root_digest(head)

    def _restart(self, head: Head) -> None:
        self._head = head
        self._given = ()
        self._sent = []
        self._links = head_chain(head)
        self._ends = [len(self._links)]

    def _keep(self, count: int) -> None:
        """Forget everything after the first `count` messages."""
        del self._sent[count:]
        del self._ends[count + 1 :]
        del self._links[self._ends[-1] :]

    def _add(self, message: Message, head: Head) -> None:
        last = self._links[-1] if self._links else None
        prefix = last.digest if last else root_digest(head)
        valid = valid_under(message, prefix, bound=self._capabilities.thinking_bound)
        sent = with_key(valid, head.reminder_key)
        segments = message_segments(sent, len(self._sent))
        self._links += extend(last, prefix, segments)
        self._sent.append(sent)
        self._ends.append(len(self._links))

    def _standing(self) -> StandingMarks:
        hour = self._newest("1h")
        return StandingMarks(max(hour, self._newest("5m")), hour)

    def _newest(self, ttl: Ttl) -> int:
        """The newest mark that still stands; marks of a changed prefix are dropped."""
        marked = self._marked[ttl]
        while marked:
            index, digest = marked[-1]
            if index < len(self._links) and self._links[index].digest == digest:
                return index
            marked.pop()
        return -1
