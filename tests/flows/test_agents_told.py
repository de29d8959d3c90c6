"""Who was hired is told from outside: while the session runs, after it, and when it was killed."""

import json
import shutil

import pytest
from tests.cli.run import data, done
from tests.flows.crew_cast import LEAD, Cast, Team, agent, letter, team_of, until
from tests.flows.sessions import hear
from tests.place import Place
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import Held, HttpError, Reply, Text, ToolCall

MARKED = "The answer is forty-two."


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Team:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)
    return Team(place, provider, monkeypatch)


def states(*arguments: str) -> dict[str, str]:
    return {row["name"]: row["state"] for row in data("agents", *arguments)}


def has_heard(cast: Cast, *words: str) -> bool:
    """Was the lead shown all of this?"""
    shown = json.dumps(cast.asked[LEAD][-1].json)
    return all(one in shown for one in words)


async def test_running_done_ended_early_and_lost(desk: Team, provider: Provider) -> None:
    gate = Gate()
    hires = (
        agent("find the answer", how="background"),
        agent("fail", how="background", type="explore"),
        agent("review", how="teammate", name="rita"),
        agent("wait", how="background", name="willy"),
    )
    cast = Cast(
        provider,
        {
            LEAD: [Reply(hires), letter("rita", "Look at a.py, too."), "All are at work."],
            "general-1": [MARKED],
            "explore-1": [ToolCall("Glob", {"pattern": "*"}), HttpError(400, "no such thing")],
            "rita": ["A first look is done.", "a.py is fine."],
            "willy": [Held(Reply((Text("never"),)), gate)],
        },
    )
    async with desk.session() as session:
        crew = team_of(session)
        async for _ in session.run("Hire four."):
            pass
        await until(session, lambda: has_heard(cast, "a.py is fine.", MARKED))
        await until(session, lambda: len(crew.running) == 2)
        running = {
            "general-1": "done",
            "explore-1": "ended early",
            "rita": "running",
            "willy": "running",
        }
        assert states() == running
        journal = desk.app().journals()[0]
        # A process that is killed now leaves its transcript as it is, and no lock.
        shutil.copy(journal, journal.with_name("20250101-000000-killed.jsonl"))
        lost = {**running, "rita": "lost", "willy": "lost"}
        assert states("--session", "20250101-000000-killed") == lost
        rows = {row["name"]: row for row in data("agents", "--session", journal.stem)}
        assert rows["rita"]["tokens"] == crew.members["rita"].tokens > 1_000
        assert rows["general-1"]["tokens"] == crew.members["general-1"].tokens
        assert "no such thing" in rows["explore-1"]["why"]
        # Who is still held by its provider must be let go before the provider is.
        gate.release()
    after = {row["name"]: row for row in data("agents", "--session", journal.stem)}
    assert after["rita"]["state"] == "ended early"
    assert after["rita"]["why"] == "the session was closed"
    text = done("agents", "--all")
    assert f"session {journal.stem}" in text
    assert "lost with its session" in text
    assert "ended early: " in text

    told = data("agents", "show", "rita", "--session", journal.stem)
    assert (told["task"], told["answer"]) == ("Please review.", "a.py is fine.")
    sent = [(one["sender"], one["to"], one["text"]) for one in told["letters"]]
    assert ("lead", "rita", "Look at a.py, too.") in sent
    assert ("rita", "lead", "a.py is fine.") in sent
    answered = data("agents", "show", "general-1", "--session", journal.stem)
    assert answered["answer"] == MARKED
    assert [one["text"] for one in answered["letters"]] == [MARKED]


async def test_a_fork_and_one_that_was_waited_for(desk: Team, provider: Provider) -> None:
    Cast(
        provider,
        {
            LEAD: [
                Reply((agent("think aside", how="fork"), agent("look", type="explore"))),
                "Both are done.",
            ],
            "fork": ["", "Thought about it."],
            "explore-1": ["Looked at it."],
        },
    )
    async with desk.session() as session:
        await hear(session, "Have it thought about.")
        crew = team_of(session)
        await until(session, lambda: not crew.running)
    assert states() == {"fork-1": "done", "explore-1": "done"}
    assert data("agents", "show", "fork-1")["answer"] == "Thought about it."
    assert data("agents", "show", "explore-1")["answer"] == "Looked at it."
