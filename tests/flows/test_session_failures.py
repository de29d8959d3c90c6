"""Every way a model or a disk can fail: the turn goes on, or ends with a clear word; nothing is lost."""

import os
from contextlib import AsyncExitStack

import pytest
from tests.flows.sessions import MODEL, Desk, hear, kinds, reader
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import (
    Cut,
    Garbage,
    HttpError,
    Malformed,
    Reply,
    ScriptItem,
    StreamError,
    Text,
    ToolCall,
    TooLong,
    Unfinished,
    overloaded,
    rate_limited,
    server_error,
)

from reverie.core.transcript import pairing
from reverie.errors import (
    AccessDenied,
    ModelError,
    Overloaded,
    PromptTooLong,
    ReplyBroken,
    RequestRefused,
)
from reverie.events import LayerFired, TroubleNoted, TurnEnded, no_listener
from reverie.models import catalog
from reverie.models.anthropic import AnthropicModel
from reverie.models.wrappers import PatientModel
from reverie.session.options import SessionModel, SessionOptions


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(place, provider, monkeypatch)


def at_once(desk: Desk) -> SessionOptions:
    """A model whose SDK does not wait and try again."""
    row = catalog.find("claude-sonnet-5-5")
    assert row is not None
    model = AnthropicModel(
        "claude-sonnet-5-5",
        api_key="test",
        capabilities=row.capabilities,
        prices=row.prices,
        base_url=desk.provider.anthropic_url,
        retries=0,
    )
    return SessionOptions(ready=model, mode="bypass")


BROKEN = [Cut(), Unfinished(), Malformed()]

FAILURES: list[tuple[ScriptItem, type[ModelError]]] = [
    (rate_limited(), Overloaded),
    (overloaded(), Overloaded),
    (server_error(), Overloaded),
    (StreamError(), Overloaded),
    (HttpError(400, "messages: nonsense"), RequestRefused),
    (HttpError(401, "invalid x-api-key"), AccessDenied),
    (Garbage(), ReplyBroken),
]


@pytest.mark.parametrize(("answer", "error"), FAILURES)
async def test_a_failure_is_raised_and_the_question_can_be_asked_again(
    desk: Desk, answer: ScriptItem, error: type[ModelError]
) -> None:
    desk.provider.script(answer, answer, "Now it works.")
    async with desk.session(options=at_once(desk)) as session:
        with pytest.raises(error):
            await hear(session, "Are you well?")
        if error is not ReplyBroken:
            desk.provider.script()
            with pytest.raises(error):
                await hear(session, "Again?")
        events = await hear(session, "And now?")
        texts = [m.text for m in session.conversation.state.messages if m.origin == "user"]
    assert kinds(events, TurnEnded) == [TurnEnded("end")]
    assert texts[0] == "Are you well?"


@pytest.mark.parametrize("answer", BROKEN)
async def test_a_broken_stream_is_asked_for_once_more(desk: Desk, answer: ScriptItem) -> None:
    desk.provider.script(answer, "Whole.")
    async with desk.session(options=at_once(desk)) as session:
        events = await hear(session, "Are you well?")
        assert session.conversation.state.messages[-1].text == "Whole."
    assert [e.where for e in events if isinstance(e, TroubleNoted)] == ["model"]


async def test_an_error_in_mid_reply_is_asked_for_once_more(desk: Desk) -> None:
    desk.provider.script(StreamError(after=4), "Whole.")
    model = PatientModel(at_once(desk).ready, retries=0)  # type: ignore[arg-type]
    async with desk.session(options=SessionOptions(ready=model, mode="bypass")) as session:
        events = await hear(session, "Are you well?")
        assert session.conversation.state.messages[-1].text == "Whole."
    assert [e.where for e in events if isinstance(e, TroubleNoted)] == ["model"]


