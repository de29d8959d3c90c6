"""Snip and collapse in a session: a span of finished rounds is sent as one marker message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from reverie.agent.fork import Forks, Task
from reverie.context import NotDue, collapse, snip
from reverie.context.collapse import Collapsed, NoSpan, NotExpanded
from reverie.context.snip import NotSnipped, Snipped, SnipRequest
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import Folded, Unfolded
from reverie.core.window import Window
from reverie.events import Announce, LayerFired

COLLAPSE = "collapse"


@dataclass(slots=True)
class Folding:
    """Applies snip and collapse to a conversation, each if its feature is on."""

    conversation: Conversation
    window: Window
    on: Callable[[str], bool]
    announce: Announce
    forks: Forks | None = None
    _requests: list[SnipRequest] = field(default_factory=list)

    def mark(self, request: SnipRequest) -> str:
        """Queue a request; it is carried out at the next boundary, when no call is open."""
        found = self._resolved(request)
        if isinstance(found, NotSnipped):
            return f"Nothing is left out: {found.reason}"
        self._requests.append(request)
        return "These rounds are left out from the next request on."

    def snip(self) -> None:
        """Carry out the queued snip requests."""
        for request in self._requests:
            found = self._resolved(request)
            if isinstance(found, Snipped):
                record = Folded(found.first, found.last, found.marker, snip.NAME)
                self._fold(record, request.note)
        self._requests.clear()

    async def collapse(self) -> None:
        """Fold the oldest finished rounds under a summary when the window fills up."""
        state = self.conversation.state
        verdict = collapse.due(state.tokens, self.window, enabled=self.on(COLLAPSE))
        if isinstance(verdict, NotDue):
            return
        span = collapse.plan(state.shown, state.tokens, self.window)
        if isinstance(span, NoSpan):
            return
        ask = None if self.forks is None else self._summarize
        done = await collapse.run(span, ask, at=self.conversation.now, announce=self.announce)
        self._fold(Folded(done.first, done.last, done.summary, COLLAPSE), verdict.reason)

    def expand(self, name: str) -> str:
        """Expand the fold of this name."""
        state = self.conversation.state
        folds = [Collapsed(fold.first, fold.last, fold.marker) for fold in state.folds]
        left = collapse.expand(state.messages, folds, name)
        if isinstance(left, NotExpanded):
            return left.reason
        [opened] = [fold for fold in folds if fold not in left]
        self.conversation.expect_break(f"expanded {name}")
        self.conversation.record(Unfolded(opened.summary.id))
        return "It is shown again, where it was, from the next request on."

    def _resolved(self, request: SnipRequest) -> Snipped | NotSnipped:
        return snip.resolve(self.conversation.state.shown, request, at=self.conversation.now)

    def _fold(self, record: Folded, why: str) -> None:
        before = self.conversation.state.tokens
        self.conversation.expect_break(f"{record.kind}: {why}")
        self.conversation.record(record)
        self.announce(LayerFired(record.kind, before, self.conversation.state.tokens, why))

    async def _summarize(self, directive: str) -> str:
        if self.forks is None:
            return ""
        return (await self.forks.run(Task("compact", directive))).reply.text
