"""pydantic-ai agents, the real package, on the loopback provider."""

import asyncio
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
    settings,
    stored,
)
from tests.flows.examples import Example, examples, run
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.script import Text, Thinking, ToolCall

from reverie.errors import SpendCapReached
from reverie.events import LayerFired, MemoriesSaved, MemoriesSurfaced, Replied, TroubleNoted
from reverie.workspace import Workspace

pytest.importorskip("pydantic_ai")

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from reverie.adapters.pydantic_ai import ReverieCapability

PAGE = "docs/integrations/pydantic-ai.md"
CLAUDE = "claude-sonnet-5-5"
WEATHER = ToolCall("get_weather", {"city": "Bern"})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "ours")
    monkeypatch.setenv("OPENAI_API_KEY", "ours")


@pytest.fixture
async def claude(provider: Provider) -> AsyncIterator[AnthropicModel]:
    async with AsyncAnthropic(api_key="mine", base_url=provider.anthropic_url) as client:
        thinking: Any = {"anthropic_thinking": {"type": "adaptive"}, "max_tokens": 1000}
        served = AnthropicProvider(anthropic_client=client)
        yield AnthropicModel(CLAUDE, provider=served, settings=thinking)


class Talk:
    """A program that keeps the history pydantic-ai gives it."""

    def __init__(
        self, place: Place, provider: Provider, model: Any, *, text: str = "sunny", **given: Any
    ) -> None:
        self.listener = Listener(provider)
        self.memory = memory(place, provider, **given.pop("overrides", {}))
        prompt = {given.pop("prompt", "instructions"): "Be brief."}
        self.capability = ReverieCapability(memory=self.memory, listener=self.listener, **given)
        self.agent: Agent[None, str] = Agent(model, capabilities=[self.capability], **prompt)
        self.history: list[Any] = []
        self.refuse = 0

        @self.agent.tool_plain
        def get_weather(city: str) -> str:
            """The weather of a city."""
            if self.refuse:
                self.refuse -= 1
                raise ModelRetry("Name the country, too.")
            return text

    async def say(self, text: str) -> str:
        result = await self.agent.run(text, message_history=self.history)
        self.history = result.all_messages()
        return result.output

    async def close(self) -> None:
        await self.capability.aclose()


def sent(provider: Provider) -> list[list[Any]]:
    return [body["messages"] for body in bodies(provider) if "messages" in body]