async def test_a_refusal_and_an_empty_reply_end_the_turn(desk: Desk) -> None:
    desk.provider.script(Reply((), stop_reason="refusal"), Reply(()), "Good.")
    async with desk.session() as session:
        assert kinds(await hear(session, "Do evil."), TurnEnded) == [TurnEnded("refusal")]
        assert kinds(await hear(session, "Say nothing."), TurnEnded) == [TurnEnded("end")]
        assert kinds(await hear(session, "Do good."), TurnEnded) == [TurnEnded("end")]


async def test_calls_that_cannot_be_made_are_told_to_the_model(desk: Desk) -> None:
    desk.provider.script([ToolCall("Fly", {}), ToolCall("Read", {"wrong": 1})], "I see.")
    async with desk.session() as session:
        await hear(session, "Fly there.")
    results = desk.provider.requests[1].json["messages"][-1]["content"]
    assert [block["is_error"] for block in results] == [True, True]
    assert "There is no tool 'Fly'" in str(results[0])
    assert "the arguments must contain" in str(results[1])


async def test_an_answer_that_was_cut_off_is_continued(desk: Desk) -> None:
    cut = Reply((Text("First half,"),), stop_reason="max_tokens")
    desk.provider.script(cut, " second half.")
    async with desk.session() as session:
        events = await hear(session, "Tell me a story.")
    assert kinds(events, TurnEnded) == [TurnEnded("end")]
    assert "Go on exactly where you stopped" in str(desk.provider.requests[1].json)


async def test_an_endless_answer_ends(desk: Desk) -> None:
    desk.provider.respond(lambda _: Reply((Text("and so on"),), stop_reason="max_tokens"))
    async with desk.session() as session:
        events = await hear(session, "Tell me a story.")
    assert kinds(events, TurnEnded) == [TurnEnded("max_tokens")]
    assert len(desk.provider.requests) == 4


async def test_an_agent_that_never_stops_is_stopped(desk: Desk) -> None:
    desk.provider.respond(lambda _: ToolCall("Bash", {"command": "true"}))
    async with desk.session("agent.max_requests=3") as session:
        events = await hear(session, "Go.")
        assert pairing(session.conversation.state.messages).ok
        desk.provider.respond(lambda _: "Done.")
        await hear(session, "Stop.")
    assert kinds(events, TurnEnded) == [TurnEnded("limit of requests")]


async def test_an_overloaded_model_gives_way_to_the_fallback(desk: Desk) -> None:
    desk.provider.script(overloaded(), "From the other one.", "Still the other one.")
    desk.provider.expect_break("the model changed", within=2)
    fallback = "models.fallback=anthropic:claude-haiku-4-5"
    async with desk.session(fallback, options=at_once(desk)) as session:
        events = await hear(session, "Are you there?")
        await hear(session, "And now?")
    models = [request.json["model"] for request in desk.provider.requests]
    assert models == ["claude-sonnet-5-5", "claude-haiku-4-5", "claude-haiku-4-5"]
    assert session.upkeep.window == desk.app().window("anthropic:claude-haiku-4-5")
    assert session.upkeep.head().model == "claude-haiku-4-5"
    assert "going on with claude-haiku-4-5" in str(kinds(events, TroubleNoted))


async def test_a_fallback_that_is_the_same_model_changes_nothing(desk: Desk) -> None:
    desk.provider.script(overloaded(), "Back again.")
    app = desk.app(f"models.fallback={MODEL}")
    async with AsyncExitStack() as stack:
        speaker = SessionModel(app, SessionOptions(), "s1", no_listener, stack)
        before = speaker.now
        assert speaker.change_to_fallback() is None
        assert speaker.now is before
    async with desk.session(f"models.fallback={MODEL}", options=at_once(desk)) as session:
        with pytest.raises(Overloaded):
            await hear(session, "Are you there?")
        assert kinds(await hear(session, "And now?"), TurnEnded) == [TurnEnded("end")]


