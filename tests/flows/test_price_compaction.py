"""A long session is compacted by price: on the wire, within the rules, and the same after a resume."""

import json

import pytest
from tests.flows.sessions import Desk, reader
from tests.place import Place
from tests.provider.provider import Provider

from reverie.core.request import canonical_bytes
from reverie.events import Event, LayerFired

OPTIONS = ("features.extract=false", "features.dream=false", "features.microcompact_batch=false")
TURNS = 40


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(place, provider, monkeypatch)
    for i in range(TURNS):
        desk.write(f"part_{i}.py", f"part_{i} = 'a line of source that says little'\n" * 300)
    desk.provider.respond(reader)
    return desk


def fired(events: list[Event]) -> list[str]:
    return [e.layer for e in events if isinstance(e, LayerFired)]


async def played(desk: Desk) -> tuple[list[Event], list[dict]]:
    events: list[Event] = []
    first = len(desk.provider.requests)
    async with desk.session(*OPTIONS) as session:
        for i in range(TURNS):
            events += await desk.hear(session, f"Please read part_{i}.py, request {i}.")
    return events, [request.json for request in desk.provider.requests[first:]]


async def test_the_head_stays_and_the_old_messages_become_a_record(desk: Desk) -> None:
    events, requests = await played(desk)
    assert "compaction" in fired(events)
    assert len({json.dumps([r["system"], r["tools"]]) for r in requests}) <= 2
    last = json.dumps(requests[-1]["messages"])
    assert "Please read part_0.py, request 0." in last
    assert "I have read it." in last
    assert last.count("a line of source that says little") < 300 * TURNS * 2 // 3
    sizes = [len(json.dumps(r["messages"])) for r in requests]
    assert max(sizes) > 2 * min(sizes[sizes.index(max(sizes)) :])


async def test_a_resumed_session_sends_the_same_bytes(desk: Desk) -> None:
    async with desk.session(*OPTIONS) as session:
        for i in range(TURNS):
            await desk.hear(session, f"Please read part_{i}.py, request {i}.")
        compactions = len(session.conversation.state.compactions)
        before = session.conversation.assembled().request
    assert compactions >= 1
    async with desk.session(*OPTIONS, resume=True) as session:
        after = session.conversation.assembled().request
    assert canonical_bytes(after) == canonical_bytes(before)
    assert after.breakpoints == before.breakpoints


async def test_hooks_are_asked_before_a_compaction_and_not_when_one_is_weighed(desk: Desk) -> None:
    asked: list[str] = []

    async def ask(trigger: str, instructions: str) -> str:
        asked.append(trigger)
        return instructions

    async with desk.session(*OPTIONS) as session:
        session.upkeep.before_compaction = ask
        for i in range(TURNS):
            await desk.hear(session, f"Please read part_{i}.py, request {i}.")
        assert asked == ["automatic"] * len(session.conversation.state.compactions)
    assert asked


async def test_faithful_keeps_more_than_thrifty(desk: Desk) -> None:
    kept = {}
    for profile in ("thrifty", "faithful"):
        async with desk.session(*OPTIONS, f"context.profile={profile}") as session:
            for i in range(TURNS):
                await desk.hear(session, f"Please read part_{i}.py, request {i}.")
            kept[profile] = session.conversation.state.tokens
    assert kept["thrifty"] < kept["faithful"]
