"""LangChain agents, the real package, on the loopback provider."""

import asyncio
from collections.abc import Sequence
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
from reverie.events import CacheBroke, LayerFired, MemoriesSaved, MemoriesSurfaced, TroubleNoted
from reverie.workspace import Workspace

pytest.importorskip("langchain")
pytest.importorskip("langchain_anthropic")

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelResponse
from langchain.tools import tool
from langchain_anthropic import ChatAnthropic
from langchain_anthropic._client_utils import _get_default_async_httpx_client
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from reverie.adapters.langchain import ReverieMiddleware

PAGE = "docs/integrations/langchain.md"
CLAUDE = "claude-sonnet-5-5"
WEATHER = ToolCall("get_weather", {"city": "Bern"})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "ours")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


class Talk:
    """A graph with one tool; what it keeps is in `saver`."""

    def __init__(
        self,
        place: Place,
        provider: Provider,
        *,
        text: str = "sunny",
        saver: InMemorySaver | None = None,
        more: Sequence[Any] = (),
        **given: Any,
    ) -> None:
        @tool
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return text

        self.listener = Listener(provider)
        self.memory = memory(place, provider, **given.pop("overrides", {}))
        self.middleware = ReverieMiddleware(memory=self.memory, listener=self.listener, **given)
        self.saver = saver or InMemorySaver()
        self.model = ChatAnthropic(
            model=CLAUDE,
            api_key="mine",
            base_url=provider.anthropic_url,
            max_tokens=1000,
            thinking={"type": "adaptive"},
        )
        self.agent = create_agent(
            self.model,
            [get_weather],
            system_prompt="Be brief.",
            middleware=[self.middleware, *more],
            checkpointer=self.saver,
        )
        self.config: Any = {"configurable": {"thread_id": "ticket 42"}}

    def say(self, text: str) -> str:
        asked = {"messages": [{"role": "user", "content": text}]}
        return str(self.agent.invoke(asked, self.config)["messages"][-1].text)

    async def asay(self, text: str) -> str:
        asked = {"messages": [{"role": "user", "content": text}]}
        result = await self.agent.ainvoke(asked, self.config)
        return str(result["messages"][-1].text)

    async def aclose(self) -> None:
        """Connections belong to the loop of a test."""
        await self.middleware.aclose()
        await self.model._async_client.close()
        _get_default_async_httpx_client.cache_clear()

    @property
    def kept(self) -> list[Any]:
        return list(self.agent.get_state(self.config).values["messages"])


def sent(provider: Provider) -> list[list[Any]]:
    return [body["messages"] for body in bodies(provider) if "messages" in body]


