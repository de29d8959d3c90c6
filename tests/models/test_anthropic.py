"""The Anthropic adapter on the official SDK, against a server that enforces the documented rules."""

import json
from contextlib import asynccontextmanager

import pytest
from tests.models.asking import READ, ask, collect, results, user
from tests.provider import script as say
from tests.provider.provider import Provider

from reverie.core.messages import (
    Attachment,
    Document,
    Image,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    new_message,
)
from reverie.core.request import (
    Breakpoint,
    ClearThinking,
    ClearToolUses,
    Options,
    Summarize,
    TextDelta,
    ThinkingDelta,
    ToolUseStarted,
)
from reverie.errors import (
    AccessDenied,
    InputError,
    Overloaded,
    PromptTooLong,
    ReplyBroken,
    RequestRefused,
    UnknownModelError,
    Unreachable,
)
from reverie.models import catalog
from reverie.models.anthropic import AnthropicModel

OPUS = "claude-opus-4-8"
BOUND = "claude-opus-5-5"


@asynccontextmanager
async def model(provider: Provider, name: str = OPUS, key: str = "test-key", retries: int = 0):
    row = catalog.find(name)
    made = AnthropicModel(
        name,
        api_key=key,
        capabilities=row.capabilities if row else catalog.find(OPUS).capabilities,
        prices=row.prices if row else None,
        base_url=provider.anthropic_url,
        retries=retries,
    )
    try:
        yield made
    finally:
        await made.aclose()


async def test_text_streams_and_adds_up(provider: Provider):
    provider.script(say.Reply((say.Text("Hello, world."),)))
    async with model(provider) as opus:
        reply, deltas = await collect(opus, ask(OPUS, user("Hi")))
    assert reply.text == "Hello, world."
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Hello, world."
    assert reply.stop == "end"
    assert reply.usage.input > 0
    assert reply.usage.output > 0


async def test_thinking_and_parallel_tool_calls_come_whole(provider: Provider):
    calls = (say.ToolCall("Read", {"path": "ä.py", "n": 1.5}), say.ToolCall("Read", {"path": "b"}))
    provider.script(say.Reply((say.Thinking("hm"), say.Text("Looking."), *calls)))
    options = Options(max_tokens=4096, thinking="adaptive")
    async with model(provider, BOUND) as opus:
        request = ask(BOUND, user("Read both"), tools=(READ,), options=options)
        reply, deltas = await collect(opus, request)
    thought, text, first, second = reply.blocks
    assert isinstance(thought, Thinking)
    assert (thought.text, bool(thought.signature)) == ("hm", True)
    assert text == Text("Looking.")
    assert isinstance(first, ToolUse)
    assert first.input == {"path": "ä.py", "n": 1.5}
    assert isinstance(second, ToolUse)
    assert second.id != first.id
    assert reply.stop == "tool_use"
    assert ThinkingDelta("hm") in deltas or any(isinstance(d, ThinkingDelta) for d in deltas)
    assert [d.id for d in deltas if isinstance(d, ToolUseStarted)] == [first.id, second.id]


async def test_a_tool_round_with_bound_thinking_is_accepted(provider: Provider):
    provider.script(
        say.Reply((say.Thinking("must read"), say.ToolCall("Read", {"path": "a"}))),
        say.Reply((say.Text("Done."),)),
    )
    options = Options(max_tokens=4096, thinking="adaptive")
    async with model(provider, BOUND) as opus:
        asked = user("Read a")
        first, _ = await collect(opus, ask(BOUND, asked, tools=(READ,), options=options))
        answer = first.as_message(after=asked, at=1.0, bound_to=None)
        messages = (asked, answer, results(first, answer))
        second, _ = await collect(opus, ask(BOUND, *messages, tools=(READ,), options=options))
    assert second.text == "Done."


async def test_marks_are_sent_and_the_cache_is_read_back(provider: Provider):
    long = user("words " * 2000)
    marks = (Breakpoint("system", 0, 0, "1h"), Breakpoint("messages", 0, 0, "5m"))
    async with model(provider) as opus:
        request = ask(OPUS, long, system="rules " * 2000, breakpoints=marks)
        first, _ = await collect(opus, request)
        again, _ = await collect(opus, ask(OPUS, long, system="rules " * 2000, breakpoints=marks))
    assert first.usage.cache_write_1h > 0
    assert first.usage.cache_write_5m > 0
    assert again.usage.cache_read == first.usage.cache_write
    assert again.usage.cache_write == 0