class TestTooLong:
    async def test_the_conversation_is_compacted_once_and_sent_again(self, desk: Desk) -> None:
        desk.provider.respond(reader)
        desk.write("a.txt", "words and words\n" * 1_500)
        async with desk.session(*OFF) as session:
            for i in range(3):
                await desk.hear(session, f"Please read a.txt, round {i}")
            desk.provider.script(TooLong(210_000, 200_000))
            events = await desk.hear(session, "What did it say?")
            window = session.upkeep.window
        assert [e.layer for e in events if isinstance(e, LayerFired)] == ["compaction"]
        assert window.tokens == 200_000

    async def test_a_second_refusal_is_told(self, desk: Desk) -> None:
        desk.provider.respond(lambda _: TooLong(210_000, 200_000))
        async with desk.session() as session:
            with pytest.raises(PromptTooLong):
                await hear(session, "Hello there.")


OFF = ("features.microcompact_server=false", "features.microcompact_batch=false")


def failing_side_tasks(answer: ScriptItem) -> object:
    def respond(request: RecordedRequest) -> ScriptItem:
        return answer if "<side-task>" in str(request.json["messages"][-1]) else reader(request)

    return respond


SIDE_FAILURES = [
    *BROKEN,
    *(answer for answer, _ in FAILURES),
    "",
    "no summary at all",
    "<summary></summary>",
    Reply((), stop_reason="refusal"),
    ToolCall("Bash", {"command": "touch hacked"}),
    ToolCall("Nothing", {}),
]


@pytest.mark.parametrize("answer", SIDE_FAILURES, ids=repr)
@pytest.mark.parametrize("notes", ["due", "never"])
async def test_notes_and_summaries_do_without_a_model_that_fails(
    desk: Desk, answer: ScriptItem, notes: str
) -> None:
    row = catalog.find("claude-sonnet-5-5")
    assert row is not None
    await desk.set_window(60_000)
    for i in range(7):
        desk.write(f"part_{i}.py", f"# {i}\n" + f"value_{i} = 'constant'\n" * 1_400)
    desk.provider.respond(failing_side_tasks(answer))  # type: ignore[arg-type]
    monkey = at_once(desk)
    options = (*OFF, f"notes.refine={notes}", f"features.notes_compaction={notes == 'due'}".lower())
    async with desk.session(*options, options=monkey) as session:
        session.upkeep.window = session.folding.window = desk.app().window(f"anthropic:{row.name}")
        for i in range(7):
            await desk.hear(session, f"Please read part_{i}.py, request {i}.")
        state = session.conversation.state
    assert state.compactions
    assert pairing(state.shown).ok
    sent = str(desk.provider.requests[-1].json)
    assert all(f"part_{i}.py, request {i}." in sent for i in range(7))
    assert not (desk.place.root / "hacked").exists()


class TestDisk:
    async def test_results_that_cannot_be_kept_are_cut_and_the_turn_goes_on(
        self, desk: Desk
    ) -> None:
        desk.write("build.log", "all is fine here\n" * 20_000)
        desk.provider.script(ToolCall("Bash", {"command": "cat build.log"}), "Fine.")
        async with desk.session() as session:
            folder = desk.app().project.sessions / session.conversation.state.session
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "tool-results").write_text("in the way")
            events = await hear(session, "And?")
        assert kinds(events, TurnEnded) == [TurnEnded("end")]
        assert [e for e in events if isinstance(e, TroubleNoted)]
        assert len(str(desk.provider.requests[1].json)) < 260_000

    async def test_a_transcript_that_cannot_be_written_stops_nobody(self, desk: Desk) -> None:
        async with desk.session() as session:
            await hear(session, "One.")
            fd = session.conversation._recorder._journal._file
            full = os.open("/dev/full", os.O_WRONLY)
            kept = os.dup(fd)
            os.dup2(full, fd)
            events = await hear(session, "Two.")
            os.dup2(kept, fd)
            await hear(session, "Three.")
            path = desk.app().project.journal(session.conversation.state.session)
            for descriptor in (full, kept):
                os.close(descriptor)
        assert {e.where for e in events if isinstance(e, TroubleNoted)} == {"transcript"}
        assert all(word in path.read_text() for word in ("One.", "Two.", "Three."))