class TestAnAgent:
    def test_talks_with_tools_and_thinks(self, place: Place, provider: Provider) -> None:
        provider.script(
            [Thinking("look"), Text("Let me look."), WEATHER],
            [Thinking("done"), Text("It is sunny.")],
            "You are welcome.",
        )
        talk = Talk(place, provider)
        assert talk.say("How is the weather in Bern?") == "It is sunny."
        assert talk.say("Thank you.") == "You are welcome."
        talk.middleware.close()
        assert talk.listener.events(TroubleNoted) == []
        kinds = [block["type"] for block in sent(provider)[2][1]["content"]]
        assert kinds == ["thinking", "text", "tool_use"]
        [session] = Workspace.open(place.root).project.sessions.glob("*.jsonl")
        assert session.stem.startswith("langchain-ticket-42-")

    async def test_talks_where_all_is_async(self, place: Place, provider: Provider) -> None:
        provider.script(WEATHER, "It is sunny.")
        talk = Talk(place, provider)
        assert await talk.asay("How is the weather in Bern?") == "It is sunny."
        await talk.aclose()
        assert talk.listener.events(TroubleNoted) == []

    async def test_sync_and_async_are_one_conversation(
        self, place: Place, provider: Provider
    ) -> None:
        talk = Talk(place, provider)
        await talk.asay("Hello there.")
        await asyncio.to_thread(talk.say, "How are you?")
        talk.say("Goodbye.")
        await talk.aclose()
        assert talk.listener.events(TroubleNoted) == []
        assert len(sent(provider)[-1]) == 5

    def test_memory_stands_at_the_tail(self, place: Place, provider: Provider) -> None:
        provider.script("6543.", "I do not know.")
        talk = Talk(place, provider)
        talk.memory.remember(FACT, type="project")
        talk.say(QUESTION)
        talk.say("And why is that so?")
        talk.middleware.close()
        assert len(talk.listener.events(MemoriesSurfaced)) == 1
        first, second = sent(provider)
        assert QUESTION in str(first[0])
        assert "6543" in str(first[-1]["content"][-1])
        assert "<reminder" in str(second)
        # The graph's own state never holds it.
        assert len(talk.kept) == 4
        assert "reminder" not in str(talk.kept)

    def test_a_long_result_is_stored(self, place: Place, provider: Provider) -> None:
        provider.script(WEATHER, "Clouds.", "As I said.")
        talk = Talk(place, provider, text=LONG)
        talk.say("How is the weather in Bern?")
        talk.say("Say it again, please.")
        talk.middleware.close()
        assert stored(place) == [LONG]
        _, second, third = sent(provider)
        assert "<persisted-output>" in str(second[-1])
        assert len(str(second)) < 10_000
        assert "<persisted-output>" in str(third[2])
        assert talk.kept[2].content == LONG

    def test_what_is_said_is_learnt(self, place: Place, provider: Provider) -> None:
        talk = Talk(place, provider)
        talk.say("Please remember that deploys freeze on 2026-12-20 because of the audit.")
        talk.middleware.close()
        [saved] = talk.listener.events(MemoriesSaved)
        assert [entry.file for entry in talk.memory] == list(saved.files)

    def test_the_prompt_cache_is_read(self, place: Place, provider: Provider) -> None:
        talk = Talk(place, provider, more=[AnthropicPromptCachingMiddleware()])
        talk.memory.remember(FACT, type="project")
        for text in (QUESTION, "And why?", "Since when?"):
            talk.say(f"{text} {'It matters a lot. ' * 600}")
        talk.middleware.close()
        *_, last = (request.usage or {} for request in provider.requests)
        assert last["cache_read_input_tokens"] > 0.6 * last["cache_creation_input_tokens"]
        assert talk.listener.events(CacheBroke) == []

    async def test_the_window_is_kept(self, place: Place, provider: Provider) -> None:
        provider.window[CLAUDE] = 60_000
        provider.respond(meteorologist(Thinking("Where is it?"), WEATHER))
        overrides = tuple(f"{key}={value}" for key, value in settings(provider).items())
        await Workspace.open(place.root, overrides=overrides).ask_window(f"anthropic:{CLAUDE}")
        talk = Talk(place, provider, text=LONG[:30_000], overrides=OFF)
        for i in range(10):
            await talk.asay(ASKED.format(i))
        await talk.aclose()
        assert {event.layer for event in talk.listener.events(LayerFired)} == {"compaction"}
        assert "About the weather of many cities" in str(sent(provider)[-1])
        used = [request.usage for request in provider.requests if request.usage]
        assert max(one["input_tokens"] for one in used) < 60_000
        assert len(talk.kept) == 40
        assert talk.listener.events(TroubleNoted) == []


class TestResuming:
    def test_sends_the_same_prefix(self, place: Place, provider: Provider) -> None:
        provider.script([Thinking("look"), WEATHER], "Clouds.", "As I said.")
        talk = Talk(place, provider, text=LONG)
        talk.memory.remember(FACT, type="project")
        talk.say(QUESTION)
        talk.middleware.close()
        again = Talk(place, provider, saver=talk.saver)
        assert again.say("Say it again, please.") == "As I said."
        again.middleware.close()
        _, second, third = sent(provider)
        assert third[:2] == second[:2]
        assert "thinking" in str(third[1])
        assert again.listener.events(TroubleNoted) == []

    def test_threads_are_apart(self, place: Place, provider: Provider) -> None:
        talk = Talk(place, provider)
        talk.say("Hello there.")
        talk.config = {"configurable": {"thread_id": "other"}}
        provider.expect_conversation("another thread")
        talk.say("Good morning.")
        talk.middleware.close()
        assert len(sent(provider)[-1]) == 1
        assert len(list(Workspace.open(place.root).project.sessions.glob("*.jsonl"))) == 2


