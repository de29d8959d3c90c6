"""openai-agents, the real runner, on the loopback provider."""

import asyncio
import stat
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.clients.adapters.common import (
    ASKED,
    FACT,
    LONG,
    OFF,
    QUESTION,
    Listener,
    bodies,
    memory,
    meteorologist,
    stored,
)
from tests.flows.examples import Example, examples, run
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.script import ToolCall

from reverie.errors import SpendCapReached
from reverie.events import (
    CacheBroke,
    LayerFired,
    MemoriesSaved,
    MemoriesSurfaced,
    Replied,
    TroubleNoted,
)
from reverie.workspace import Workspace

pytest.importorskip("agents")

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel
from openai import AsyncOpenAI
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from reverie.adapters.openai_agents import ReverieSession

PAGE = "docs/integrations/openai-agents.md"
WEATHER = ToolCall("get_weather", {"city": "Bern"})

set_tracing_disabled(True)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "ours")


@pytest.fixture
async def client(provider: Provider) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(api_key="mine", base_url=provider.openai_url) as made:
        yield made


class Talk:
    """A program that keeps nothing but the name of its session."""

    def __init__(
        self,
        place: Place,
        provider: Provider,
        client: AsyncOpenAI,
        *,
        text: str = "sunny",
        **given: Any,
    ) -> None:
        @function_tool
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return text

        kind = given.pop("kind", OpenAIResponsesModel)
        model = kind(given.pop("served", "gpt-5.5"), client)
        self.agent = Agent(
            "Meteorologist", instructions="Be brief.", model=model, tools=[get_weather]
        )
        self.listener = Listener(provider)
        self.memory = memory(place, provider, **given.pop("overrides", {}))
        session = given.pop("session", "ticket-42")
        self.session = ReverieSession(session, memory=self.memory, listener=self.listener, **given)

    async def say(self, text: str) -> str:
        session = self.session
        result = await Runner.run(
            self.agent,
            text,
            session=session,
            run_config=session.run_config(),
            hooks=session.hooks,
        )
        return str(result.final_output)

    async def close(self) -> None:
        await self.session.aclose()


def texts(items: list[Any]) -> list[str]:
    return [str(item.get("content") or item.get("output") or item.get("name")) for item in items]


