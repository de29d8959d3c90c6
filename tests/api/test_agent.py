"""`Agent`: events, tools, permission, resuming, and use from synchronous code."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from tests.api.loops import CLAUDE
from tests.place import Place
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import Held, Reply, Text, ToolCall

from reverie import Agent, InputError, Memory, TextDelta, TurnEnded, tool
from reverie.errors import AccessDenied
from reverie.events import Event, NotesUpdated, ToolFinished, ToolStarted
from reverie.models.offline import ScriptedModel

# No requests but the conversation's own.
QUIET = {"features.extract": False}


@tool(access="read")
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


@tool(access="read")
async def wait_for_rain() -> str:
    """Wait until it rains, which it never does."""
    await asyncio.Event().wait()
    return "rain"


@tool
def launch(what: str) -> str:
    """Launch something."""
    return f"launched {what}"


@pytest.fixture
def given(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The arguments of every agent in these tests."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    settings = {"providers.anthropic.base_url": provider.anthropic_url, **QUIET}
    memory = Memory.open(place.root, settings=settings, clock=place.clock)
    return {"model": CLAUDE, "memory": memory}


def results(events: list[Event]) -> list[str]:
    return [event.result.text for event in events if isinstance(event, ToolFinished)]


class TestRunning:
    async def test_everything_is_an_event(self, provider: Provider, given: dict[str, Any]) -> None:
        provider.script(ToolCall("get_weather", {"city": "Bern"}), "It is sunny.")
        async with Agent(**given, tools=[get_weather]) as agent:
            assert agent.session is None
            events = [event async for event in agent.run("How is the weather in Bern?")]
            assert agent.session is not None
        assert results(events) == ["sunny in Bern"]
        assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "It is sunny."
        assert events[-1] == TurnEnded("end")

    async def test_it_is_one_conversation(self, provider: Provider, given: dict[str, Any]) -> None:
        provider.script("One.", "Two.")
        async with Agent(**given, system="Count aloud.") as agent:
            assert await agent.ask("Count, please.") == "One."
            assert await agent.ask("Go on, please.") == "Two."
        first, second = (request.json for request in provider.requests)
        assert "Count aloud." in str(first["system"])
        assert [str(first["messages"]).count(word) for word in ("Count,", "One.")] == [1, 0]
        assert [str(second["messages"]).count(word) for word in ("Count,", "One.")] == [1, 1]

    async def test_the_answer_is_what_was_said_after_the_last_tool(
        self, provider: Provider, given: dict[str, Any]
    ) -> None:
        provider.script(
            [Text("Let me look."), ToolCall("get_weather", {"city": "Bern"})],
            Reply((Text("It is "),), "max_tokens"),
            "sunny.",
        )
        async with Agent(**given, tools=[get_weather]) as agent:
            assert await agent.ask("How is the weather in Bern?") == "It is sunny."

    async def test_closing_the_stream_interrupts(
        self, provider: Provider, given: dict[str, Any]
    ) -> None:
        gate = Gate()
        provider.script(
            ToolCall("get_weather", {"city": "Bern"}), Held(Reply((Text("It is"),)), gate), "Well."
        )
        async with Agent(**given, tools=[get_weather]) as agent:
            async with aclosing(agent.run("How is the weather in Bern?")) as events:
                async for event in events:
                    if isinstance(event, ToolStarted):
                        break
            gate.release()
            assert await agent.ask("Never mind.")
        assert "[Interrupted" in str(provider.requests[-1].json)

    async def test_one_thing_at_a_time(self, provider: Provider, given: dict[str, Any]) -> None:
        async with Agent(**given) as agent, aclosing(agent.run("Hello there.")) as events:
            await anext(events)
            with pytest.raises(InputError, match="still working"):
                await agent.ask("And?")

    async def test_closed_is_closed(self, provider: Provider, given: dict[str, Any]) -> None:
        async with Agent(**given) as agent:
            await agent.ask("Hello there.")
        with pytest.raises(InputError, match="this agent is closed"):
            await agent.ask("And?")

    async def test_a_listener_hears_the_background(self, place: Place) -> None:
        events: list[Event] = []
        model = ScriptedModel(otherwise="Fine. " * 20_000)
        async with Agent(model, listener=events.append) as agent:
            await agent.ask("Tell me a long story.")
        assert any(isinstance(event, NotesUpdated) for event in events)

    async def test_resuming(self, provider: Provider, given: dict[str, Any]) -> None:
        async with Agent(**given) as agent:
            await agent.ask("My name is Ada.")
        async with Agent(**given, resume=agent.session) as again:
            await again.ask("What is my name?")
        assert "My name is Ada." in str(provider.requests[-1].json)

    def test_an_unknown_session(self, given: dict[str, Any]) -> None:
        with pytest.raises(InputError, match="no session 'nope' here"):
            Agent(**given, resume="nope")


class TestPermission:
    @pytest.mark.parametrize(
        ("more", "result"),
        [
            ({}, "The user did not allow launch(what='it'); ask what to do instead"),
            ({"mode": "bypass"}, "launched it"),
            ({"mode": "plan"}, "launch would change something"),
        ],
    )
    async def test_by_mode(
        self, provider: Provider, given: dict[str, Any], more: dict[str, Any], result: str
    ) -> None:
        provider.script(ToolCall("launch", {"what": "it"}), "Well.")
        async with Agent(**given, tools=[launch], **more) as agent:
            [found] = results([event async for event in agent.run("Launch it, please.")])
        assert found.startswith(result)

    async def test_approval_is_asked_for(self, provider: Provider, given: dict[str, Any]) -> None:
        asked: list[str] = []

        async def approve(call: Any, question: Any) -> Any:
            asked.append(question.question)
            return "yes"

        provider.script(ToolCall("launch", {"what": "it"}), "Well.")
        async with Agent(**given, tools=[launch], approve=approve) as agent:
            assert results([event async for event in agent.run("Launch it.")]) == ["launched it"]
        assert asked == ["Allow launch(what='it')?"]

    def test_a_plain_function_is_not_a_tool(self, place: Place) -> None:
        with pytest.raises(
            InputError, match=r"print is not a tool; decorate .* with @reverie\.tool"
        ):
            Agent(tools=[print])  # type: ignore[list-item]


class TestMemory:
    def system(self, provider: Provider) -> str:
        return str(provider.requests[-1].json["system"])

    async def test_the_memory_it_is_given(self, provider: Provider, given: dict[str, Any]) -> None:
        async with Agent(**given) as agent:
            await agent.ask("Hello there.")
        assert str(given["memory"].directory) in self.system(provider)

    async def test_that_of_another_project(
        self, place: Place, provider: Provider, given: dict[str, Any]
    ) -> None:
        elsewhere = place.base / "elsewhere"
        elsewhere.mkdir()
        async with Agent(**given, project=elsewhere) as agent:
            await agent.ask("Hello there.")
        assert str(given["memory"].directory) in self.system(provider)
        assert f"Working directory: {elsewhere}" in self.system(provider)

    async def test_none(self, provider: Provider, given: dict[str, Any]) -> None:
        url = {"providers.anthropic.base_url": provider.anthropic_url, **QUIET}
        async with Agent(CLAUDE, memory=False, settings=url) as agent:
            await agent.ask("Hello there.")
        assert str(given["memory"].directory) not in self.system(provider)

    async def test_the_projects_own(self, provider: Provider, given: dict[str, Any]) -> None:
        url = {"providers.anthropic.base_url": provider.anthropic_url, **QUIET}
        async with Agent(settings=url | {"models.main": CLAUDE}) as agent:
            await agent.ask("Hello there.")
        assert str(given["memory"].directory) in self.system(provider)


class TestWithoutAsync:
    def test_asking(self, provider: Provider, given: dict[str, Any]) -> None:
        provider.script("One.", "Two.")
        with Agent(**given) as agent:
            assert agent.ask_sync("Count, please.") == "One."
            assert agent.ask_sync("Go on, please.") == "Two."

    def test_events(self, provider: Provider, given: dict[str, Any]) -> None:
        provider.script(ToolCall("get_weather", {"city": "Bern"}), "It is sunny.")
        with Agent(**given, tools=[get_weather]) as agent:
            events = list(agent.run_sync("How is the weather in Bern?"))
        assert results(events) == ["sunny in Bern"]
        assert events[-1] == TurnEnded("end")

    def test_leaving_the_loop_interrupts(self, provider: Provider, given: dict[str, Any]) -> None:
        provider.script(ToolCall("wait_for_rain", {}), "Well.")
        with Agent(**given, tools=[wait_for_rain]) as agent:
            for event in agent.run_sync("Tell me when it rains in Bern."):
                if isinstance(event, ToolStarted):
                    break
            agent.ask_sync("Never mind.")
        assert "[Interrupted" in str(provider.requests[-1].json)

    async def test_not_inside_a_loop(self, given: dict[str, Any]) -> None:
        agent = Agent(**given)
        with pytest.raises(InputError, match=r"ask_sync\(\) cannot wait .* await agent\.ask\(…\)"):
            agent.ask_sync("Hello there.")
        with pytest.raises(InputError, match=r"run_sync\(\) cannot wait .* async for event in"):
            next(iter(agent.run_sync("Hello there.")))
        with pytest.raises(InputError, match=r"close\(\) cannot wait .* await agent\.aclose\(\)"):
            agent.close()

    def test_a_failure_is_raised(self, place: Place) -> None:
        with Agent(ScriptedModel([AccessDenied("no key")])) as agent:
            with pytest.raises(AccessDenied, match="no key"):
                agent.ask_sync("Hello there.")
            assert agent.ask_sync("Hello again.") == "Done."