class TestWithoutACheckpointer:
    def test_people_are_apart_and_a_history_goes_on(self, place: Place, provider: Provider) -> None:
        talk = Talk(place, provider)
        agent = create_agent(talk.model, [], middleware=[talk.middleware])
        provider.script("Hello Ann.", "Hello Ben.", "Still you.")
        ann: list[Any] = [{"role": "user", "content": "I am Ann."}]
        answered = agent.invoke({"messages": ann})["messages"]
        provider.expect_conversation("Ben")
        agent.invoke({"messages": [{"role": "user", "content": "I am Ben."}]})
        agent.invoke({"messages": [*answered, {"role": "user", "content": "Who am I?"}]})
        talk.middleware.close()
        assert talk.listener.events(TroubleNoted) == []
        journals = [path.read_text() for path in sorted(_journals(place))]
        assert len(journals) == 2
        assert ["Ann" in text for text in journals] == ["Ben" not in text for text in journals]
        assert sum("Still you." in text and "I am Ann." in text for text in journals) == 1

    async def test_replies_that_cross_are_kept_apart(
        self, place: Place, provider: Provider
    ) -> None:
        talk = Talk(place, provider)
        crossing = _Crossing()
        agent = create_agent(talk.model, [], middleware=[talk.middleware, crossing])
        asked = ({"messages": [{"role": "user", "content": f"I am {name}."}]} for name in NAMES)
        await asyncio.gather(*(agent.ainvoke(one) for one in asked))
        await talk.aclose()
        texts = [path.read_text() for path in _journals(place)]
        assert len(texts) == 2
        for text in texts:
            [name] = [name for name in NAMES if f"I am {name}." in text]
            assert [one for one in NAMES if f"For {one}." in text] == [name]

    async def test_of_two_runs_in_one_thread_one_is_taken_in(
        self, place: Place, provider: Provider
    ) -> None:
        talk = Talk(place, provider, session="one")
        agent = create_agent(talk.model, [], middleware=[talk.middleware, _Crossing()])
        asked = ({"messages": [{"role": "user", "content": f"I am {name}."}]} for name in NAMES)
        await asyncio.gather(*(agent.ainvoke(one) for one in asked))
        await talk.aclose()
        [trouble] = talk.listener.events(TroubleNoted)
        assert "another run of the same conversation" in trouble.what
        [text] = [path.read_text() for path in _journals(place)]
        assert sum(f"For {name}." in text for name in NAMES) == 1


NAMES = ("Ann", "Ben")


def _journals(place: Place) -> list[Any]:
    return list(Workspace.open(place.root).project.sessions.glob("*.jsonl"))


class _Crossing(AgentMiddleware[Any, Any, Any]):
    """Answers two calls only once both have arrived, the second one first."""

    def __init__(self) -> None:
        super().__init__()
        self.came: list[asyncio.Event] = []

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        mine = asyncio.Event()
        self.came.append(mine)
        if len(self.came) == 1:
            await mine.wait()
        name = str(request.messages[0].content).removeprefix("I am ").removesuffix(".")
        for other in self.came:
            other.set()
        return ModelResponse(result=[AIMessage(f"For {name}.")])


class TestFailure:
    @pytest.mark.parametrize(
        "tool", [{"google_search": {}}, {"type": "web_search_20250305", "name": "web_search"}]
    )
    def test_tools_of_any_shape_are_accepted(
        self, tool: Any, place: Place, provider: Provider
    ) -> None:
        talk = Talk(place, provider)
        agent = create_agent(talk.model, [tool], middleware=[talk.middleware, _Odd("Hello.")])
        asked = {"messages": [{"role": "user", "content": "Hello there."}]}
        assert agent.invoke(asked)["messages"][-1].text == "Hello."
        talk.middleware.close()
        assert talk.listener.events(TroubleNoted) == []

    def test_an_answer_without_a_models_message_is_accepted(
        self, place: Place, provider: Provider
    ) -> None:
        talk = Talk(place, provider)
        agent = create_agent(talk.model, [], middleware=[talk.middleware, _Odd(None)])
        asked = {"messages": [{"role": "user", "content": "Hello there."}]}
        assert agent.invoke(asked)["messages"][-1].text == "odd"
        talk.middleware.close()
        [trouble] = talk.listener.events(TroubleNoted)
        assert "holds no AIMessage; a reply was not recorded" in trouble.what.replace("')", "")

    def test_a_broken_memory_does_not_stop_the_agent(
        self, place: Place, provider: Provider
    ) -> None:
        talk = Talk(place, provider, session="broken")
        Workspace.open(place.root).project.journal("langchain-broken").mkdir(parents=True)
        assert talk.say("Hello there.")
        talk.middleware.close()
        [trouble] = talk.listener.events(TroubleNoted)
        assert "the history is sent as it is" in trouble.what

    def test_a_cap_is_kept(self, place: Place, provider: Provider) -> None:
        caps = {"spend.day": 0.0001, "spend.main_on_cap": "stop"}
        talk = Talk(place, provider, overrides=caps)
        with pytest.raises(SpendCapReached):
            talk.say("Hello there.")
        talk.middleware.close()
        assert provider.requests == []


class _Odd(AgentMiddleware[Any, Any, Any]):
    """Answers in the model's place; without a text, with an object that is not an answer."""

    def __init__(self, text: str | None) -> None:
        super().__init__()
        self.text = text

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        answer = HumanMessage("odd") if self.text is None else AIMessage(self.text)
        return ModelResponse(result=[answer])


@pytest.mark.parametrize("example", examples(PAGE), ids=str)
def test_the_page(example: Example, place: Place, provider: Provider) -> None:
    memory(place, provider, FACT)
    provider.script("On port 6543.")
    assert run(example, place, provider) == example.output
    assert "6543" in str(bodies(provider)[0]["messages"][-1])
