"""Snip and collapse at work in a session: spans of finished rounds are sent as one marker."""

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
    """Both ways of folding, each behind its switch."""

    conversation: Conversation
    window: Window
    on: Callable[[str], bool]
    announce: Announce
    forks: Forks | None = None
    _wishes: list[SnipRequest] = field(default_factory=list)

    def mark(self, wish: SnipRequest) -> str:
        """Take a wish; it is fulfilled at the next boundary, when no call is open."""
        found = self._fulfilled(wish)
        if isinstance(found, NotSnipped):
            return f"Nothing is left out: {found.reason}"
        self._wishes.append(wish)
        return "These rounds are left out from the next request on."

    def snip(self) -> None:
        """Leave out what was marked as finished."""
        for wish in self._wishes:
            found = self._fulfilled(wish)
            if isinstance(found, Snipped):
                record = Folded(found.first, found.last, found.marker, snip.NAME)
                self._fold(record, wish.note)
        self._wishes.clear()

    async def collapse(self) -> None:
        """Fold the oldest finished rounds under a summary, if the window asks for it."""
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
        """Open again what was folded under a name."""
        state = self.conversation.state
        folds = [Collapsed(fold.first, fold.last, fold.marker) for fold in state.folds]
        left = collapse.expand(state.messages, folds, name)
        if isinstance(left, NotExpanded):
            return left.reason
        [opened] = [fold for fold in folds if fold not in left]
        self.conversation.expect_break(f"expanded {name}")
        self.conversation.record(Unfolded(opened.summary.id))
        return "It is shown again, where it was, from the next request on."

    def _fulfilled(self, wish: SnipRequest) -> Snipped | NotSnipped:
        return snip.fulfil(self.conversation.state.shown, wish, at=self.conversation.now)

    def _fold(self, record: Folded, why: str) -> None:
        before = self.conversation.state.tokens
        self.conversation.expect_break(f"{record.kind}: {why}")
        self.conversation.record(record)
        self.announce(LayerFired(record.kind, before, self.conversation.state.tokens, why))

    async def _summarize(self, directive: str) -> str:
        if self.forks is None:
            return ""
        return (await self.forks.run(Task("compact", directive))).reply.text