async def test_every_block_kind_goes_on_the_wire(provider: Provider):
    message = new_message(
        "user",
        Text(""),
        Text("look \ud800"),
        Attachment("recall", "a memory"),
        Image("image/png", "aGk="),
        Image("image/png", url="https://example.com/a.png"),
        Document("application/pdf", "aGk=", "paper"),
        Document("text/plain", "plain"),
        Opaque("someone-else", "{}"),
        Thinking("foreign", None),
    )
    async with model(provider) as opus:
        await collect(opus, ask(OPUS, message))
    sent = provider.requests[-1].json["messages"][0]["content"]
    assert [block["type"] for block in sent] == [
        *["text", "text", "image", "image", "document", "document"]
    ]
    assert sent[0]["text"] == "look �"
    assert "a memory" in sent[1]["text"]
    assert sent[1]["text"].startswith('<reminder about="recall">')


async def test_a_message_with_nothing_to_send_is_left_out(provider: Provider):
    asked = user("Hi")
    empty = new_message("assistant", Thinking("only thought", None), after=asked)
    async with model(provider) as opus:
        await collect(opus, ask(OPUS, asked, empty, user("Still there?", empty)))
    assert all(message["content"] for message in provider.requests[-1].json["messages"])


async def test_structured_output_effort_choice_and_stops(provider: Provider):
    schema = {
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}}},
        "required": ["names"],
        "additionalProperties": False,
    }
    options = Options(
        max_tokens=256,
        effort="low",
        output_schema=json.dumps(schema),
        tool_choice="none",
        stop=("END",),
    )
    provider.script(say.Reply((say.Text('{"names": []}'),)))
    async with model(provider) as opus:
        reply, _ = await collect(opus, ask(OPUS, user("Names?"), tools=(READ,), options=options))
    sent = provider.requests[-1].json
    assert json.loads(reply.text) == {"names": []}
    assert sent["output_config"]["effort"] == "low"
    assert sent["output_config"]["format"]["schema"] == schema
    assert sent["tool_choice"] == {"type": "none"}
    assert sent["stop_sequences"] == ["END"]
    assert "temperature" not in sent


@pytest.mark.parametrize(
    ("mode", "sent"),
    [
        ("off", {"type": "disabled"}),
        ("adaptive", {"type": "adaptive"}),
        ("between_tools", {"type": "between_tools"}),
        ("budget:2048", {"type": "enabled", "budget_tokens": 2048}),
    ],
)
async def test_thinking_modes(provider: Provider, mode: str, sent: dict[str, object]):
    async with model(provider) as opus:
        body = opus.body(ask(OPUS, user("Hi"), options=Options(thinking=mode)))
    assert body["thinking"] == sent


async def test_a_named_tool_can_be_forced_where_the_model_allows_it(provider: Provider):
    async with model(provider) as opus:
        body = opus.body(ask(OPUS, user("Hi"), options=Options(tool_choice="Read")))
    assert body["tool_choice"] == {"type": "tool", "name": "Read"}


async def test_server_side_clearing_is_asked_for_and_reported(provider: Provider):
    edits = (ClearThinking(1), ClearToolUses(100, 1, keep=1, exclude=("Keep",)))
    asked = user("Read a lot")
    messages = [asked]
    for i in range(3):
        use = new_message("assistant", ToolUse(f"toolu_{i}", "Read", "{}"), after=messages[-1])
        result = new_message("user", ToolResult(f"toolu_{i}", (Text("x" * 2000),)), after=use)
        messages += [use, result]
    options = Options(max_tokens=256, edits=edits)
    async with model(provider) as opus:
        reply, _ = await collect(opus, ask(OPUS, *messages, tools=(READ,), options=options))
    assert "context-management-2025-06-27" in provider.requests[-1].headers["anthropic-beta"]
    cleared = {found.kind: found for found in reply.cleared}
    assert cleared["tool_uses"].count == 2
    assert cleared["tool_uses"].tokens > 0


async def test_clearing_that_keeps_all_thinking(provider: Provider):
    async with model(provider) as opus:
        body = opus.body(ask(OPUS, user("Hi"), options=Options(edits=(ClearThinking(),))))
    assert body["context_management"]["edits"][0]["keep"] == "all"


async def test_on_demand_compaction_round_trips(provider: Provider):
    asked = user("A long story " * 200)
    answer = new_message("assistant", Text("And then " * 200), after=asked)
    history = (asked, answer, user("Go on", answer))
    async with model(provider, BOUND) as opus:
        options = Options(max_tokens=2048, summarize=Summarize("keep names"))
        reply, _ = await collect(opus, ask(BOUND, *history, options=options))
        assert reply.stop == "compaction"
        (block,) = reply.blocks
        assert isinstance(block, Opaque)
        provider.expect_break("compaction")
        summary = new_message("assistant", block)
        after, _ = await collect(opus, ask(BOUND, summary, user("And now?", summary)))
    assert after.text
    assert "compact-2026-09-04" in provider.requests[-1].headers["anthropic-beta"]


