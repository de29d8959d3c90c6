"""One conversation with one model: say, send, and every step is journalled.

This is the bare exchange: assemble, stream, judge the cache, write down. Layers and tools are
composed around it; it knows neither.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from reverie.core.messages import Block, Message, Origin, new_message
from reverie.core.prompt_cache.breakpoints import Policy
from reverie.core.prompt_cache.tracker import Kept, Sent, Tracker
from reverie.core.reply import Reply
from reverie.core.request import Head
from reverie.core.spend import MAIN, Purpose
from reverie.errors import InvariantBroken, ReplyBroken
from reverie.events import CacheBroke, ContextCleared, Event, Replied
from reverie.ports import Clock, Model
from reverie.session.assemble import Assembled, Assembler
from reverie.session.journal import Journal
from reverie.session.records import HeadFrozen, Opened, Record, Said, Used
from reverie.session.state import SessionState


class Conversation:
    """A journalled conversation; `state` is what its records say, nothing else."""

    def __init__(
        self,
        journal: Journal,
        model: Model,
        clock: Clock,
        *,
        state: SessionState | None = None,
        purpose: Purpose = MAIN,
        policy: Policy | None = None,
    ) -> None:
        self.state = state or SessionState()
        self.model = model
        self._journal = journal
        self._clock = clock
        self._purpose = purpose
        self._assembler = Assembler(model.capabilities, policy)
        self._tracker = Tracker(model.capabilities.cache)
        if self.state.head is not None:
            self._assembler.resume(self.state.head, self.state.messages)

    def open(self, session: str, head: Head, project: str = "") -> None:
        """Begin: from here on the head's bytes do not change."""
        self._record(Opened(session, round(self._clock.now(), 3), project), HeadFrozen(head))

    def say(self, *blocks: Block, origin: Origin = "user") -> Message:
        """Add a message from the user side."""
        after = self.state.messages[-1] if self.state.messages else None
        at = round(self._clock.now(), 3)
        message = new_message("user", *blocks, after=after, at=at, origin=origin)
        self._record(Said(message))
        return message

    def expect_break(self, reason: str) -> None:
        """A layer is about to change the prefix on purpose."""
        self._tracker.expect_break(reason)

    def assembled(self) -> Assembled:
        """The request as it would be sent now."""
        if self.state.head is None or not self.state.messages:
            raise InvariantBroken("a conversation must be opened and spoken to before it is sent")
        previous = self.state.usages[-1].response if self.state.usages else None
        return self._assembler.assemble(
            self.state.head, self.state.messages, previous_response=previous
        )

    async def send(self) -> AsyncIterator[Event]:
        """One request and its reply, as events; the reply is in the state when this ends."""
        sent = self.assembled()
        at = self._clock.now()
        promise = self._tracker.before(sent.chain)
        answered = False
        async for item in self.model.stream(sent.request):
            if not isinstance(item, Reply):
                yield item
                continue
            answered = True
            self._replied(item, sent)
            verdict = self._tracker.after(
                promise, Sent(sent.chain, sent.marks, at), item.usage, item.diagnosis
            )
            if not isinstance(verdict, Kept):
                yield CacheBroke(self.state.session, self._purpose, verdict)
            for cleared in item.cleared:
                yield ContextCleared(self.state.session, cleared)
            yield Replied(item)
        if not answered:
            raise ReplyBroken(f"{self.model.name} ended its stream without a reply; try again")

    def _replied(self, reply: Reply, sent: Assembled) -> None:
        self._assembler.sent(sent)
        now = round(self._clock.now(), 3)
        used = Used(reply.id, self._purpose, reply.model, reply.usage, now)
        if not reply.blocks:
            self._record(used)
            return
        last = self.state.messages[-1]
        message = reply.as_message(after=last, at=now, bound_to=sent.chain.digest)
        self._record(Said(message), used)

    def _record(self, *records: Record) -> None:
        self._journal.append(*records)
        for record in records:
            self.state.apply(record)
