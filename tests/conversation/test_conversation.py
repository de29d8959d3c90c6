"""Say, send, and every step is journalled."""

from __future__ import annotations

import resource
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.conversation.build import HEAD, STRICT
from tests.place import FixedClock

from reverie.conversation import journal
from reverie.conversation.conversation import Conversation
from reverie.conversation.journal import Journal
from reverie.conversation.records import CacheEdited, Compacted, HeadFrozen, Opened, Said, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import Text, ToolResult, ToolUse, new_message
from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak
from reverie.core.request import (
    CacheEdit,
    Cleared,
    Reply,
    Request,
    StreamItem,
    TextDelta,
    ToolUseStarted,
)
from reverie.core.usage import FREE, Prices, Usage
from reverie.core.window import Capabilities
from reverie.errors import InvariantBroken, Overloaded, ReplyBroken
from reverie.events import CacheBroke, ContextCleared, Event, Replied, TroubleNoted, no_listener
from reverie.models.offline import ScriptedModel
from reverie.ports import Model, complete


@dataclass
class Replies:
    """A model that gives these replies, as they are."""

    replies: list[Reply]
    name: str = "replies"
    capabilities: Capabilities = STRICT
    prices: Prices | None = FREE
    requests: list[Request] = field(default_factory=list)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self.requests.append(request)
        if self.replies:
            yield self.replies.pop(0)

    async def aclose(self) -> None:
        return None


def cached(read: int, written: int, **more: object) -> Reply:
    usage = Usage(cache_read=read, cache_write_5m=written, output=5)
    return Reply(f"r{read}_{written}", "m", (Text("answer"),), "end", usage, **more)  # type: ignore[arg-type]


def begun(path: Path, model: Model) -> Conversation:
    conversation = Conversation(Journal(path), model, FixedClock())
    conversation.open("s1", HEAD, "/project")
    return conversation


async def turn(conversation: Conversation, text: str = "hello") -> list[Event]:
    conversation.say(Text(text))
    return [event async for event in conversation.send()]


