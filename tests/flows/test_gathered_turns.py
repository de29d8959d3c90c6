"""A model reads several turns at once: after a pause, at the end, when they are many, or a session later."""

import asyncio
import json

import pytest
from tests.flows.sessions import Desk, hear
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest

from reverie.events import Event, ForkEnded
from reverie.learning.extraction.fork import MOST_TURNS
from reverie.session.query import Session

ON = "features.extract=true"
# A model reads at once, whatever it costs.
AT_ONCE = "learning.share=1"


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(place, provider, monkeypatch)


def is_side_task(request: RecordedRequest) -> bool:
    return "<side-task>" in json.dumps(request.json["messages"])


class TestGathering:
    """A model reads several turns at once: after a pause, at the end, or when they are many."""

    LATER = "learning.pause=3600"

    def rule(self, number: int) -> str:
        return (
            f"We decided that importer number {number} always runs at night, because of the load."
        )

    def side_tasks(self, desk: Desk) -> list[RecordedRequest]:
        return [request for request in desk.provider.requests if is_side_task(request)]

    async def talk(self, session: Session, turns: int) -> None:
        for number in range(turns):
            _ = [event async for event in session.run(self.rule(number))]

    async def test_turns_are_read_together_when_the_conversation_ends(self, desk: Desk) -> None:
        desk.provider.script("Very well.", "Very well.", "Nothing to save.")
        async with desk.session(ON, self.LATER) as session:
            await self.talk(session, 2)
            assert self.side_tasks(desk) == []
            await session.aclose()
        [task] = self.side_tasks(desk)
        assert all(self.rule(number) in json.dumps(task.json["messages"]) for number in range(2))

    async def test_many_turns_are_not_kept_waiting(self, desk: Desk) -> None:
        desk.provider.script(*["Very well."] * MOST_TURNS, "Nothing to save.")
        async with desk.session(ON, AT_ONCE, self.LATER) as session:
            ended = asyncio.Event()

            def listen(event: Event) -> None:
                if isinstance(event, ForkEnded):
                    ended.set()

            with session.announce.subscribed(listen):
                await self.talk(session, MOST_TURNS)
                await asyncio.wait_for(ended.wait(), 60)
        assert len(self.side_tasks(desk)) == 1

    async def test_what_was_gathered_is_still_new_to_a_session_that_goes_on_after_a_crash(
        self, desk: Desk
    ) -> None:
        desk.provider.script("Very well.", "Good morning.", "Nothing to save.")
        async with desk.session(ON, self.LATER) as session:
            await self.talk(session, 1)
            await session.background.cancel()
        assert self.side_tasks(desk) == []
        async with desk.session(ON, resume=True) as session:
            await hear(session, "Hello again!")
        [task] = self.side_tasks(desk)
        assert self.rule(0) in json.dumps(task.json["messages"])

    async def test_what_costs_too_much_waits_for_the_next_conversation(self, desk: Desk) -> None:
        """A dear model reads two conversations at once; the rules have read both before."""
        price = 'prices."claude-sonnet-5-5"'
        dear = (f"{price}.input=400", f"{price}.output=2000", self.LATER)
        desk.provider.script("Very well.")
        async with desk.session(ON, *dear) as session:
            first = session.conversation.state.session
            await self.talk(session, 1)
        assert self.side_tasks(desk) == []
        desk.provider.script("Good morning.", "Nothing to save.")
        async with desk.session(ON, AT_ONCE, self.LATER) as session:
            assert session.conversation.state.session != first
            await hear(session, "We decided that the night importer never runs on Sundays.")
        [task] = self.side_tasks(desk)
        told = json.dumps(task.json["messages"])
        assert self.rule(0) in told
        assert "never runs on Sundays" in told
        desk.provider.script("Good morning.")
        # Three conversations do not extend each other.
        desk.provider.problems = list
        async with desk.session(ON, AT_ONCE, self.LATER) as session:
            await hear(session, "Hello again!")
        assert len(self.side_tasks(desk)) == 1
