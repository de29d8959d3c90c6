"""One journalled conversation with one model, and the requests assembled from it.

The work is proportional to the new messages: those that are the same objects as last time keep
their links. Thinking whose prefix has changed is left out (`core.transcript`), and the marks for the
prompt cache are placed (`core.prompt_cache`).

This is the bare exchange: assemble a request, stream the reply, check the cache, record. Layers and
tools are composed around it; it knows neither.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncIterator, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace

from reverie.conversation.journal import Journal, Recorder
from reverie.conversation.records import Branched, HeadFrozen, Opened, Record, Said, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import Block, Message, Origin, new_message, shared_length
from reverie.core.prompt_cache import (
    Chain,
    Link,
    Mark,
    Policy,
    StandingMarks,
    as_breakpoints,
    extend,
    head_chain,
    placed,
    root_digest,
)
from reverie.core.prompt_cache.tracker import (
    Broken,
    Expectation,
    ExpectedBreak,
    Kept,
    Sent,
    Tracker,
)
from reverie.core.request import CacheEdit, Head, Reply, Request, message_segments, with_key
from reverie.core.transcript import valid_under
from reverie.core.usage import MAIN, Purpose
from reverie.core.window import Capabilities, Ttl
from reverie.errors import InvariantBroken, ReplyBroken
from reverie.events import Announce, CacheBroke, ContextCleared, Event, Replied, no_listener
from reverie.ports import Clock, Model


@dataclass(frozen=True, slots=True)
class Assembled:
    """A request, its chain, and which links carry a cache mark."""

    request: Request
    chain: Chain
    marks: tuple[Mark, ...]


class Assembler:
    """Assembles the requests of one conversation, each from the one before.

    `assemble` does not change the marks. Call `sent` for a request that was answered: from
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
                # Consumed before the next message is added, so no copy is needed.
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


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was sent: when, and what it expects to find in the cache."""

    sent: Assembled
    at: float
    promise: Expectation


@dataclass(slots=True)
class Conversation:
    """A journalled conversation; `state` follows from its records alone."""

    journal: InitVar[Journal]
    model: Model
    clock: Clock
    _: KW_ONLY
    state: SessionState = field(default_factory=SessionState)
    purpose: Purpose = MAIN
    policy: Policy | None = None
    announce: Announce = no_listener
    _recorder: Recorder = field(init=False)
    _assembler: Assembler = field(init=False)
    _tracker: Tracker = field(init=False)

    def __post_init__(self, journal: Journal) -> None:
        self._recorder = Recorder(journal, self.announce)
        self._assembler = Assembler(self.model.capabilities, self.policy)
        self._tracker = Tracker(self.model.capabilities.cache)
        if self.state.head is not None:
            self._assembler.resume(self.state.head, self.state.shown)
            if cause := self.state.rewritten:
                self._tracker.expect_break(f"taken out of the transcript: {cause}")

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation as it is sent."""
        return self.state.shown

    @property
    def now(self) -> float:
        """The time, rounded as in a transcript."""
        return round(self.clock.now(), 3)

    @property
    def ttl(self) -> Ttl:
        """How long the provider keeps the newest part of the prefix."""
        return self._tracker.ttl

    def open(self, session: str, head: Head, project: str = "") -> None:
        """Open a new conversation and freeze its head."""
        self.record(Opened(session, self.now, project), HeadFrozen(head))

    def branch(self, purpose: Purpose, model: Model, journal: Journal) -> Conversation:
        """A side conversation that shares every byte so far and does not affect this one."""
        if self.state.head is None or not self.state.messages:
            raise InvariantBroken("a conversation must be opened and spoken to before it branches")
        side = Conversation(journal, model, self.clock, purpose=purpose)
        side._assembler = self._assembler.clone()
        side._tracker = self._tracker.clone()
        side.state = self.state.branch()
        after = self.state.messages[-1].id
        side._recorder.append(Branched(self.state.session, after, purpose))
        return side

    def say(self, *blocks: Block, origin: Origin = "user") -> Message:
        """Add a message from the user side."""
        after = self.state.messages[-1] if self.state.messages else None
        message = new_message("user", *blocks, after=after, at=self.now, origin=origin)
        self.record(Said(message))
        return message

    def change_model(self, model: Model) -> None:
        """Switch to another model, which has nothing cached and may have other cache rules."""
        self.model = model
        self._assembler = Assembler(model.capabilities, self.policy)
        self._tracker = Tracker(model.capabilities.cache)
        self._tracker.expect_break(f"the model is {model.name} now")

    def expect_break(self, reason: str) -> None:
        """Register that the prefix is about to change on purpose."""
        self._tracker.expect_break(reason)

    def assembled(self) -> Assembled:
        """The request as it would be sent now."""
        if self.state.head is None or not self.state.messages:
            raise InvariantBroken("a conversation must be opened and spoken to before it is sent")
        previous = self.state.usages[-1].response if self.state.usages else None
        made = self._assembler.assemble(
            self.state.head, self.state.shown, previous_response=previous
        )
        if not self.model.capabilities.cache_edits or not self.state.cache_edits:
            return made
        return replace(made, request=replace(made.request, cache_edits=self._standing_edits()))

    async def send(self) -> AsyncIterator[Event]:
        """One request and its reply, as events; the reply is in the state when this ends."""
        asked = self.ask()
        answered = False
        async for item in self.model.stream(asked.sent.request):
            if not isinstance(item, Reply):
                yield item
                continue
            answered = True
            for event in self.take(item, asked):
                yield event
        if not answered:
            raise ReplyBroken(f"{self.model.name} ended its stream without a reply; try again")

    def ask(self) -> Asked:
        """The next request; the caller sends it and passes the reply to `take`."""
        sent = self.assembled()
        return Asked(sent, self.clock.now(), self._tracker.before(sent.chain))

    def take(self, reply: Reply, asked: Asked) -> list[Event]:
        """Record a reply, and check by its usage whether the cache was hit."""
        self._replied(reply, asked.sent)
        sent = Sent(asked.sent.chain, asked.sent.marks, asked.at)
        verdict = self._tracker.after(asked.promise, sent, reply.usage, reply.diagnosis)
        if isinstance(verdict, Broken) and reply.cleared:
            verdict = ExpectedBreak("the provider cleared old content", verdict.lost)
        session = self.state.session
        events: list[Event] = []
        if not isinstance(verdict, Kept):
            events.append(CacheBroke(session, self.purpose, verdict))
        events += [ContextCleared(session, cleared) for cleared in reply.cleared]
        return [*events, Replied(reply)]

    def _standing_edits(self) -> tuple[CacheEdit, ...]:
        """The edits sent so far whose results are still in the conversation, in order."""
        there = {r.tool_use_id for m in self.state.messages for r in m.tool_results}
        edits = (e for e in self.state.cache_edits if there.issuperset(e.tool_use_ids))
        return tuple(CacheEdit(edit.tool_use_ids, edit.after_message) for edit in edits)

    def _replied(self, reply: Reply, sent: Assembled) -> None:
        self._assembler.sent(sent)
        used = Used(reply.id, self.purpose, reply.model, reply.usage, self.now)
        if not reply.blocks:
            self.record(used)
            return
        last = self.state.messages[-1]
        message = reply.as_message(after=last, at=used.at, bound_to=sent.chain.digest)
        self.record(Said(message), used)

    def record(self, *records: Record) -> None:
        """Append records to the journal and apply them to the state."""
        self._recorder.append(*records)
        for record in records:
            self.state.apply(record)
