"""A program with its own loop: the official SDKs send what `Context` prepares."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api.loops import CLAUDE, LOOPS, SYSTEM, ChatLoop, ClaudeLoop, Loop, StreamingLoop
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import Reply as Answer
from tests.provider.script import ScriptItem, Text, Thinking, ToolCall

from reverie import Context, InputError, Memory, Options, Reply, tool
from reverie.api.shared_loop import run
from reverie.conversation import journal
from reverie.conversation.records import Rewound, Said
from reverie.core.messages import Text as OurText
from reverie.core.messages import new_message
from reverie.core.prompt_cache.tracker import ExpectedBreak
from reverie.errors import ReverieError, SpendCapReached
from reverie.events import (
    CacheBroke,
    ForkStarted,
    LayerFired,
    MemoriesSaved,
    MemoriesSurfaced,
    MoneySpent,
    NotesUpdated,
    Replied,
    TroubleNoted,
)
from reverie.models.offline import ScriptedModel
from reverie.workspace import Workspace

SUMMARY = "<summary>\n" + "\n".join(
    f"## {i}. {title}\nAbout the weather of many cities."
    for i, title in ((1, "Primary request and intent"), (3, "Files and code"), (8, "Current work"))
)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "ours")
    monkeypatch.setenv("OPENAI_API_KEY", "ours")


@pytest.fixture
async def loop(place: Place, provider: Provider) -> AsyncIterator[ClaudeLoop]:
    made = ClaudeLoop(place, provider)
    yield made
    await made.close()


def weather(*answers: ScriptItem) -> tuple[ScriptItem, ...]:
    """A model that thinks, calls the tool, and then says these things."""
    call = [Thinking("look"), Text("Let me look."), ToolCall("get_weather", {"city": "Bern"})]
    return (call, *answers)


def bodies(provider: Provider) -> list[Any]:
    return [request.json for request in provider.requests]


def journal_texts(place: Place, session: str | None) -> list[str]:
    """The messages in a session's journal, in order."""
    records = journal.load(Workspace.open(place.root).project.journal(session or "")).records
    return [f"{r.message.origin}: {r.message.text}" for r in records if isinstance(r, Said)]