class TestAnAgent:
    async def test_talks_with_tools_and_thinks(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        provider.script(
            [Thinking("look"), Text("Let me look."), WEATHER],
            [Thinking("done"), Text("It is sunny.")],
            "You are welcome.",
        )
        talk = Talk(place, provider, claude)
        assert await talk.say("How is the weather in Bern?") == "It is sunny."
        assert await talk.say("Thank you.") == "You are welcome."
        await talk.close()
        assert talk.listener.events(TroubleNoted) == []
        kinds = [block["type"] for block in sent(provider)[2][1]["content"]]
        assert kinds == ["thinking", "text", "tool_use"]

    async def test_talks_over_the_responses_api(self, place: Place, provider: Provider) -> None:
        provider.script(WEATHER, "It is sunny.", "You are welcome.")
        async with AsyncOpenAI(api_key="mine", base_url=provider.openai_url) as client:
            model = OpenAIResponsesModel("gpt-5.5", provider=OpenAIProvider(openai_client=client))
            talk = Talk(place, provider, model)
            talk.memory.remember(FACT, type="project")
            await talk.say(QUESTION)
            await talk.say("Thank you.")
            await talk.close()
        assert talk.listener.events(TroubleNoted) == []
        first, _, third = (body["input"] for body in bodies(provider))
        assert "6543" in str(first[1])
        assert third[:2] == first

    async def test_a_call_is_asked_for_again(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        provider.script(WEATHER, WEATHER, "It is sunny.")
        talk = Talk(place, provider, claude)
        talk.refuse = 1
        assert await talk.say("How is the weather in Bern?") == "It is sunny."
        await talk.close()
        assert talk.listener.events(TroubleNoted) == []

    async def test_memory_stands_at_the_tail(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        provider.script("6543.", "I do not know.")
        talk = Talk(place, provider, claude)
        talk.memory.remember(FACT, type="project")
        await talk.say(QUESTION)
        await talk.say("And why is that so?")
        await talk.close()
        assert len(talk.listener.events(MemoriesSurfaced)) == 1
        first, second = sent(provider)
        assert QUESTION in str(first[0])
        assert "6543" in str(first[-1]["content"][-1])
        assert str(second).count("<reminder") == 1
        # pydantic-ai's own history never holds it.
        assert len(talk.history) == 4
        assert "reminder" not in str(talk.history)

    async def test_a_long_result_is_stored(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        provider.script(WEATHER, "Clouds.", "As I said.")
        talk = Talk(place, provider, claude, text=LONG)
        await talk.say("How is the weather in Bern?")
        await talk.say("Say it again, please.")
        await talk.close()
        assert stored(place) == [LONG]
        _, second, third = sent(provider)
        assert "<persisted-output>" in str(second[-1])
        assert len(str(second)) < 10_000
        assert "<persisted-output>" in str(third[2])
        assert talk.history[2].parts[0].content == LONG

    async def test_a_stream_is_heard_as_well(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        provider.script("6543.")
        talk = Talk(place, provider, claude)
        talk.memory.remember(FACT, type="project")
        async with talk.agent.run_stream(QUESTION) as result:
            assert await result.get_output() == "6543."
        await talk.close()
        assert len(talk.listener.events(Replied)) == 1
        assert "<reminder" in str(sent(provider)[0])

    async def test_what_is_said_is_learnt(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        talk = Talk(place, provider, claude)
        await talk.say("Please remember that deploys freeze on 2026-12-20 because of the audit.")
        await talk.close()
        [saved] = talk.listener.events(MemoriesSaved)
        assert [entry.file for entry in talk.memory] == list(saved.files)

    @pytest.mark.parametrize("prompt", ["instructions", "system_prompt"])
    async def test_the_window_is_kept(
        self, place: Place, provider: Provider, claude: AnthropicModel, prompt: str
    ) -> None:
        provider.window[CLAUDE] = 60_000
        provider.respond(meteorologist(Thinking("Where is it?"), WEATHER))
        overrides = tuple(f"{key}={value}" for key, value in settings(provider).items())
        await Workspace.open(place.root, overrides=overrides).ask_window(f"anthropic:{CLAUDE}")
        talk = Talk(place, provider, claude, text=LONG[:30_000], overrides=OFF, prompt=prompt)
        for i in range(10):
            await talk.say(ASKED.format(i))
        await talk.close()
        assert {event.layer for event in talk.listener.events(LayerFired)} == {"compaction"}
        assert "About the weather of many cities" in str(sent(provider)[-1])
        used = [request.usage for request in provider.requests if request.usage]
        assert max(one["input_tokens"] for one in used) < 60_000
        assert len(talk.history) == 40
        assert "Be brief." in str(bodies(provider)[-1]["system"])
        assert talk.listener.events(TroubleNoted) == []


class TestResuming:
    async def test_sends_the_same_prefix(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        provider.script([Thinking("look"), WEATHER], "Clouds.", "As I said.")
        talk = Talk(place, provider, claude, text=LONG)
        talk.memory.remember(FACT, type="project")
        await talk.say(QUESTION)
        await talk.close()
        again = Talk(place, provider, claude)
        kept = ModelMessagesTypeAdapter.dump_json(talk.history)
        again.history = ModelMessagesTypeAdapter.validate_json(kept)
        assert await again.say("Say it again, please.") == "As I said."
        await again.close()
        _, second, third = sent(provider)
        assert third[:2] == second[:2]
        assert "thinking" in str(third[1])
        assert again.listener.events(TroubleNoted) == []

    async def test_the_same_history_twice_is_sent_alike(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        provider.script("6543.", "One.", "Two.")
        talk = Talk(place, provider, claude)
        talk.memory.remember(FACT, type="project")
        await talk.say(QUESTION)
        kept = talk.history
        await talk.say("And why is that so?")
        talk.history = kept
        await talk.say("And why is that so?")
        await talk.close()
        _, second, third = sent(provider)
        assert second == third

    async def test_a_name_of_its_own(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        talk = Talk(place, provider, claude, session="ticket-42")
        await talk.say("Hello there.")
        await talk.close()
        assert Workspace.open(place.root).project.journal("pydantic-ai-ticket-42").exists()


class TestTwoRunsOfOneConversation:
    async def test_of_replies_that_cross_one_is_taken_in(
        self, place: Place, provider: Provider
    ) -> None:
        came: list[asyncio.Event] = []

        async def answer(messages: list[Any], info: Any) -> ModelResponse:
            """Answers two calls only once both have arrived, the second one first."""
            mine = asyncio.Event()
            came.append(mine)
            if len(came) == 1:
                await mine.wait()
            name = str(messages[-1].parts[-1].content).removeprefix("I am ").removesuffix(".")
            for other in came:
                other.set()
            return ModelResponse([TextPart(f"For {name}.")])

        talk = Talk(place, provider, FunctionModel(answer), session="one")
        await asyncio.gather(talk.agent.run("I am Ann."), talk.agent.run("I am Ben."))
        await talk.close()
        [trouble] = talk.listener.events(TroubleNoted)
        assert "another run of the same conversation" in trouble.what
        text = Workspace.open(place.root).project.journal("pydantic-ai-one").read_text()
        assert sum(f"For {name}." in text for name in ("Ann", "Ben")) == 1


class TestFailure:
    async def test_a_broken_memory_does_not_stop_the_agent(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        talk = Talk(place, provider, claude, session="broken", prompt="system_prompt")
        Workspace.open(place.root).project.journal("pydantic-ai-broken").mkdir(parents=True)
        assert await talk.say("Hello there.")
        await talk.close()
        [trouble] = talk.listener.events(TroubleNoted)
        assert "the history is sent as it is" in trouble.what
        assert "Be brief." in str(bodies(provider)[0]["system"])

    async def test_a_cap_is_kept(
        self, place: Place, provider: Provider, claude: AnthropicModel
    ) -> None:
        caps = {"spend.day": 0.0001, "spend.main_on_cap": "stop"}
        talk = Talk(place, provider, claude, overrides=caps)
        with pytest.raises(SpendCapReached):
            await talk.say("Hello there.")
        await talk.close()
        assert provider.requests == []


@pytest.mark.parametrize("example", examples(PAGE), ids=str)
def test_the_page(example: Example, place: Place, provider: Provider) -> None:
    memory(place, provider, FACT)
    provider.script("On port 6543.", "Nobody knows.")
    assert run(example, place, provider) == example.output
    assert "6543" in str(bodies(provider)[0]["messages"][-1])
