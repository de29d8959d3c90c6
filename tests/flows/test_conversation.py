"""Whole conversations on the wire. The `provider` fixture fails any that breaks a rule or its prefix."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path

import pytest
from tests.flows.talking import replace_in, send, talking, turn
from tests.provider import script as say
from tests.provider.provider import Provider

from reverie.conversation.records import HeadFrozen
from reverie.core.messages import Text, ToolResult
from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak
from reverie.events import CacheBroke, Replied

MODELS = ["claude-opus-4-8", "claude-opus-5-5", "claude-haiku-4-5"]
TURNS = 6


def busy_model(provider: Provider) -> None:
    """Every turn: think and read two files, think and read one, answer."""
    numbers = count()

    def answer(request: object) -> say.Reply:
        step = next(numbers) % 3
        think = say.Thinking(f"thought {step} " * 5)
        read = say.ToolCall("Read", {"path": f"file_{step}"})
        return [
            say.Reply((think, say.Text("Two at once."), read, read)),
            say.Reply((think, read)),
            say.Reply((think, say.Text("Here it is. " * 20))),
        ][step]

    provider.respond(answer)


def broken(events: list[object]) -> list[CacheBroke]:
    return [event for event in events if isinstance(event, CacheBroke)]


@pytest.mark.parametrize("model", MODELS)
async def test_a_long_conversation_extends_its_prefix(provider: Provider, tmp_path: Path, model):
    busy_model(provider)
    thinking = model != "claude-haiku-4-5"
    if not thinking:
        provider.respond(lambda request: say.Reply((say.Text("Fine. " * 50),)))
    async with talking(provider, tmp_path / "s.jsonl", model, thinking=thinking) as conversation:
        events = [
            event
            for i in range(TURNS)
            for event in await turn(conversation, f"Question {i} " * 300)
        ]
    assert broken(events) == []
    reads = [e.reply.usage.cache_read for e in events if isinstance(e, Replied)]
    # The small model keeps nothing under 4,096 tokens: the first requests have nothing to read.
    assert all(read > 0 for read in reads[-3:])


@pytest.mark.parametrize("model", MODELS[:2])
async def test_every_cached_token_is_read_again(provider: Provider, tmp_path: Path, model):
    """What one request left in the cache, the next one reads: nothing is paid twice."""
    busy_model(provider)
    async with talking(provider, tmp_path / "s.jsonl", model) as conversation:
        for i in range(TURNS):
            await turn(conversation, f"Question {i}")
        usages = [used.usage for used in conversation.state.usages]
    for before, after in pairwise(usages):
        assert after.cache_read == before.cache_read + before.cache_write


async def test_resumed_at_every_turn_it_sends_the_same_bytes(provider: Provider, tmp_path: Path):
    def script() -> Iterator[say.Reply]:
        for i in range(4):
            yield say.Reply((say.Thinking(f"t{i}"), say.ToolCall("Read", {"path": f"ü{i}"})))
            yield say.Reply((say.Thinking(f"u{i}"), say.Text(f"Answer {i}")))

    provider.script(*script())
    async with talking(provider, tmp_path / "whole.jsonl", "claude-opus-5-5") as conversation:
        for i in range(4):
            await turn(conversation, f"Question {i}")
    whole = [request.body for request in provider.requests]
    # The same conversation again, with the process ending after every turn.
    provider.script(*script())
    for i in range(4):
        async with talking(provider, tmp_path / "parts.jsonl", "claude-opus-5-5") as conversation:
            await turn(conversation, f"Question {i}")
    parts = [request.body for request in provider.requests][len(whole) :]
    assert [_anonymous(body) for body in parts] == [_anonymous(body) for body in whole]


def _anonymous(body: bytes) -> bytes:
    """Without what the provider numbers: ids of calls and messages, and its signatures."""
    import re

    return re.sub(rb'"(toolu_|msg_)\d+"|"signature":"[^"]+"|toolu_\d+', b"_", body)


async def test_an_edited_history_loses_its_bound_thinking_and_nothing_else(
    provider: Provider, tmp_path: Path
):
    busy_model(provider)
    async with talking(provider, tmp_path / "s.jsonl", "claude-opus-5-5") as conversation:
        for i in range(3):
            await turn(conversation, f"Question {i} " * 300)
        result = conversation.state.messages[2]
        cleared = tuple(ToolResult(b.tool_use_id, (Text("[cleared]"),)) for b in result.blocks)
        replace_in(conversation, 2, replace(result, blocks=cleared))
        conversation.expect_break("microcompaction")
        provider.expect_break("microcompaction")
        events = await turn(conversation, "And now?")
    (found,) = broken(events)
    assert isinstance(found.verdict, ExpectedBreak)
    assert found.verdict.reason == "microcompaction"
    sent = provider.requests[-3].json["messages"]
    kinds = [[b["type"] for b in m["content"]] for m in sent if m["role"] == "assistant"]
    assert "thinking" in kinds[0]
    assert all("thinking" not in kind for kind in kinds[1:])
    # What is thought after the edit is bound to the edited history, and stays.
    later = provider.requests[-1].json["messages"]
    assert any(b["type"] == "thinking" for b in later[-2]["content"])


async def test_a_changed_tool_is_named(provider: Provider, tmp_path: Path):
    provider.respond(lambda request: say.Reply((say.Text("Fine."),)))
    async with talking(provider, tmp_path / "s.jsonl", "claude-opus-4-8") as conversation:
        await turn(conversation, "Question " * 500)
        head = conversation.state.head
        tool = replace(head.tools[0], description=head.tools[0].description + "!")
        conversation.state.apply(HeadFrozen(replace(head, tools=(tool,))))
        provider.expect_break("a tool changed under us")
        events = await turn(conversation, "Another question")
    (found,) = broken(events)
    assert isinstance(found.verdict, Broken)
    whats = [cause.what for cause in found.verdict.causes]
    assert whats[0] == "tool_changed"
    assert "Read: byte" in found.verdict.causes[0].detail
    assert "says: tools_changed" in found.verdict.causes[-1].detail


async def test_an_expired_cache_is_named(provider: Provider, tmp_path: Path):
    provider.respond(lambda request: say.Reply((say.Text("Fine."),)))
    async with talking(provider, tmp_path / "s.jsonl", "claude-opus-4-8") as conversation:
        await turn(conversation, "Question " * 500)
        provider.clock.advance(301)
        events = await turn(conversation, "After a while")
    (found,) = broken(events)
    assert isinstance(found.verdict, Broken)
    assert found.verdict.causes[0].what == "ttl_expired"


async def test_a_turn_of_many_blocks_still_finds_its_prefix(provider: Provider, tmp_path: Path):
    """Fifty blocks at once: without the anchor mark the look-back of twenty would miss."""
    calls = tuple(say.ToolCall("Read", {"path": f"f{i}"}) for i in range(25))
    provider.script(say.Reply((say.Text("Many."), *calls)), say.Reply((say.Text("Done."),)))
    async with talking(
        provider, tmp_path / "s.jsonl", "claude-opus-4-8", thinking=False
    ) as conversation:
        conversation.say(Text("Question " * 500))
        await send(conversation)
        events = await turn_results(conversation)
        first, second = (used.usage for used in conversation.state.usages)
    assert broken(events) == []
    assert second.cache_read == first.cache_write


async def turn_results(conversation):
    from reverie.core.transcript import open_tool_uses

    calls = open_tool_uses(conversation.state.messages)
    conversation.say(*(ToolResult(c.id, (Text("out"),)) for c in calls), origin="tool")
    return await send(conversation)