class TestALoop:
    @pytest.mark.parametrize("kind", LOOPS)
    async def test_talks_with_tools(
        self, kind: type[Loop], place: Place, provider: Provider
    ) -> None:
        provider.script(*weather("It is sunny.", "You are welcome."))
        loop = kind(place, provider)
        assert await loop.say("How is the weather in Bern?") == "It is sunny."
        assert await loop.say("Thank you.") == "You are welcome."
        await loop.close()
        assert journal_texts(place, loop.context.session) == [
            "user: How is the weather in Bern?",
            "assistant: Let me look.",
            "tool: ",
            "assistant: It is sunny.",
            "user: Thank you.",
            "assistant: You are welcome.",
        ]
        assert len(loop.events(Replied)) == 3
        assert all(event.reply.usage.prompt for event in loop.events(Replied))
        assert loop.events(CacheBroke) == []
        assert loop.events(TroubleNoted) == []

    async def test_sends_what_our_agent_would_send(
        self, loop: ClaudeLoop, provider: Provider
    ) -> None:
        provider.script(*weather("It is sunny."))
        await loop.say("How is the weather in Bern?")
        first, second = bodies(provider)
        assert first["system"] == [{"type": "text", "text": SYSTEM}]
        assert [tool["name"] for tool in first["tools"]] == ["get_weather"]
        assert second["messages"][:1] == first["messages"]
        # Thinking stays, with its signature, bound to the prefix it was made under.
        assert [block["type"] for block in second["messages"][1]["content"]] == [
            "thinking",
            "text",
            "tool_use",
        ]

    async def test_that_keeps_no_thinking_sends_it_nevertheless(
        self, place: Place, provider: Provider
    ) -> None:
        provider.script(*weather("It is sunny."))
        loop = StreamingLoop(place, provider)
        await loop.say("How is the weather in Bern?")
        await loop.close()
        assert loop.text == "It is sunny."
        assert bodies(provider)[1]["messages"][1]["content"][0]["type"] == "thinking"

    async def test_may_prepare_again_what_failed(
        self, loop: ClaudeLoop, place: Place, provider: Provider
    ) -> None:
        loop.messages.append({"role": "user", "content": "Hello there, who are you?"})
        once = await loop.context.prepare(loop.messages)
        again = await loop.context.prepare(loop.messages)
        assert once == again
        assert await loop.step() is not None
        assert len(journal_texts(place, loop.context.session)) == 2

    async def test_may_leave_out_observing(self, loop: ClaudeLoop, provider: Provider) -> None:
        history = [
            {"role": "user", "content": "Hello!"},
            {"role": "assistant", "content": "Hello, how are you?"},
            {"role": "user", "content": "Very well."},
        ]
        prepared = await loop.context.prepare(history)
        assert [m["role"] for m in prepared.arguments["messages"]] == ["user", "assistant", "user"]

    async def test_goes_on_after_a_pause(self, loop: ClaudeLoop, provider: Provider) -> None:
        provider.script(Answer((Text("Still searching."),), "pause_turn"), "Found it.")
        assert await loop.say("Search for it, please.") == "Still searching."
        prepared = await loop.context.prepare(loop.messages)
        assert prepared.request.messages[-1].role == "assistant"

    async def test_options_are_the_callers(self, place: Place, provider: Provider) -> None:
        loop = ClaudeLoop(place, provider, options=Options(max_tokens=77, thinking="off"))
        await loop.say("Hello, how are you?")
        await loop.close()
        [body] = bodies(provider)
        assert body["max_tokens"] == 77
        assert body["thinking"] == {"type": "disabled"}

    async def test_tools_may_be_decorated_functions(self, place: Place, provider: Provider) -> None:
        @tool(access="read")
        def get_weather(city: str) -> str:
            """The weather of a city."""
            return f"sunny in {city}"

        provider.script(*weather("It is sunny."))
        loop = ClaudeLoop(
            place, provider, tools=[get_weather], run=lambda given: get_weather(**given)
        )
        await loop.say("How is the weather in Bern?")
        await loop.close()
        assert "sunny in Bern" in str(bodies(provider)[1]["messages"][-1])


SELECTOR = {"models.side": "anthropic:claude-haiku-5-5"}


def librarian(request: RecordedRequest) -> ScriptItem:
    """Chooses every memory it is shown; otherwise the meteorologist."""
    if request.json["model"] != "claude-haiku-5-5":
        return meteorologist(request)
    files = re.findall(r"(\S+\.md) \(", str(request.json["messages"]))
    return json.dumps({"selected_memories": files})


class TestMemory:
    async def test_stands_behind_the_message(self, place: Place, provider: Provider) -> None:
        provider.respond(librarian)
        provider.expect_conversation("the selector")
        provider.expect_conversation("the loop")
        loop = ClaudeLoop(place, provider, settings=SELECTOR)
        loop.memory.remember("The staging database runs on port 6543", type="project")
        await loop.say("On which port does the staging database run?")
        await loop.say("And why is that so?")
        await loop.close()
        [found] = loop.events(MemoriesSurfaced)
        assert len(found.files) == 1
        _, first, second = bodies(provider)
        texts = [message["content"][0]["text"] for message in first["messages"]]
        assert texts[0] == "On which port does the staging database run?"
        assert texts[1].startswith("<reminder")
        assert "6543" in texts[1]
        assert "6543" in str(second["messages"][1])
        assert len(second["messages"]) == 4
        # The caller's own history never holds it.
        assert "reminder" not in str(loop.messages)

    async def test_learns_from_what_is_said(self, loop: ClaudeLoop, provider: Provider) -> None:
        await loop.say("Please remember that deploys freeze on 2026-12-20 because of the audit.")
        await loop.context.aclose()
        [saved] = loop.events(MemoriesSaved)
        assert [entry.file for entry in loop.memory] == list(saved.files)
        assert loop.events(ForkStarted) == []

    async def test_false_is_none(self, place: Place, provider: Provider) -> None:
        provider.respond(librarian)
        Memory.open(clock=place.clock).remember("The staging database runs on port 6543")
        url = {"providers.anthropic.base_url": provider.anthropic_url}
        asked = [{"role": "user", "content": "On which port does the staging database run?"}]
        for memory, count in ((None, 2), (False, 1)):
            async with Context(model=CLAUDE, memory=memory, settings=SELECTOR | url) as context:
                assert len((await context.prepare(asked)).request.messages) == count


