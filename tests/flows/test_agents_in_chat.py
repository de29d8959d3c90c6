"""Agents in a conversation at the terminal: who is at work is seen at any time, and can be ended."""

import asyncio
import re

import pytest
from tests.cli.test_chat_actions import Typist
from tests.flows.crew_cast import LEAD, Cast, Team, agent
from tests.flows.sessions import MODEL
from tests.place import Place
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import Held, Reply, Text, ToolCall

from reverie.cli.talk.chat import Chat
from reverie.session.options import SessionOptions


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Team:
    return Team(place, provider, monkeypatch)


class Patient(Typist):
    """Types on when everybody who will wait does so."""

    def __init__(self, gate: Gate, *lines: str) -> None:
        super().__init__(*lines)
        self._gate = gate
        self._typed = 0

    async def line(self) -> str | None:
        self._typed += 1
        if self._typed == 2:
            await asyncio.to_thread(self._gate.wait_reached)
        return await super().line()


async def talked(desk: Team, typist: Typist, *, conversations: int) -> str:
    for number in range(conversations):
        desk.provider.expect_conversation(f"conversation {number}", within=50)
    await Chat(desk.app(), typist).run(SessionOptions(model=MODEL, mode="bypass"))
    return typist.text


async def test_listed_and_stopped(desk: Team, provider: Provider) -> None:
    gate = Gate()
    Cast(
        provider,
        {
            LEAD: [
                Reply((agent("look around", type="explore"), agent("wait", how="background"))),
                "One is done, one waits.",
            ],
            "explore-1": [ToolCall("Glob", {"pattern": "*"}), "Seen."],
            "general-1": [Held(Reply((Text("never"),)), gate)],
        },
    )
    typist = Patient(
        gate,
        "Hire two.",
        "/agents",
        "/agents stop generl-1",
        "/agents stop general-1",
        "/agents stop general-1",
        "/agents",
    )
    text = await talked(desk, typist, conversations=3)
    gate.release()
    first, second = re.findall(r"^name .*\n(?:.*\n){2}", text, re.MULTILINE)
    done = r"explore-1\s+explore\s+wait\s+[\d.,k]+\s+0 s\s+done \(look around\)"
    assert re.search(done, first)
    assert re.search(r"general-1\s+general\s+background\s+0\s+0 s\s+at work \(wait\)", first)
    assert "✗ there is no agent 'generl-1'; did you mean general-1?" in text
    assert "Stopped: general-1\n" in text
    assert "general-1 is no longer running: ended early: the user stopped it" in text
    assert re.search(r"general-1 .* ended early: the user stopped it \(wait\)", second)


async def test_of_an_earlier_sitting(desk: Team, provider: Provider) -> None:
    Cast(provider, {LEAD: [agent("look around", type="explore"), "Seen."], "explore-1": ["Seen."]})
    typist = Typist("Have a look.", "/clear", "/resume 1", "/agents")
    text = await talked(desk, typist, conversations=2)
    assert re.search(r"explore-1\s+explore\s+wait\s+[\d.,k]+\s+0 s\s+done \(look around\)", text)
