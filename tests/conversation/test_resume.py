"""Stopping a conversation anywhere and resuming it from disk must not be visible in what is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conversation.build import AT, HEAD, STRICT, user
from tests.place import FixedClock

from reverie.conversation import journal
from reverie.conversation.conversation import Conversation
from reverie.conversation.journal import Journal
from reverie.conversation.records import Compacted
from reverie.conversation.state import SessionState
from reverie.core.messages import Attachment, Block, Text, Thinking, ToolResult, ToolUse
from reverie.core.prompt_cache import placed
from reverie.core.request import Request, canonical_bytes
from reverie.core.transcript import open_tool_uses
from reverie.models.offline import ScriptedModel

TURNS = 8


def think(text: str) -> Thinking:
    return Thinking(f"{text} " * 10, f"signature of {text}")


def calls(count: int, turn: int) -> list[Block]:
    return [ToolUse(f"t{turn}_{i}", "Read", f'{{"path": "{i}"}}') for i in range(count)]


# Thinking, parallel calls, and turns that add more blocks than a cache mark looks back.
SCRIPT: list[Any] = [
    [think("plan"), Text("Let me look."), *calls(2, 0)],
    [think("enough"), Text("Here is what I found. " * 30)],
    [think("many"), *calls(25, 2)],
    [Thinking("", "redacted data", redacted=True), Text("All read.")],
    [Text("No tools needed.")],
    [think("again"), *calls(30, 5)],
    [think("and again"), *calls(22, 6)],
    "Done.",
]


def steps() -> Iterator[tuple[Block, ...]]:
    """What the user side says before each request that tool results do not answer."""
    yield (Text("Please look into it. " * 20), Attachment("recall", "a memory"))
    yield (Text("And the rest?"),)
    yield (Text("Thanks, now " + "think " * 200),)
    while True:
        yield (Text("go on"),)


class Story:
    """Runs the script; `stops` says after which requests the process ends."""

    def __init__(
        self, path: Path, stops: frozenset[int], ttl: Any = "5m", compacts: int | None = None
    ) -> None:
        self.path = path
        self.stops = stops
        self.compacts = compacts
        self.ttl = ttl
        self.model = ScriptedModel(SCRIPT, capabilities=STRICT)
        self.clock = FixedClock(AT)
        self.said = steps()

    async def run(self) -> list[Request]:
        conversation = self.begin()
        for number in range(TURNS):
            self.clock.advance(7.0001)
            if number == self.compacts:
                self.compact(conversation)
            waiting = open_tool_uses(conversation.state.messages)
            if waiting:
                results = [ToolResult(use.id, (Text(f"contents {use.id}"),)) for use in waiting]
                conversation.say(*results, origin="tool")
            else:
                conversation.say(*next(self.said))
            if number in self.stops:
                conversation = self.resumed(conversation)
            _ = [event async for event in conversation.send()]
            if number in self.stops:
                conversation = self.resumed(conversation)
        return self.model.requests

    def compact(self, conversation: Conversation) -> None:
        """Keep the last rounds: their answers were given under a prefix that is no more."""
        kept = conversation.state.messages[3].id
        record = Compacted((user("the story so far"),), kept, "auto", 0, AT)
        self.file.append(record)
        conversation.state.apply(record)

    def begin(self) -> Conversation:
        conversation = self.conversation(None)
        conversation.open("s1", HEAD, "/project")
        return conversation

    def conversation(self, state: SessionState | None) -> Conversation:
        self.file = Journal(self.path)
        policy = placed(self.ttl)
        return Conversation(
            self.file, self.model, self.clock, state=state or SessionState(), policy=policy
        )

    def resumed(self, before: Conversation) -> Conversation:
        self.file.close()
        state = SessionState.replay(journal.load(self.path).records)
        assert state == before.state
        return self.conversation(state)


def sent(requests: list[Request]) -> list[tuple[Any, ...]]:
    return [
        (canonical_bytes(r), r.breakpoints, r.previous_response, r.messages, r.size)
        for r in requests
    ]


@pytest.mark.parametrize("ttl", ["5m", "1h", "auto"])
@pytest.mark.parametrize("stops", [{i} for i in range(TURNS)] + [set(range(TURNS))], ids=str)
async def test_a_resumed_conversation_sends_the_same_bytes(
    tmp_path: Path, stops: set[int], ttl: str
) -> None:
    straight = Story(tmp_path / "straight.jsonl", frozenset(), ttl)
    stopped = Story(tmp_path / "stopped.jsonl", frozenset(stops), ttl)
    assert sent(await stopped.run()) == sent(await straight.run())
    straight.file.close()
    stopped.file.close()
    assert stopped.path.read_bytes() == straight.path.read_bytes()


@pytest.mark.parametrize("stops", [{i} for i in range(TURNS)], ids=str)
@pytest.mark.parametrize("compacts", [4, 6])
async def test_the_same_after_a_compaction(tmp_path: Path, stops: set[int], compacts: int) -> None:
    straight = Story(tmp_path / "a.jsonl", frozenset(), compacts=compacts)
    stopped = Story(tmp_path / "b.jsonl", frozenset(stops), compacts=compacts)
    assert sent(await stopped.run()) == sent(await straight.run())
    straight.file.close()
    stopped.file.close()


async def test_the_story_is_worth_resuming(tmp_path: Path) -> None:
    """It has what could go wrong: thinking that is replayed, and an anchor far behind the tail."""
    story = Story(tmp_path / "s.jsonl", frozenset())
    requests = await story.run()
    story.file.close()
    blocks = [block for message in requests[-1].messages for block in message.blocks]
    assert sum(isinstance(block, Thinking) for block in blocks) == 6
    assert max(len(request.breakpoints) for request in requests) == 4


def thoughts(request: Request) -> list[str]:
    blocks = (block for message in request.messages for block in message.blocks)
    return [block.text for block in blocks if isinstance(block, Thinking)]


@pytest.mark.parametrize("from_disk", [False, True])
async def test_thinking_after_an_edit_is_dropped_and_new_thinking_is_kept(
    tmp_path: Path, from_disk: bool
) -> None:
    """History is rewritten by a journalled record, so that a resume sees the same."""
    turns = [[Thinking(f"thought {i}", "signed"), Text(f"answer {i}")] for i in range(4)]
    model = ScriptedModel(turns, capabilities=STRICT)
    path = tmp_path / "s.jsonl"
    file = Journal(path)
    conversation = Conversation(file, model, FixedClock())
    conversation.open("s1", HEAD)
    for text in ("one", "two"):
        conversation.say(Text(text))
        _ = [event async for event in conversation.send()]
    kept = conversation.state.messages[1].id
    file.append(Compacted((user("one, rewritten"),), kept, "edit", 0, AT))
    conversation.state.apply(Compacted((user("one, rewritten"),), kept, "edit", 0, AT))
    for text in ("three", "four"):
        if from_disk:
            file.close()
            file = Journal(path)
            state = SessionState.replay(journal.load(path).records)
            conversation = Conversation(file, model, FixedClock(), state=state)
        conversation.say(Text(text))
        _ = [event async for event in conversation.send()]
    file.close()
    first, second, third, fourth = model.requests
    assert thoughts(first) == []
    assert thoughts(second) == ["thought 0"]
    assert thoughts(third) == []
    assert thoughts(fourth) == ["thought 2"]
    assert fourth.messages[: len(third.messages)] == third.messages


async def test_an_edit_is_seen_at_once_and_undone_by_taking_it_back(tmp_path: Path) -> None:
    turns = [[Thinking(f"thought {i}", "signed"), Text("answer")] for i in range(3)]
    model = ScriptedModel(turns, capabilities=STRICT)
    with Journal(tmp_path / "s.jsonl") as file:
        conversation = Conversation(file, model, FixedClock())
        conversation.open("s1", HEAD)
        for text in ("one", "two", "three"):
            conversation.say(Text(text))
            _ = [event async for event in conversation.send()]
        original = conversation.state.messages[2]
        conversation.state.messages[2] = replace(original, blocks=(Text("edited"),))
        assert len(thoughts(conversation.assembled().request)) == 1
        conversation.state.messages[2] = original
        assert len(thoughts(conversation.assembled().request)) == 3