class TestARun:
    @pytest.mark.parametrize("kind", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
    async def test_talks_with_tools(
        self, kind: Any, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        provider.script(WEATHER, "It is sunny.", "You are welcome.")
        talk = Talk(place, provider, client, kind=kind)
        assert await talk.say("How is the weather in Bern?") == "It is sunny."
        assert await talk.say("Thank you.") == "You are welcome."
        await talk.close()
        assert talk.listener.events(TroubleNoted) == []
        assert talk.listener.events(CacheBroke) == []
        assert Workspace.open(place.root).project.journal("ticket-42").exists()

    async def test_memory_stands_at_the_tail(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        provider.script("6543.", "I do not know.")
        talk = Talk(place, provider, client)
        talk.memory.remember(FACT, type="project")
        await talk.say(QUESTION)
        await talk.say("And why is that so?")
        kept = await talk.session.get_items()
        await talk.close()
        assert len(talk.listener.events(MemoriesSurfaced)) == 1
        first, second = (body["input"] for body in bodies(provider))
        assert [item["role"] for item in first] == ["user", "user"]
        assert first[0]["content"] == QUESTION
        assert first[1]["content"].startswith("<reminder")
        assert "6543" in first[1]["content"]
        assert second[:2] == first
        # The runner's own history never holds it.
        assert "reminder" not in str(kept)

    async def test_a_long_result_is_stored(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        provider.script(WEATHER, "Clouds.", "As I said.")
        talk = Talk(place, provider, client, text=LONG)
        await talk.say("How is the weather in Bern?")
        await talk.say("Say it again, please.")
        kept = await talk.session.get_items()
        await talk.close()
        assert stored(place) == [LONG]
        _, second, third = (body["input"] for body in bodies(provider))
        assert second[-1]["type"] == "function_call_output"
        assert second[-1]["output"].startswith("<persisted-output>")
        assert third[: len(second)] == second
        assert kept[2]["output"] == LONG

    async def test_a_stream_is_heard_as_well(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        provider.script(WEATHER, "Clouds.")
        talk = Talk(place, provider, client, text=LONG)
        session = talk.session
        result = Runner.run_streamed(
            talk.agent,
            "How is the weather in Bern?",
            session=session,
            run_config=session.run_config(),
            hooks=session.hooks,
        )
        async for _ in result.stream_events():
            pass
        await talk.close()
        assert result.final_output == "Clouds."
        assert len(talk.listener.events(Replied)) == 2
        assert "<persisted-output>" in str(bodies(provider)[1])

    async def test_what_is_said_is_learnt(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        talk = Talk(place, provider, client)
        await talk.say("Please remember that deploys freeze on 2026-12-20 because of the audit.")
        await talk.close()
        [saved] = talk.listener.events(MemoriesSaved)
        assert [entry.file for entry in talk.memory] == list(saved.files)

    async def test_the_window_is_kept(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        provider.window["tiny"] = 32_000
        provider.respond(meteorologist(WEATHER))
        small = OFF | {"window.tokens": 32_000}
        talk = Talk(place, provider, client, text=LONG[:12_000], served="tiny", overrides=small)
        for i in range(12):
            await talk.say(ASKED.format(i))
        kept = await talk.session.get_items()
        await talk.close()
        assert "compaction" in {event.layer for event in talk.listener.events(LayerFired)}
        assert max(request.usage["input_tokens"] for request in provider.requests) < 32_000
        assert len(kept) == 48
        assert talk.listener.events(TroubleNoted) == []


class TestResuming:
    async def test_sends_the_same_prefix(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        provider.script(WEATHER, "Clouds.", "As I said.")
        talk = Talk(place, provider, client, text=LONG)
        talk.memory.remember(FACT, type="project")
        await talk.say(QUESTION)
        await talk.close()
        again = Talk(place, provider, client)
        assert await again.say("Say it again, please.") == "As I said."
        await again.close()
        _, second, third = (body["input"] for body in bodies(provider))
        assert third[: len(second)] == second
        assert again.listener.events(TroubleNoted) == []
        assert again.listener.events(CacheBroke) == []

    async def test_without_hooks_it_goes_on_as_well(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        talk = Talk(place, provider, client)
        for text in ("Hello there.", "How are you?", "Goodbye."):
            config = talk.session.run_config()
            await Runner.run(talk.agent, text, session=talk.session, run_config=config)
        await talk.close()
        assert len(bodies(provider)[-1]["input"]) == 5
        assert talk.listener.events(TroubleNoted) == []

    async def test_a_cleared_session_begins_anew(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        talk = Talk(place, provider, client)
        await talk.say("Hello there.")
        await talk.session.clear_session()
        provider.expect_break("cleared")
        await talk.say("Good morning.")
        await talk.close()
        assert [item["content"] for item in bodies(provider)[-1]["input"]] == ["Good morning."]

    async def test_another_agent_takes_over(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        talk = Talk(place, provider, client)
        await talk.say("Hello there.")
        talk.agent = talk.agent.clone(instructions="Be verbose.", tools=[])
        provider.expect_break("another agent")
        await talk.say("And now?")
        await talk.close()
        assert len(bodies(provider)[-1]["input"]) == 3
        assert talk.listener.events(TroubleNoted) == []


class TestFiles:
    async def test_a_file_that_openai_keeps_turns_nothing_off(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        provider.script("6543.")
        talk = Talk(place, provider, client)
        talk.memory.remember(FACT, type="project")
        parts = [
            {"type": "input_file", "file_id": "file-1"},
            {"type": "input_text", "text": QUESTION},
        ]
        asked: Any = [{"role": "user", "content": parts}]
        session = talk.session
        await Runner.run(
            talk.agent,
            asked,
            session=session,
            run_config=session.run_config(session_input_callback=lambda old, new: old + new),
            hooks=session.hooks,
        )
        await talk.close()
        assert talk.listener.events(TroubleNoted) == []
        [body] = bodies(provider)
        assert body["input"][0]["content"] == parts
        assert "6543" in str(body["input"][1])

    async def test_stored_files_are_readable_by_their_owner_only(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        talk = Talk(place, provider, client)
        await talk.say("Hello there.")
        [kept] = Workspace.open(place.root).project.sessions.rglob("openai-agents.sqlite")
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        await talk.close()


class TestTwoRunsOfOneSession:
    async def test_of_replies_that_cross_one_is_taken_in(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        talk = Talk(place, provider, client)
        talk.agent = talk.agent.clone(model=_Crossing())
        await asyncio.gather(talk.say("I am Ann."), talk.say("I am Ben."))
        await talk.close()
        [trouble] = talk.listener.events(TroubleNoted)
        assert "another run of the same conversation" in trouble.what
        text = Workspace.open(place.root).project.journal("ticket-42").read_text()
        assert sum(f"For {name}." in text for name in ("Ann", "Ben")) == 1


class _Crossing(Model):
    """Answers two calls only once both have arrived, the second one first."""

    model = "gpt-5.5"

    def __init__(self) -> None:
        self.came: list[asyncio.Event] = []

    async def get_response(self, *given: Any, **named: Any) -> Any:
        mine = asyncio.Event()
        self.came.append(mine)
        if len(self.came) == 1:
            await mine.wait()
        name = str(named["input"][-1]["content"]).removeprefix("I am ").removesuffix(".")
        for other in self.came:
            other.set()
        text = ResponseOutputText(text=f"For {name}.", type="output_text", annotations=[])
        message = ResponseOutputMessage(
            id=name, type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=name)

    def stream_response(self, *given: Any, **more: Any) -> Any:
        raise NotImplementedError


class TestFailure:
    async def test_a_broken_memory_does_not_stop_the_agent(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        talk = Talk(place, provider, client)
        journal = Workspace.open(place.root).project.journal("ticket-42")
        journal.mkdir(parents=True)
        assert await talk.say("Hello there.")
        await talk.close()
        [trouble] = talk.listener.events(TroubleNoted)
        assert "the history is sent as it is" in trouble.what
        assert [item["content"] for item in bodies(provider)[0]["input"]] == ["Hello there."]

    async def test_a_cap_is_kept(
        self, place: Place, provider: Provider, client: AsyncOpenAI
    ) -> None:
        caps = {"spend.day": 0.0001, "spend.main_on_cap": "stop"}
        talk = Talk(place, provider, client, overrides=caps)
        with pytest.raises(SpendCapReached):
            await talk.say("Hello there.")
        await talk.close()
        assert provider.requests == []


@pytest.mark.parametrize("example", examples(PAGE), ids=str)
def test_the_page(example: Example, place: Place, provider: Provider) -> None:
    memory(place, provider, FACT)
    provider.script("On port 6543.")
    assert run(example, place, provider) == example.output
    assert "6543" in str(bodies(provider)[0]["input"][-1])