async def test_the_provider_is_asked_why_a_prefix_was_missed(provider: Provider):
    mark = (Breakpoint("system", 0),)
    async with model(provider) as opus:
        first, _ = await collect(
            opus, ask(OPUS, user("Hi"), system="rules " * 2000, breakpoints=mark)
        )
        provider.expect_break("the rules changed")
        changed = ask(OPUS, user("Hi"), system="Rules " * 2000, breakpoints=mark, previous=first.id)
        second, _ = await collect(opus, changed)
    assert second.diagnosis == "system_changed"


async def test_sizes_can_be_asked_for(provider: Provider):
    async with model(provider) as opus:
        small = await opus.count_tokens(ask(OPUS, user("Hi")))
        large = await opus.count_tokens(ask(OPUS, user("Hi " * 1000), tools=(READ,)))
        window = await opus.look_up_window()
    assert 0 < small < large
    assert window == 1_000_000


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (say.TooLong(200_251, 200_000), PromptTooLong, "prompt is too long"),
        (say.HttpError(413, "too big"), PromptTooLong, "too big"),
        (say.HttpError(401, "invalid x-api-key"), AccessDenied, "key"),
        (say.HttpError(403, "not allowed"), AccessDenied, "not allowed"),
        (say.HttpError(404, "model: nope"), UnknownModelError, "claude-opus"),
        (say.HttpError(408, "took long"), Overloaded, "408: took long"),
        (say.HttpError(409, "busy with it"), Overloaded, "409: busy with it"),
        (say.HttpError(429, "slow down", retry_after=7), Overloaded, "slow down"),
        (say.HttpError(529, "overloaded"), Overloaded, "529"),
        (say.HttpError(500, "oops"), Overloaded, "oops"),
        (say.HttpError(400, "tools.0: bad"), RequestRefused, "tools.0: bad"),
        (say.Garbage(), ReplyBroken, "try again"),
        (say.Garbage(b'{"type":"message"}'), ReplyBroken, "try again"),
        (say.Garbage(b"\xff\x00\xfe", "text/event-stream"), ReplyBroken, "try again"),
        (say.Cut(after=2), ReplyBroken, "cut"),
        (say.Unfinished(), ReplyBroken, "cut"),
        (say.Malformed(), ReplyBroken, "try again"),
        (say.StreamError(), Overloaded, "Overloaded"),
    ],
)
async def test_failures_are_named(provider: Provider, fault, error, says):
    provider.script(fault)
    async with model(provider) as opus:
        with pytest.raises(error, match=says) as caught:
            await collect(opus, ask(OPUS, user("Hi")))
    if isinstance(caught.value, PromptTooLong) and isinstance(fault, say.TooLong):
        assert (caught.value.tokens, caught.value.limit) == (200_251, 200_000)
    if isinstance(fault, say.HttpError) and fault.retry_after:
        assert caught.value.retry_after == 7


async def test_a_model_nobody_serves(provider: Provider):
    async with model(provider, "claude-opus-9") as opus:
        with pytest.raises(UnknownModelError, match="did you mean claude-opus-5"):
            await collect(opus, ask("claude-opus-9", user("Hi")))
    provider.expect_violation("model")


async def test_the_sdk_retries_an_overloaded_provider(provider: Provider):
    provider.script(say.HttpError(529, "later", retry_after=0.01), say.Reply((say.Text("Now."),)))
    async with model(provider, retries=1) as opus:
        reply, _ = await collect(opus, ask(OPUS, user("Hi")))
    assert reply.text == "Now."
    assert len(provider.requests) == 2


async def test_nobody_listens():
    lonely = AnthropicModel(
        OPUS,
        api_key="k",
        capabilities=catalog.find(OPUS).capabilities,
        prices=None,
        base_url="http://127.0.0.1:9",
        retries=0,
    )
    with pytest.raises(Unreachable, match="base_url"):
        await collect(lonely, ask(OPUS, user("Hi")))
    await lonely.aclose()
    await lonely.aclose()


async def test_a_missing_key_is_said(monkeypatch: pytest.MonkeyPatch):
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    keyless = AnthropicModel(
        OPUS, api_key=None, capabilities=catalog.find(OPUS).capabilities, prices=None, retries=0
    )
    with pytest.raises(AccessDenied, match="ANTHROPIC_API_KEY"):
        await collect(keyless, ask(OPUS, user("Hi")))
    await keyless.aclose()


async def test_a_missing_sdk_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "anthropic", None)
    bare = AnthropicModel(
        OPUS, api_key="k", capabilities=catalog.find(OPUS).capabilities, prices=None
    )
    with pytest.raises(InputError, match=r"reverie\[anthropic\]"):
        await collect(bare, ask(OPUS, user("Hi")))