async def test_everything_is_written_down(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    model = ScriptedModel([[Text("Looking."), ToolUse("t1", "Read")]])
    events = await turn(begun(path, model))
    assert events[:2] == [TextDelta("Looking."), ToolUseStarted("t1", "Read")]
    assert isinstance(events[2], Replied)
    opened, head, said, answered, used = journal.load(path).records
    assert opened == Opened("s1", FixedClock().now(), "/project")
    assert head == HeadFrozen(HEAD)
    assert isinstance(said, Said)
    assert isinstance(answered, Said)
    assert answered.message.parent == said.message.id
    assert answered.message.bound_to is not None
    assert isinstance(used, Used)
    assert used.response == answered.message.response == events[2].reply.id


async def test_a_reply_without_blocks_costs_but_says_nothing(tmp_path: Path) -> None:
    empty = Reply("r1", "m", (), "refusal", Usage(input=10))
    conversation = begun(tmp_path / "s.jsonl", Replies([empty]))
    assert await turn(conversation) == [Replied(empty)]
    assert len(conversation.state.messages) == 1
    assert conversation.state.usage == Usage(input=10)


async def test_a_failure_leaves_the_question_for_another_try(tmp_path: Path) -> None:
    model = ScriptedModel([Overloaded("try later"), "answer"], capabilities=STRICT)
    conversation = begun(tmp_path / "s.jsonl", model)
    with pytest.raises(Overloaded):
        await turn(conversation)
    assert [m.text for m in conversation.state.messages] == ["hello"]
    _ = [event async for event in conversation.send()]
    assert model.requests[0] == model.requests[1]


async def test_nothing_can_be_sent_before_something_was_said(tmp_path: Path) -> None:
    conversation = Conversation(Journal(tmp_path / "s.jsonl"), ScriptedModel(), FixedClock())
    with pytest.raises(InvariantBroken, match="must be opened and spoken to"):
        conversation.assembled()
    conversation.open("s1", HEAD)
    with pytest.raises(InvariantBroken):
        _ = [event async for event in conversation.send()]


async def test_a_full_disk_stops_nobody_and_what_waited_is_written_in_order(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    heard: list[Event] = []
    model = ScriptedModel(["one", "two"], capabilities=STRICT)
    conversation = Conversation(Journal(path), model, FixedClock(), announce=heard.append)
    conversation.open("s1", HEAD)
    written = path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (written + 10, before[1]))
    try:
        await turn(conversation)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.stat().st_size == written
    assert [type(event) for event in heard] == [TroubleNoted]
    await turn(conversation)
    replayed = SessionState.replay(journal.load(path).records)
    assert replayed.messages == conversation.state.messages
    assert [m.text for m in replayed.messages] == ["hello", "one", "hello", "two"]


async def test_a_lost_cache_is_announced(tmp_path: Path) -> None:
    model = Replies([cached(0, 5000), cached(0, 5100), cached(5100, 100)])
    conversation = begun(tmp_path / "s.jsonl", model)
    assert not [e for e in await turn(conversation) if isinstance(e, CacheBroke)]
    [broke] = [e for e in await turn(conversation) if isinstance(e, CacheBroke)]
    assert isinstance(broke.verdict, Broken)
    assert (broke.session, broke.purpose, broke.verdict.lost) == ("s1", "main", 5000)
    assert not [e for e in await turn(conversation) if isinstance(e, CacheBroke)]


async def test_a_break_that_was_foretold_is_told_as_such(tmp_path: Path) -> None:
    conversation = begun(tmp_path / "s.jsonl", Replies([cached(0, 5000), cached(0, 5000)]))
    await turn(conversation)
    conversation.expect_break("compaction")
    [broke] = [e for e in await turn(conversation) if isinstance(e, CacheBroke)]
    assert broke.verdict == ExpectedBreak("compaction", 5000)


async def test_what_the_provider_cleared_is_announced(tmp_path: Path) -> None:
    cleared = Cleared("tool_uses", 3, 900)
    conversation = begun(tmp_path / "s.jsonl", Replies([cached(0, 10, cleared=(cleared,))]))
    assert ContextCleared("s1", cleared) in await turn(conversation)


async def test_a_break_by_what_the_provider_cleared_is_explained(tmp_path: Path) -> None:
    cleared = (Cleared("tool_uses", 3, 900),)
    replies = Replies([cached(0, 5000), cached(0, 5000, cleared=cleared)])
    conversation = begun(tmp_path / "s.jsonl", replies)
    await turn(conversation)
    [broke] = [e for e in await turn(conversation) if isinstance(e, CacheBroke)]
    assert broke.verdict == ExpectedBreak("the provider cleared old content", 5000)


async def test_a_stream_that_ends_without_a_reply_is_an_error_for_who_waits_for_it() -> None:
    with pytest.raises(ReplyBroken, match="replies ended its stream without a reply"):
        await complete(Replies([]), Request(HEAD, ()))
    no_listener(Replied(cached(0, 0)))


async def test_a_stream_that_ends_without_a_reply_is_not_taken_for_one(tmp_path, clock):
    class Mute(ScriptedModel):
        async def stream(self, request):
            for nothing in ():
                yield nothing

    with Journal(tmp_path / "s.jsonl") as journal:
        conversation = Conversation(journal, Mute(), clock)
        conversation.open("s1", HEAD)
        conversation.say(Text("Hello"))
        with pytest.raises(ReplyBroken, match="without a reply"):
            async for _ in conversation.send():
                pass
    assert len(conversation.state.messages) == 1


async def test_cache_edits_are_repeated_while_their_results_are_there(tmp_path: Path) -> None:
    able = replace(STRICT, cache_edits=True)
    conversation = begun(tmp_path / "s.jsonl", ScriptedModel(capabilities=able))
    first = conversation.say(Text("a"))
    for id_ in ("t1", "t2"):
        conversation.record(Said(new_message("assistant", ToolUse(id_, "Read"), after=first)))
        conversation.say(ToolResult(id_, (Text("out"),)), origin="tool")
    conversation.record(CacheEdited(("t1",), "m1"), CacheEdited(("t2",), "m2"))
    edits = conversation.assembled().request.cache_edits
    assert edits == (CacheEdit(("t1",), "m1"), CacheEdit(("t2",), "m2"))
    kept = conversation.state.messages[3].id
    conversation.record(Compacted((), kept, "automatic", 0, 0.0))
    assert conversation.assembled().request.cache_edits == edits[1:]
