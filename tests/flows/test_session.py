"""A prompt through every stage, over the real wire; the provider refuses what breaks its rules."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from itertools import pairwise

import pytest
from tests.flows.sessions import Desk, hear, kinds, reader
from tests.place import Place
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import Held, Reply, Text, Thinking, ToolCall
from tests.session.test_prefetch import Gated

from reverie.conversation import journal
from reverie.conversation.conversation import Assembler
from reverie.conversation.records import Said as SaidRecord
from reverie.conversation.state import SessionState
from reverie.core.messages import Attachment, ToolUse
from reverie.core.messages import Text as Said
from reverie.core.prompt_cache.tracker import ExpectedBreak
from reverie.core.request import Request
from reverie.core.transcript import INTERRUPTED, pairing
from reverie.core.window import CacheRules, Capabilities
from reverie.errors import InputError, WindowFull
from reverie.events import (
    CacheBroke,
    Event,
    ForkEnded,
    LayerFired,
    MemoriesLate,
    MemoriesSurfaced,
    NotesUpdated,
    Replied,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TroubleNoted,
    TurnEnded,
)
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.models.offline import ScriptedModel
from reverie.session.build import open_session
from reverie.session.options import SessionOptions
from reverie.session.prefetch import Late
from reverie.session.query import Session


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(place, provider, monkeypatch)


async def test_a_turn_with_tools(desk: Desk) -> None:
    desk.write("app.py", "print('hello')\n")
    desk.provider.script(
        [Thinking("look"), Text("Let me look."), ToolCall("Read", {"path": "app.py"})],
        "It prints hello.",
    )
    async with desk.session() as session:
        events = await hear(session, "What does app.py do?")
    [finished] = kinds(events, ToolFinished)
    assert isinstance(finished, ToolFinished)
    assert "print('hello')" in finished.result.text
    assert kinds(events, TurnEnded) == [TurnEnded("end")]
    assert len(kinds(events, Replied)) == 2


class TestRecall:
    QUESTION = "When do deploys freeze this winter?"

    def remember(self, desk: Desk) -> None:
        memory = NewMemory("Deploys freeze on 2025-12-20 and thaw on 2026-01-07.", type="project")
        desk.app().memory().keeper.remember(memory, Author("user"))

    async def test_memories_stand_behind_the_message(self, desk: Desk) -> None:
        self.remember(desk)
        async with desk.session() as session:
            events = await hear(session, self.QUESTION)
        [found] = kinds(events, MemoriesSurfaced)
        assert isinstance(found, MemoriesSurfaced)
        assert len(found.files) == 1
        [request] = desk.provider.requests
        texts = [m["content"][0]["text"] for m in request.json["messages"]]
        assert [text.startswith("<reminder") for text in texts] == [False, True, True]
        assert "Deploys freeze on 2025-12-20" in texts[-1]

    async def test_what_was_given_is_counted_in_bytes(self, desk: Desk) -> None:
        memory = NewMemory("Für Überfälle auf Bäckereien gilt: 日本語で答える。", type="project")
        desk.app().memory().keeper.remember(memory, Author("user"))
        async with desk.session() as session:
            await hear(session, "Was gilt für Überfälle auf Bäckereien?")
            state = session.conversation.state
        [given] = (b.text for m in state.messages for b in m.blocks if isinstance(b, Attachment) and b.label == "recall")  # fmt: skip
        [shown] = state.memories_shown
        assert shown.bytes == len(given.encode()) > len(given)

    async def test_the_prefix_is_the_same_without_them(self, desk: Desk) -> None:
        self.remember(desk)
        async with desk.session("features.recall=false") as session:
            await hear(session, self.QUESTION)
        async with desk.session() as session:
            await hear(session, self.QUESTION)
        without, with_memories = (request.json for request in desk.provider.requests)
        assert with_memories["system"] == without["system"]
        assert with_memories["tools"] == without["tools"]
        texts = [[m["content"][0]["text"] for m in r["messages"]] for r in (with_memories, without)]
        assert texts[0][: len(texts[1])] == texts[1]
        assert len(texts[0]) == len(texts[1]) + 1

    async def test_a_memory_is_given_once_a_session_even_over_a_resume(self, desk: Desk) -> None:
        self.remember(desk)
        async with desk.session() as session:
            await hear(session, self.QUESTION)
        async with desk.session(resume=True) as session:
            events = await hear(session, self.QUESTION)
        assert kinds(events, MemoriesSurfaced) == []

    async def test_late_memories_come_at_the_end_of_a_tool_round(self, desk: Desk) -> None:
        desk.write("a.txt", "nothing")
        desk.provider.script(ToolCall("Read", {"path": "a.txt"}), "Now I know.")
        async with desk.session() as session:
            events = await self.hear_late(session, "inject")
        assert [type(event) for event in kinds(events, MemoriesLate, ToolFinished, MemoriesSurfaced)] == [MemoriesLate, ToolFinished, MemoriesSurfaced]  # fmt: skip
        first, second = (str(request.json["messages"]) for request in desk.provider.requests)
        assert "No deploys." not in first
        assert "No deploys." in second

    async def test_late_memories_of_a_turn_without_tools_come_with_the_next_message(
        self, desk: Desk
    ) -> None:
        async with desk.session() as session:
            events = await self.hear_late(session, "inject")
            assert kinds(events, MemoriesLate, MemoriesSurfaced) == [MemoriesLate(0.0)]
            session.recall = None
            events = await hear(session, "And then?")
            assert len(kinds(events, MemoriesSurfaced)) == 1
            assert kinds(await hear(session, "And now?"), MemoriesSurfaced) == []
        first, second, _ = (str(request.json["messages"]) for request in desk.provider.requests)
        assert "No deploys." not in first
        assert "No deploys." in second

    async def test_late_memories_may_be_dropped(self, desk: Desk) -> None:
        async with desk.session() as session:
            await self.hear_late(session, "drop")
            session.recall = None
            assert kinds(await hear(session, "And then?"), MemoriesSurfaced) == []

    async def hear_late(self, session: Session, late: Late) -> list[Event]:
        """A turn whose recall is done only after its deadline."""
        recall = Gated()
        session.recall, session.late = recall, late
        session.limits = replace(session.limits, recall_seconds=0.0)

        def release(event: Event) -> None:
            if isinstance(event, MemoriesLate):
                recall.gate.set()

        with session.announce.subscribed(release):
            return await hear(session, self.QUESTION)

    @pytest.mark.parametrize(
        ("setting", "seconds"),
        [("models.main=offline", None), ("recall.deadline=2.5", 2.5), ("recall.late=drop", 1.0)],
    )
    async def test_how_long_recall_is_waited_for(
        self,
        desk: Desk,
        setting: str,
        seconds: float | None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.delenv("REVERIE_RECALL_DEADLINE")
        async with desk.session(setting) as session:
            assert session.limits.recall_seconds == seconds

    async def test_the_agent_searches_memories_and_past_conversations(self, desk: Desk) -> None:
        self.remember(desk)
        async with desk.session() as session:
            await hear(session, "The harbour crane was painted teal in April.")
        desk.provider.script(
            [
                ToolCall("search_memory", {"query": "deploys freeze", "scope": "memories"}),
                ToolCall("search_memory", {"query": "harbour crane", "scope": "episodes"}),
            ],
            "Found.",
        )
        desk.provider.expect_conversation("another session")
        async with desk.session() as session:
            await hear(session, "Look it up, please!")
            found = session.conversation.state.messages[-2].tool_results
        assert "2025-12-20" in found[0].text
        assert "teal" in found[1].text

    async def test_a_memory_the_agent_has_read_by_itself_is_not_given_again(
        self, desk: Desk
    ) -> None:
        self.remember(desk)
        memory = desk.app().memory()
        [entry] = memory.store.entries()
        path = str(memory.place.directory / entry.file)
        desk.provider.script(ToolCall("Read", {"path": path}), "I know now.")
        async with desk.session() as session:
            assert kinds(await hear(session, "Hello!"), MemoriesSurfaced) == []
            assert kinds(await hear(session, self.QUESTION), MemoriesSurfaced) == []


class TestLongResults:
    async def test_a_long_result_goes_to_a_file_and_stays_as_it_was_sent(self, desk: Desk) -> None:
        lines = "".join(f"line {i}: everything is fine\n" for i in range(6_000))
        desk.write("build.log", lines + "ERROR: the disk is full\n")
        desk.provider.script(
            ToolCall("Bash", {"command": "cat build.log"}), "The disk is full.", "As I said."
        )
        async with desk.session() as session:
            events = await hear(session, "Why does the build fail?")
            await hear(session, "Say it again.")
            [path] = (desk.app().project.sessions / session.conversation.state.session).glob(
                "tool-results/*"
            )
        assert path.read_text().count("\n") >= 6_000
        [fired] = kinds(events, LayerFired)
        assert isinstance(fired, LayerFired)
        assert fired.tokens_before > 10 * fired.tokens_after
        sent = str(desk.provider.requests[1].json["messages"][3])
        assert "<persisted-output>" in sent
        assert "ERROR: the disk is full" in sent
        assert str(path) in sent
        assert str(desk.provider.requests[2].json["messages"][3]["content"][0]["content"]) in sent

    async def test_with_the_switch_off_it_is_sent_whole(self, desk: Desk) -> None:
        desk.write("build.log", "fine\n" * 12_000)
        desk.provider.script(ToolCall("Bash", {"command": "cat build.log"}), "Fine.")
        async with desk.session("features.tool_result_storage=false") as session:
            await hear(session, "And?")
        assert "persisted" not in str(desk.provider.requests[1].json)


def big(number: int) -> str:
    """About 8,000 tokens of source."""
    return "".join(
        f"def function_{number}_{i}(): return {i * number}  # same\n" for i in range(650)
    )


BATCHES_OFF = (
    "features.microcompact_batch=false",
    "features.microcompact_server=false",
    "features.compact_by_price=false",
)


class TestNearlyFull:
    """A window of 60,000 tokens: compaction is due at 40,200."""

    PROMPTS = tuple(f"Please read part_{i}.py; this is request number {i}." for i in range(8))

    @pytest.fixture
    async def small(self, desk: Desk) -> Desk:
        await desk.set_window(60_000)
        for i in range(8):
            desk.write(f"part_{i}.py", big(i))
        desk.provider.respond(reader)
        return desk

    async def test_the_conversation_is_compacted_and_goes_on(self, small: Desk) -> None:
        events: list[Event] = []
        async with small.session(*BATCHES_OFF, "features.session_notes=false") as session:
            for prompt in self.PROMPTS:
                events += await small.hear(session, prompt)
            state = session.conversation.state
        fired = [event for event in events if isinstance(event, LayerFired)]
        assert {event.layer for event in fired} == {"compaction"}
        assert all(event.tokens_after < 40_200 for event in fired)
        assert {done.how for done in state.compactions} == {"summary"}
        assert all(
            isinstance(e.verdict, ExpectedBreak) for e in events if isinstance(e, CacheBroke)
        )
        assert pairing(state.shown).ok
        sent = str(small.provider.requests[-1].json)
        assert all(prompt in sent for prompt in self.PROMPTS)

    async def test_forks_read_what_the_conversation_wrote(self, small: Desk) -> None:
        events: list[Event] = []
        async with small.session(*BATCHES_OFF, "notes.refine=due") as session:
            for prompt in self.PROMPTS[:4]:
                events += await small.hear(session, prompt)
        forks = [event for event in events if isinstance(event, ForkEnded)]
        assert len(forks) >= 3
        assert {event.purpose for event in forks} == {"notes"}
        assert all(event.usage.hit_rate > 0.9 for event in forks)

    async def test_clearing_old_results_keeps_the_window_without_a_summary(
        self, small: Desk
    ) -> None:
        for i in range(24):
            small.write(f"short_{i}.py", big(i)[:8_000])
        events: list[Event] = []
        async with small.session("features.compact_by_price=false") as session:
            for i in range(24):
                events += await small.hear(session, f"Please read short_{i}.py now.")
        layers = [event.layer for event in events if isinstance(event, LayerFired)]
        assert set(layers) == {"microcompaction"}
        assert len(layers) < 6

    async def test_asking_three_times_for_nothing_does_not_switch_it_off(self, small: Desk) -> None:
        async with small.session() as session:
            await small.hear(session, "Hello there.")
            for _ in range(3):
                await session.upkeep.compact_now("manual")
            assert session.conversation.state.compaction_failures == 0

    async def test_a_memory_that_cannot_be_read_does_not_cost_the_summary(
        self, small: Desk
    ) -> None:
        async with small.session(*BATCHES_OFF, "features.session_notes=false") as session:
            for prompt in self.PROMPTS[:3]:
                await small.hear(session, prompt)
            index = small.app().memory().place.directory / "MEMORY.md"
            index.unlink(missing_ok=True)
            index.mkdir(parents=True)
            events: list[Event] = []
            for prompt in self.PROMPTS[3:6]:
                events += await small.hear(session, prompt)
            assert session.conversation.state.compactions
        assert any(isinstance(e, TroubleNoted) and e.where == "compaction.head" for e in events)

    async def test_with_everything_off_it_refuses_rather_than_sends_what_must_fail(
        self, small: Desk
    ) -> None:
        async with small.session(*BATCHES_OFF, "features.autocompact=false") as session:
            for prompt in self.PROMPTS[:5]:
                await small.hear(session, prompt)
            with pytest.raises(WindowFull, match=r"/compact"):
                await small.hear(session, self.PROMPTS[5])

    async def test_the_notes_are_the_summary_when_there_are_notes(self, small: Desk) -> None:
        events: list[Event] = []
        async with small.session(*BATCHES_OFF, "notes.refine=never") as session:
            for prompt in self.PROMPTS:
                events += await small.hear(session, prompt)
            compactions = session.conversation.state.compactions
        assert kinds(events, NotesUpdated)
        assert {done.how for done in compactions} == {"notes"}
        assert kinds(events, ForkEnded) == []
        sent = str(small.provider.requests[-1].json)
        assert all(prompt in sent for prompt in self.PROMPTS)

    @pytest.mark.parametrize("off", [(), BATCHES_OFF])
    async def test_every_request_can_be_made_again_from_the_transcript_alone(
        self, small: Desk, off: tuple[str, ...]
    ) -> None:
        async with small.session(*off) as session:
            for prompt in self.PROMPTS:
                await small.hear(session, prompt)
            capabilities = session.conversation.model.capabilities
            path = small.app().project.journal(session.conversation.state.session)
        state, checked = SessionState(), 0
        for record in journal.load(path).records:
            if isinstance(record, SaidRecord) and record.message.bound_to is not None:
                assert state.head is not None
                chain = Assembler(capabilities).assemble(state.head, state.shown).chain
                assert chain.digest == record.message.bound_to
                checked += 1
            state.apply(record)
        assert checked == 2 * len(self.PROMPTS)


class TestInterrupt:
    async def test_a_held_stream_is_let_go_and_the_next_turn_goes_on(self, desk: Desk) -> None:
        gate = Gate()
        desk.provider.script(Held(Reply((Text("a long answer"),)), gate, after=4), "Here I am.")
        async with desk.session() as session:
            async with aclosing(session.run("Tell me everything.")) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
            gate.release()
            await hear(session, "Are you there?")
            texts = [m.text for m in session.conversation.state.messages]
        assert texts[0] == "Tell me everything."
        assert "[Interrupted by the user]" in texts
        assert texts[-1] == "Here I am."

    @pytest.mark.parametrize(("setting", "left"), [("go-on", ("x",)), ("stop", ())])
    async def test_background_work_goes_on_or_stops_by_setting(
        self, desk: Desk, setting: str, left: tuple[str, ...]
    ) -> None:
        gate = Gate()
        desk.provider.script(Held(Reply((Text("a long answer"),)), gate, after=4))
        async with desk.session(
            f"agent.on_interrupt={setting}", "features.search_past_context=false"
        ) as session:
            ends = asyncio.Event()

            async def works() -> None:
                await ends.wait()

            session.background.start("x", works())
            async with aclosing(session.run("Tell me everything.")) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
            gate.release()
            assert session.background.running == left
            ends.set()

    async def test_an_open_call_gets_a_result(self, desk: Desk) -> None:
        desk.provider.script(ToolCall("Bash", {"command": "sleep 30"}), "Fine.")
        async with desk.session() as session:
            async with aclosing(session.run("Wait.")) as events:
                async for event in events:
                    if isinstance(event, ToolStarted):
                        break
            assert pairing(session.conversation.state.messages).ok
            await hear(session, "Go on.")
        assert INTERRUPTED in str(desk.provider.requests[1].json)

    async def test_what_was_done_before_an_interrupt_is_told_as_it_is(self, desk: Desk) -> None:
        write = ToolCall("Write", {"path": "a.txt", "content": "hello"})
        desk.provider.script([write, ToolCall("Bash", {"command": "sleep 30"})])
        async with desk.session() as session:
            async with aclosing(session.run("Write, then wait.")) as events:
                async for event in events:
                    if isinstance(event, ToolStarted) and event.name == "Bash":
                        break
            results = session.conversation.state.messages[-2].tool_results
        assert [result.is_error for result in results] == [False, True]
        assert results[1].text == INTERRUPTED

    async def test_a_killed_session_is_mended_when_it_is_resumed(self, desk: Desk) -> None:
        desk.provider.script(ToolCall("Bash", {"command": "true"}), "Done.", "Yes.")
        async with desk.session() as session:
            await hear(session, "Run it.")
            path = desk.app().project.journal(session.conversation.state.session)
        lines = path.read_bytes().splitlines(keepends=True)
        called = next(i for i, line in enumerate(lines) if b'"tool_use"' in line)
        path.write_bytes(b"".join(lines[: called + 2]))
        async with desk.session(resume=True) as session:
            await hear(session, "Still there?")
            assert pairing(session.conversation.state.messages).ok


async def test_the_date_is_told_when_it_changes(desk: Desk) -> None:
    async with desk.session() as session:
        await hear(session, "Good morning.")
        desk.place.clock.advance(24 * 3600)
        await hear(session, "Good morning again.")
    texts = str(desk.provider.requests[-1].json["messages"])
    assert "Today is Sunday, 2025-06-15." in texts
    assert "today is Monday, 2025-06-16." in texts


async def test_background_trouble_does_not_stop_a_turn(desk: Desk) -> None:
    async with desk.session() as session:

        async def fails() -> None:
            raise OSError(28, "no space")

        heard: list[Event] = []
        with session.announce.subscribed(heard.append):
            assert session.background.start("x", fails())
            await asyncio.sleep(0)
            await session.background.drain(5)
        assert [type(event) for event in heard] == [TroubleNoted]
        assert kinds(await hear(session, "Hello there."), TurnEnded) == [TurnEnded("end")]


async def test_a_session_is_open_in_one_place_only(desk: Desk) -> None:
    async with desk.session() as session:
        await hear(session, "Hello there.")
        with pytest.raises(InputError, match="is open elsewhere"):
            await desk.session(resume=True).__aenter__()
    async with desk.session(resume=True) as session:
        await hear(session, "Hello again.")


async def test_edits_of_the_cache_are_repeated_in_place_by_every_later_request(
    place: Place,
) -> None:
    """No provider offers them publicly; a model that declares them is sent them."""

    def play(request: Request) -> tuple[ToolUse | Said, ...]:
        number = len(model.requests)
        use = ToolUse(f"call_{number}", "Bash", '{"command": "seq 2000"}')
        return (use,) if number % 2 else (Said("Done."),)

    able = Capabilities(window=200_000, cache=CacheRules("explicit"), cache_edits=True)
    model = ScriptedModel(otherwise=play, capabilities=able)
    app = place.app("features.extract=false", "tools.Bash.result_threshold=50000")
    async with open_session(app, SessionOptions(ready=model, mode="bypass")) as session:
        for i in range(30):
            await hear(session, f"Count again, please: {i}.")
    edited = [request.cache_edits for request in model.requests]
    assert edited[0] == ()
    assert edited[-1]
    for earlier, later in pairwise(edited):
        assert later[: len(earlier)] == earlier
    assert all("cleared" not in str(request.messages) for request in model.requests)
