"""One journalled conversation with one model.

This is the bare exchange: assemble a request, stream the reply, check the cache, record. Layers and
tools are composed around it; it knows neither.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace

from reverie.conversation.assemble import Assembled, Assembler
from reverie.conversation.journal import Journal, Recorder
from reverie.conversation.records import Branched, HeadFrozen, Opened, Record, Said, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import Block, Message, Origin, new_message
from reverie.core.prompt_cache.breakpoints import Policy
from reverie.core.prompt_cache.tracker import (
    Broken,
    Expectation,
    ExpectedBreak,
    Kept,
    Sent,
    Tracker,
)
from reverie.core.request import CacheEdit, Head, Reply
from reverie.core.usage import MAIN, Purpose
from reverie.core.window import Ttl
from reverie.errors import InvariantBroken, ReplyBroken
from reverie.events import Announce, CacheBroke, ContextCleared, Event, Replied, no_listener
from reverie.ports import Clock, Model


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
