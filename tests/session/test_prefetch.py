"""Recall beside a turn: in time, late, dropped or cancelled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from reverie.core.messages import Attachment, Message, Text, new_message
from reverie.events import Event, MemoriesLate, TroubleNoted
from reverie.recall.pipeline import RecallOutcome
from reverie.session.prefetch import Late, Prefetch

ASKED = new_message("user", Text("when can I ship?"))
FOUND = RecallOutcome(Attachment("recall", "No deploys."), ("freeze.md",), "chosen by score")


class Gated:
    """Recall that is done when the test says so."""

    started_at: float | None = 0.0

    def __init__(self, error: Exception | None = None) -> None:
        self.gate = asyncio.Event()
        self.error = error
        self.asked: list[tuple[Message, Sequence[str]]] = []
        self.cancelled = False

    async def recollect(
        self,
        message: Message,
        *,
        enabled: bool = True,
        seen: frozenset[str] = frozenset(),
        tools: Sequence[str] = (),
    ) -> RecallOutcome:
        self.asked.append((message, tools))
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.error is not None:
            raise self.error
        return FOUND

    async def after_tools(self, uses: object, results: object) -> RecallOutcome | None:
        return None

    def replied(self, reply: str) -> None:
        return None


class Turn:
    """One message's recall, and what was announced meanwhile."""

    def __init__(
        self, error: Exception | None = None, *, late: Late = "inject", enabled: bool = True
    ) -> None:
        self.recall = Gated(error)
        self.heard: list[Event] = []
        announce = self.heard.append
        self.prefetch = Prefetch(
            self.recall, ASKED, announce, enabled=enabled, late=late, tools=("Read",)
        )

    async def done(self) -> None:
        """Let recall end, and the loop notice."""
        self.recall.gate.set()
        await settled()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_is_found_in_time_is_given_once() -> None:
    turn = Turn()
    with turn.prefetch as memories:
        turn.recall.gate.set()
        assert await memories.ready(20) is FOUND
        assert memories.at_boundary() is None
        assert await memories.ready(20) is None
    assert (turn.recall.asked, turn.heard) == ([(ASKED, ("Read",))], [])


async def test_a_miss_is_told_and_what_comes_late_is_given_at_the_next_boundary() -> None:
    turn = Turn()
    with turn.prefetch as memories:
        assert await memories.ready(0.25 / 1_000) is None
        assert turn.heard == [MemoriesLate(0.000_25)]
        assert memories.at_boundary() is None
        await turn.done()
        assert memories.at_boundary() is FOUND
        assert memories.at_boundary() is None
    assert len(turn.heard) == 1


async def test_the_time_behind_other_conversations_does_not_count() -> None:
    turn = Turn()
    turn.recall.started_at = None
    with turn.prefetch as memories:
        waiting = asyncio.create_task(memories.ready(0.25 / 1_000))
        await asyncio.sleep(0.001)
        turn.recall.started_at = time.monotonic() + 60
        turn.recall.gate.set()
        assert await waiting is FOUND
    assert turn.heard == []


async def test_what_never_begins_is_a_miss() -> None:
    turn = Turn()
    turn.recall.started_at = None
    with turn.prefetch as memories:
        assert await memories.ready(0.25 / 1_000) is None
    assert turn.heard == [MemoriesLate(0.000_25)]


async def test_without_a_deadline_recall_is_waited_for() -> None:
    turn = Turn()
    with turn.prefetch as memories:
        waiting = asyncio.create_task(memories.ready(None))
        await settled()
        assert not waiting.done()
        turn.recall.gate.set()
        assert await waiting is FOUND
    assert turn.heard == []


async def test_what_comes_late_may_be_dropped() -> None:
    turn = Turn(late="drop")
    with turn.prefetch as memories:
        assert await memories.ready(0) is None
        assert memories.at_boundary() is None
        await settled()
        assert turn.recall.cancelled
        assert memories.at_boundary() is None


async def test_recall_is_cancelled_when_the_turn_ends() -> None:
    turn = Turn()
    with turn.prefetch as memories:
        assert await memories.ready(0) is None
    await settled()
    assert turn.recall.cancelled


async def test_recall_is_cancelled_when_the_turn_fails() -> None:
    turn = Turn()
    await turn.prefetch.ready(0)
    with pytest.raises(ValueError, match="the turn failed"), turn.prefetch:
        raise ValueError("the turn failed")
    await settled()
    assert turn.recall.cancelled


async def test_recall_that_fails_is_told_and_the_turn_goes_on() -> None:
    turn = Turn(ValueError("torn"))
    with turn.prefetch as memories:
        turn.recall.gate.set()
        assert await memories.ready(20) is None
    assert turn.heard == [TroubleNoted("recall", "ValueError('torn'); going on without memories")]


async def test_recall_that_is_off_finds_nothing() -> None:
    turn = Turn(enabled=False)
    with turn.prefetch as memories:
        assert await memories.ready(0) is None
        assert memories.at_boundary() is None
    assert (turn.recall.asked, turn.heard) == ([], [])