LONG = "".join(f"{hour:05}: clouds, wind from the west\n" for hour in range(4_000))


OFF = {"features.microcompact_server": False, "features.microcompact_batch": False}
FULL_ONLY = {"features.session_notes": False, "features.compact_by_price": False}


class TestTheWindow:
    @pytest.mark.parametrize("kind", [ClaudeLoop, ChatLoop])
    async def test_a_long_result_is_stored(
        self, kind: type[Loop], place: Place, provider: Provider
    ) -> None:
        provider.script(*weather("Clouds.", "As I said."))
        loop = kind(place, provider, run=lambda given: LONG)
        await loop.say("How is the weather in Bern?")
        await loop.say("Say it again, please.")
        await loop.close()
        [fired] = loop.events(LayerFired)
        assert fired.layer == "tool results"
        folder = Workspace.open(place.root).project.sessions / str(loop.context.session)
        [path] = folder.glob("tool-results/*")
        assert path.read_text() == LONG
        _, second, third = bodies(provider)
        assert str(path) in str(second)
        assert third["messages"][: len(second["messages"])] == second["messages"]
        assert LONG in str(loop.messages[-4]).replace("\\n", "\n")

    @pytest.fixture
    async def small(self, place: Place, provider: Provider) -> Place:
        """A window of 60,000 tokens."""
        provider.window[CLAUDE.partition(":")[2]] = 60_000
        provider.respond(meteorologist)
        settings = (f"providers.anthropic.base_url={provider.anthropic_url}",)
        await Workspace.open(place.root, overrides=settings).ask_window(CLAUDE)
        return place

    async def test_is_kept_by_a_summary(self, small: Place, provider: Provider) -> None:
        off = OFF | FULL_ONLY
        loop = ClaudeLoop(small, provider, run=lambda given: LONG[:30_000], settings=off)
        for i in range(10):
            await loop.say(f"How is the weather in city number {i}?")
        await loop.close()
        fired = {event.layer for event in loop.events(LayerFired)}
        assert fired == {"compaction"}
        assert all(isinstance(event.verdict, ExpectedBreak) for event in loop.events(CacheBroke))
        assert loop.context.tokens < 45_000
        assert len(loop.messages) == 40
        assert "About the weather of many cities" in str(bodies(provider)[-1])

    async def test_is_kept_without_a_key_of_ours(
        self, small: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        off = OFF | FULL_ONLY
        loop = ClaudeLoop(small, provider, run=lambda given: LONG[:30_000], settings=off)
        for i in range(8):
            await loop.say(f"How is the weather in city number {i}?")
        await loop.close()
        assert {event.layer for event in loop.events(LayerFired)} == {"compaction"}
        assert "no key" in str(loop.events(TroubleNoted))

    async def test_is_kept_by_price_without_a_model(
        self, small: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The default: no key is needed, no side request is sent, and every word of the person stays."""
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        loop = ClaudeLoop(small, provider, run=lambda given: LONG[:30_000], settings=OFF)
        questions = [f"How is the weather in city number {i}?" for i in range(10)]
        for question in questions:
            await loop.say(question)
        await loop.close()
        assert {event.layer for event in loop.events(LayerFired)} == {"compaction"}
        assert all(isinstance(event.verdict, ExpectedBreak) for event in loop.events(CacheBroke))
        assert (loop.events(TroubleNoted), loop.events(ForkStarted)) == ([], [])
        # Two for each question, after the one that asked for the window.
        assert len(bodies(provider)) == 21
        assert all(question in str(bodies(provider)[-1]) for question in questions)
        assert loop.context.tokens < 45_000
        assert len(loop.messages) == 40

    async def test_is_kept_on_a_local_server(self, place: Place, provider: Provider) -> None:
        """The server refuses requests beyond its window of 32,768 tokens, which the settings name."""
        provider.respond(meteorologist)
        small = {"window.tokens": 32_000}
        loop = ChatLoop(place, provider, run=lambda given: LONG[:12_000], settings=small)
        for i in range(12):
            await loop.say(f"How is the weather in city number {i}?")
        await loop.close()
        assert "compaction" in {event.layer for event in loop.events(LayerFired)}
        assert all(isinstance(event.verdict, ExpectedBreak) for event in loop.events(CacheBroke))

    async def test_notes_are_taken_beside_it(self, small: Place, provider: Provider) -> None:
        often = OFF | {"notes.refine": "due"}
        loop = ClaudeLoop(small, provider, run=lambda given: LONG[:30_000], settings=often)
        for i in range(2):
            await loop.say(f"How is the weather in city number {i}?")
        await loop.close()
        assert {event.by for event in loop.events(NotesUpdated)} == {"rules"}
        # A fork has no tool by which it could write to them.
        assert loop.events(ForkStarted) == []

    async def test_is_shortened_when_asked_to(self, loop: ClaudeLoop, provider: Provider) -> None:
        provider.respond(meteorologist)
        loop.run = lambda given: LONG[:30_000]
        for i in range(4):
            await loop.say(f"How is the weather in city number {i}?")
        await loop.context.compact("keep the cities")
        [fired] = loop.events(LayerFired)
        assert fired.layer == "compaction"
        assert await loop.say("And now?") == "Clouds."


def meteorologist(request: RecordedRequest) -> ScriptItem:
    """Calls the tool for every question, and writes a summary when it is asked for one."""
    last = request.json["messages"][-1]["content"]
    if "<side-task>" in str(last):
        return SUMMARY
    asked = "number" in str(last) and "tool_result" not in str(last)
    return ToolCall("get_weather", {"city": "Bern"}) if asked else "Clouds."


class TestResuming:
    async def test_gives_the_same_bytes(self, place: Place, provider: Provider) -> None:
        provider.respond(librarian)
        provider.expect_conversation("the selector")
        provider.expect_conversation("the loop")
        loop = ClaudeLoop(place, provider, settings=SELECTOR, run=lambda given: LONG)
        loop.memory.remember("The staging database runs on port 6543", type="project")
        await loop.say("How is the weather near the staging database number 1?")
        loop.messages.append({"role": "user", "content": "And tomorrow, please?"})
        before = await loop.context.prepare(loop.messages)
        await loop.close()
        assert len(before.request.messages) == len(loop.messages) + 1
        again = ClaudeLoop(place, provider, session=loop.context.session)
        again.messages = loop.messages
        after = await again.context.prepare(again.messages)
        assert after.request == before.request
        assert after.arguments == before.arguments
        assert await again.step() is not None
        await again.close()
        assert again.events(CacheBroke) == []
        assert len(journal_texts(place, again.context.session)) == len(again.messages) + 1

    async def test_needs_the_name_alone(
        self, loop: ClaudeLoop, place: Place, provider: Provider
    ) -> None:
        await loop.say("Hello, how are you?")
        await loop.close()
        again = ClaudeLoop(place, provider, session=loop.context.session, system=None, tools=None)
        again.messages = loop.messages
        await again.say("And now, how are you?")
        await again.close()
        first, second = bodies(provider)
        assert first["system"] == second["system"]
        assert first["tools"] == second["tools"]

    async def test_with_other_tools_is_an_expected_break(
        self, loop: ClaudeLoop, place: Place, provider: Provider
    ) -> None:
        await loop.say("Hello, how are you?")
        await loop.close()
        again = ClaudeLoop(place, provider, session=loop.context.session, system="You are terse.")
        again.messages = loop.messages
        provider.expect_break("another system prompt")
        await again.say("And now, how are you?")
        await again.close()
        assert bodies(provider)[-1]["system"][0]["text"] == "You are terse."

    async def test_a_name_begins_a_session(self, place: Place, provider: Provider) -> None:
        loop = ClaudeLoop(place, provider, session="ticket-7")
        assert loop.context.session == "ticket-7"
        await loop.say("Hello, how are you?")
        await loop.close()
        assert Workspace.open(place.root).project.journal("ticket-7").exists()

    @pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden"])
    async def test_a_name_is_a_plain_one(self, place: Place, name: str) -> None:
        context = Context(model="offline", session=name)
        with pytest.raises(InputError, match="cannot be used as a file name"):
            await context.prepare([{"role": "user", "content": "Hello!"}])


class TestAChangedHistory:
    async def test_is_sent_as_it_is_now(self, loop: ClaudeLoop, provider: Provider) -> None:
        for question in ("one thing", "another thing", "a third thing"):
            await loop.say(f"Tell me {question}. " + "It matters a lot. " * 400)
        loop.messages[2] = {"role": "user", "content": "Tell me nothing. " * 400}
        provider.expect_break("edited")
        await loop.say("And now?")
        [broke] = loop.events(CacheBroke)
        assert isinstance(broke.verdict, ExpectedBreak)
        assert broke.verdict.reason == "the caller changed its history"
        body = bodies(provider)[-1]
        texts = [message["content"][0]["text"] for message in body["messages"]]
        assert len(texts) == 7
        assert texts[2] == loop.messages[2]["content"]
        assert texts[0] == loop.messages[0]["content"]

    async def test_a_turn_that_was_removed(
        self, loop: ClaudeLoop, place: Place, provider: Provider
    ) -> None:
        await loop.say("Tell me one thing.")
        await loop.say("Tell me another thing.")
        del loop.messages[-2:]
        await loop.say("Tell me a third thing.")
        texts = str(bodies(provider)[-1]["messages"])
        assert "another" not in texts
        assert "third" in texts
        records = journal.load(
            Workspace.open(place.root).project.journal(str(loop.context.session))
        )
        assert [type(r) for r in records.records].count(Rewound) == 1

    async def test_goes_on_from_there_after_a_resume(
        self, loop: ClaudeLoop, place: Place, provider: Provider
    ) -> None:
        await loop.say("Tell me one thing.")
        await loop.say("Tell me another thing.")
        del loop.messages[-2:]
        await loop.say("Tell me a third thing.")
        await loop.context.aclose()
        again = ClaudeLoop(place, provider, session=loop.context.session)
        again.messages = loop.messages
        await again.say("Tell me a fourth thing.")
        await again.close()
        assert len(bodies(provider)[-1]["messages"]) == 5

    async def test_what_was_stored_is_stored_again(
        self, loop: ClaudeLoop, provider: Provider
    ) -> None:
        provider.script(*weather("Clouds."))
        loop.run = lambda given: LONG
        await loop.say("How is the weather in Bern?")
        stored = bodies(provider)[1]["messages"][2]
        loop.messages[0] = {"role": "user", "content": "How is the weather in Berne?"}
        provider.expect_break("edited")
        await loop.say("Thank you.")
        assert bodies(provider)[2]["messages"][2] == stored

    async def test_before_what_was_compacted(self, place: Place, provider: Provider) -> None:
        provider.respond(meteorologist)
        off = {"features.compact_by_price": False}
        loop = ClaudeLoop(place, provider, run=lambda given: LONG[:30_000], settings=off)
        for i in range(4):
            await loop.say(f"How is the weather in city number {i}?")
        await loop.context.compact()
        assert [event.layer for event in loop.events(LayerFired)] == ["compaction"]
        loop.messages[4] = {"role": "user", "content": "Is it cold in city number 1?"}
        await loop.say("And now?")
        await loop.close()
        sent = bodies(provider)[-1]["messages"]
        assert "city number 0" in str(sent[0])
        assert "cold" in str(sent[4])
        assert len(sent) == len(loop.messages) - 1

    async def test_before_what_was_compacted_by_price(
        self, loop: ClaudeLoop, provider: Provider
    ) -> None:
        """It is compacted again, as it is now."""
        provider.respond(meteorologist)
        loop.run = lambda given: LONG[:30_000]
        for i in range(8):
            await loop.say(f"How is the weather in city number {i}?")
        assert [event.layer for event in loop.events(LayerFired)] == ["compaction"]
        loop.messages[4] = {"role": "user", "content": "Is it cold in city number 1?"}
        await loop.say("And now?")
        assert [event.layer for event in loop.events(LayerFired)] == ["compaction"] * 2
        sent = str(bodies(provider)[-1]["messages"])
        assert "Is it cold in city number 1?" in sent
        assert "weather in city number 1" not in sent
        assert all(f"weather in city number {i}?" in sent for i in (0, 2, 3, 4, 5, 6, 7))
        assert all(isinstance(event.verdict, ExpectedBreak) for event in loop.events(CacheBroke))

    async def test_notes_forget_what_was_never_said(
        self, loop: ClaudeLoop, place: Place, provider: Provider
    ) -> None:
        provider.respond(lambda request: "I see. " * 8_000)
        await loop.say("Please always use the zeppelin for deliveries.")
        await run(loop.context._loop.session.background.drain())
        notes = Workspace.open(place.root).project.sessions / str(loop.context.session) / "notes.md"
        assert "zeppelin" in notes.read_text()
        loop.messages = []
        provider.expect_break("begun anew")
        await loop.say("Please always use the tram for deliveries.")
        await loop.say("Understood?")
        await run(loop.context._loop.session.background.drain())
        assert "zeppelin" not in notes.read_text()

    async def test_a_history_from_elsewhere_has_its_long_results_stored(
        self, place: Place, provider: Provider
    ) -> None:
        other = ClaudeLoop(place, provider, memory=False, run=lambda given: LONG)
        provider.script(*weather("Clouds."))
        await other.say("How is the weather in Bern?")
        await other.close()
        loop = ClaudeLoop(place, provider)
        loop.messages = other.messages
        provider.expect_conversation("another session")
        await loop.say("Thank you.")
        await loop.close()
        first, second = bodies(provider)[1], bodies(provider)[2]
        assert "<persisted-output>" in str(second["messages"][2])
        assert len(str(second["messages"][2])) < len(LONG) / 10
        assert first["tools"] == second["tools"]


class TestMoney:
    async def test_every_call_is_on_the_ledger(
        self, loop: ClaudeLoop, place: Place, provider: Provider
    ) -> None:
        await loop.say("Hello, how are you?")
        [spent] = loop.events(MoneySpent)
        assert spent.entry.cost > 0
        assert [entry.purpose for entry in Workspace.open(place.root).ledger.entries()] == ["main"]

    async def test_a_cap_is_kept_before_the_call(self, place: Place, provider: Provider) -> None:
        caps = {"spend.day": 0.0001, "spend.main_on_cap": "stop"}
        loop = ClaudeLoop(place, provider, settings=caps)
        with pytest.raises(SpendCapReached):
            await loop.say("Hello, how are you?")
        await loop.close()
        assert provider.requests == []

    async def test_what_was_never_sent_costs_nothing(
        self, place: Place, provider: Provider
    ) -> None:
        loop = ClaudeLoop(place, provider, settings={"spend.day": 100})
        for _ in range(3):
            await loop.context.prepare([{"role": "user", "content": "Hello, how are you?"}])
        await loop.close()
        ledger = loop_ledger(place)
        assert ledger.spent("main", "").day == 0.0


def loop_ledger(place: Place) -> Any:
    return Workspace.open(place.root, clock=place.clock).ledger


class TestOtherModels:
    async def test_a_model_object_and_messages_of_ours(self, place: Place) -> None:
        model = ScriptedModel(["Hello yourself."])
        async with Context(model=model) as context:
            first = new_message("user", OurText("Hello!"))
            prepared = await context.prepare([first])
            assert prepared.arguments == {}
            [reply] = [
                item async for item in model.stream(prepared.request) if isinstance(item, Reply)
            ]
            observed = await context.observe(reply)
            assert observed.text == "Hello yourself."
            second = new_message("assistant", *reply.blocks, after=first)
            third = new_message("user", OurText("Bye!"), after=second)
            request = (await context.prepare([first, second, third])).request
        assert [message.text for message in request.messages] == [
            "Hello!",
            "Hello yourself.",
            "Bye!",
        ]
        assert request.messages[1].response == reply.id

    async def test_closed_is_closed(self, place: Place) -> None:
        async with Context(model="offline") as context:
            await context.prepare([{"role": "user", "content": "Hello!"}])
        with pytest.raises(InputError, match="this Context is closed"):
            await context.prepare([{"role": "user", "content": "Hello!"}])


class TestWhatIsWrong:
    async def test_observing_what_was_not_prepared(self, place: Place) -> None:
        context = Context(model="offline")
        with pytest.raises(InputError, match=r"call prepare\(\) first"):
            await context.observe({})

    async def test_observing_twice(self, loop: ClaudeLoop, provider: Provider) -> None:
        prepared = await loop.context.prepare([{"role": "user", "content": "Hello there!"}])
        response = await loop.ask(**prepared.arguments)
        await loop.context.observe(response)
        with pytest.raises(InputError, match="observe each response once"):
            await loop.context.observe(response)

    async def test_observing_a_stream(self, loop: ClaudeLoop, provider: Provider) -> None:
        prepared = await loop.context.prepare([{"role": "user", "content": "Hello there!"}])
        stream = await loop.client.beta.messages.create(**prepared.arguments, stream=True)
        with pytest.raises(InputError, match="get_final_message"):
            await loop.context.observe(stream)
        await stream.close()

    @pytest.mark.parametrize("response", [{}, {"content": []}, {"choices": []}, {"output": [3]}, 7])
    async def test_observing_what_is_not_a_response(self, place: Place, response: object) -> None:
        async with Context(model="offline") as context:
            await context.prepare([{"role": "user", "content": "Hello!"}])
            with pytest.raises(InputError, match="give the SDK's response"):
                await context.observe(response)

    async def test_another_system_message(self, place: Place, provider: Provider) -> None:
        loop = ChatLoop(place, provider)
        await loop.say("Hello, how are you?")
        loop.messages[0] = {"role": "system", "content": "You are another."}
        with pytest.raises(InputError, match="the system message differs"):
            await loop.say("And now?")
        await loop.close()

    async def test_no_journal_is_written_for_it(self, place: Place) -> None:
        async with Context(model="offline") as context:
            with pytest.raises(ReverieError):
                await context.prepare([{"role": "assistant", "content": "Hello!"}])
            assert context.session is None

    @pytest.mark.parametrize(
        ("tools", "message"),
        [
            (["get_weather"], r"tools\[0\] is 'get_weather'; give a tool's dictionary"),
            ([{"type": "web_search_20250305", "name": "web"}], "tools that run at the provider"),
            ([{"name": 3, "input_schema": {"type": "object"}}], r"tools\[0\].name must be text, not 3"),
            ([{"function": {"name": "x", "parameters": []}}], "no input_schema and no parameters"),
        ],
    )  # fmt: skip
    def test_tools(self, place: Place, tools: list[Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            Context(tools=tools)

    @pytest.mark.parametrize("system", [3, [3], [{"type": "text"}]])
    def test_system(self, place: Place, system: Any) -> None:
        with pytest.raises(InputError, match="system"):
            Context(system=system)

    def test_a_project_that_is_not_a_folder(self, place: Place) -> None:
        with pytest.raises(InputError, match="is not a folder"):
            Context(project=place.root / "nowhere")
