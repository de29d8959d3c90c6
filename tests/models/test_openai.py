"""The OpenAI adapter on the official SDK: Chat Completions and Responses, strict server, local flavours."""

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
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    new_message,
)
from reverie.core.request import Options, Summarize, TextDelta, ToolUseStarted
from reverie.core.window import Capabilities
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
from reverie.models import openai_chat, openai_responses
from reverie.models.openai import OpenAIModel

GPT = "gpt-5.5"
PROTOCOLS = pytest.mark.parametrize("protocol", ["chat", "responses"])


@asynccontextmanager
async def model(provider: Provider, protocol="chat", name: str = GPT, key: str | None = "test-key"):
    made = OpenAIModel(
        name,
        api_key=key,
        capabilities=Capabilities(),
        prices=None,
        base_url=provider.openai_url,
        retries=0,
        protocol=protocol,
    )
    try:
        yield made
    finally:
        await made.aclose()


@PROTOCOLS
async def test_text_streams_and_adds_up(provider: Provider, protocol):
    provider.script(say.Reply((say.Text("Hello, world."),)))
    async with model(provider, protocol) as gpt:
        reply, deltas = await collect(gpt, ask(GPT, user("Hi")))
    assert reply.text == "Hello, world."
    assert "".join(d.text for d in deltas if isinstance(d, TextDelta)) == "Hello, world."
    assert reply.stop == "end"
    assert reply.usage.input > 0
    assert reply.usage.output > 0


@PROTOCOLS
async def test_a_round_with_parallel_tools(provider: Provider, protocol):
    calls = (say.ToolCall("Read", {"path": "ä"}), say.ToolCall("Read", {"path": "b"}))
    provider.script(say.Reply((say.Text("Looking."), *calls)), say.Reply((say.Text("Done."),)))
    async with model(provider, protocol) as gpt:
        asked = user("Read both")
        first, deltas = await collect(gpt, ask(GPT, asked, tools=(READ,)))
        answer = first.as_message(after=asked, at=1.0, bound_to=None)
        again = ask(GPT, asked, answer, results(first, answer), tools=(READ,))
        second, _ = await collect(gpt, again)
    uses = [block for block in first.blocks if isinstance(block, ToolUse)]
    assert [use.input for use in uses] == [{"path": "ä"}, {"path": "b"}]
    assert [d.id for d in deltas if isinstance(d, ToolUseStarted)] == [use.id for use in uses]
    assert first.stop == "tool_use"
    assert second.text == "Done."


@PROTOCOLS
async def test_cached_tokens_are_kept_apart(provider: Provider, protocol):
    asked = user("words " * 4000)
    async with model(provider, protocol) as gpt:
        first, _ = await collect(gpt, ask(GPT, asked))
        answer = first.as_message(after=asked, at=1.0, bound_to=None)
        second, _ = await collect(gpt, ask(GPT, asked, answer, user("And?", answer)))
    assert second.usage.cache_read >= 1024
    assert second.usage.prompt > first.usage.prompt
    assert second.usage.input < second.usage.prompt


async def test_reasoning_is_carried_along(provider: Provider):
    provider.script(
        say.Reply((say.Thinking("hm"), say.ToolCall("Read", {"path": "a"}))),
        say.Reply((say.Text("Done."),)),
    )
    options = Options(max_tokens=2048, effort="low")
    async with model(provider, "responses") as gpt:
        asked = user("Read a")
        first, _ = await collect(gpt, ask(GPT, asked, tools=(READ,), options=options))
        kept = [block for block in first.blocks if isinstance(block, Opaque)]
        answer = first.as_message(after=asked, at=1.0, bound_to=None)
        again = ask(GPT, asked, answer, results(first, answer), tools=(READ,), options=options)
        await collect(gpt, again)
    assert kept
    sent = provider.requests[-1].json["input"]
    assert json.loads(kept[0].payload) in sent


def test_chat_reasoning_is_shown_and_not_sent_back():
    accumulated = openai_chat.ChatAccumulator()
    delta = {"reasoning_content": "hm", "content": "Yes."}
    accumulated.feed({"id": "c1", "model": "m", "choices": [{"delta": delta}]})
    accumulated.feed({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    reply = accumulated.reply()
    assert reply.blocks == (Thinking("hm"), Text("Yes."))
    message = new_message("assistant", *reply.blocks)
    assert openai_chat.message_to_wire(message) == [{"role": "assistant", "content": "Yes."}]


def test_a_call_without_an_id_gets_one():
    accumulated = openai_chat.ChatAccumulator()
    call = {"function": {"name": "Read", "arguments": ""}}
    accumulated.feed({"id": "c1", "choices": [{"delta": {"tool_calls": [call]}}]})
    accumulated.feed({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    assert accumulated.reply().blocks == (ToolUse("c1-0", "Read", "{}"),)


@PROTOCOLS
async def test_options_go_on_the_wire(provider: Provider, protocol):
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    options = Options(
        max_tokens=256, output_schema=json.dumps(schema), tool_choice="any", stop=("END",)
    )
    async with model(provider, protocol) as gpt:
        body = gpt.body(ask(GPT, user("Hi"), tools=(READ,), options=options))
        named = gpt.body(ask(GPT, user("Hi"), options=Options(tool_choice="Read")))
        warm = gpt.body(ask(GPT, user("Hi"), options=Options(temperature=0.5)))
        eager = gpt.body(ask(GPT, user("Hi"), options=Options(effort="low")))
    assert body["tool_choice"] == "required"
    assert "Read" in json.dumps(named["tool_choice"])
    assert warm["temperature"] == 0.5
    assert "low" in json.dumps(eager)
    if protocol == "chat":
        assert body["max_tokens"] == 256
        assert body["stop"] == ["END"]
        assert body["response_format"]["json_schema"]["schema"] == schema
    else:
        assert body["max_output_tokens"] == 256
        assert body["text"]["format"]["schema"] == schema
        assert body["store"] is False


def everything() -> Message:
    return new_message(
        "user",
        ToolResult("c1", (Text("out"), Image("image/png", "aGk=")), is_error=True),
        Text(""),
        Text("look"),
        Attachment("date", "Today is another day."),
        Image("image/png", "aGk="),
        Document("application/pdf", "aGk=", "paper"),
        Document("text/plain", "plain"),
        Opaque("anthropic", "{}"),
    )


def test_every_block_kind_as_chat():
    tool, rest = openai_chat.message_to_wire(everything())
    assert tool == {"role": "tool", "tool_call_id": "c1", "content": "out\n[image: image/png]"}
    assert [part["type"] for part in rest["content"]] == [
        *["text", "text", "image_url", "file", "text"]
    ]
    plain = new_message("user", Text("a"), Attachment("date", "b"))
    (wire,) = openai_chat.message_to_wire(plain)
    assert isinstance(wire["content"], str)
    assert openai_chat.message_to_wire(new_message("assistant", Thinking("hm"))) == []


def test_every_block_kind_as_responses():
    result, rest = openai_responses.message_to_wire(everything())
    assert result["type"] == "function_call_output"
    assert [part["type"] for part in rest["content"]] == [
        *["input_text", "input_text", "input_image", "input_file", "input_file"]
    ]


async def test_compaction_gives_items_to_send_back(provider: Provider):
    asked = user("A long story " * 200)
    answer = new_message("assistant", Text("And then " * 200), after=asked)
    async with model(provider, "responses") as gpt:
        options = Options(max_tokens=2048, summarize=Summarize("keep names"))
        reply, _ = await collect(
            gpt, ask(GPT, asked, answer, user("Go on", answer), options=options)
        )
        assert reply.stop == "compaction"
        summary = new_message("user", *reply.blocks)
        after, _ = await collect(gpt, ask(GPT, summary, user("And now?", summary)))
    assert after.text


async def test_sizes_can_be_asked_for(provider: Provider):
    provider.window["local-model"] = 32_768
    async with model(provider, "responses") as gpt:
        assert await gpt.count_tokens(ask(GPT, user("Hi"))) > 0
        assert await gpt.look_up_window() is None
    async with model(provider, name="local-model") as local:
        assert await local.look_up_window() == 32_768


FAULTS = [
    (say.TooLong(5000, 4096), PromptTooLong, "context"),
    (say.TooLong(5000, 4096, "vllm"), PromptTooLong, "maximum context length"),
    (say.TooLong(5000, 4096, "llama.cpp"), PromptTooLong, "5000"),
    (say.HttpError(401, "bad key"), AccessDenied, "bad key"),
    (say.HttpError(404, "no such model"), UnknownModelError, "no such model"),
    (say.HttpError(408, "took long"), Overloaded, "408: took long"),
    (say.HttpError(409, "busy with it"), Overloaded, "409: busy with it"),
    (say.HttpError(429, "slow down"), Overloaded, "slow down"),
    (say.HttpError(500, "oops"), Overloaded, "oops"),
    (say.HttpError(400, "bad tool"), RequestRefused, "bad tool"),
    (say.Garbage(), ReplyBroken, "try again"),
    (say.Cut(after=2), ReplyBroken, "cut"),
    (say.Unfinished(), ReplyBroken, "cut"),
    (say.Malformed(), ReplyBroken, "try again"),
]


@PROTOCOLS
@pytest.mark.parametrize(("fault", "error", "says"), FAULTS)
async def test_failures_are_named(provider: Provider, protocol, fault, error, says):
    provider.script(fault)
    async with model(provider, protocol) as gpt:
        with pytest.raises(error, match=says) as caught:
            await collect(gpt, ask(GPT, user("Hi")))
    if isinstance(caught.value, PromptTooLong):
        assert caught.value.limit in (4096, None)


def test_a_reply_the_provider_gave_up_on():
    accumulated = openai_responses.ResponsesAccumulator()
    failed = {"type": "response.failed", "response": {"error": {"message": "no more"}}}
    with pytest.raises(RequestRefused, match="no more"):
        accumulated.feed(failed)


@pytest.mark.parametrize(
    ("reason", "stop"), [("max_output_tokens", "max_tokens"), ("content_filter", "refusal")]
)
def test_replies_that_are_incomplete(reason: str, stop: str):
    accumulated = openai_responses.ResponsesAccumulator()
    response = {"id": "r", "model": "m", "incomplete_details": {"reason": reason}}
    accumulated.feed({"type": "response.incomplete", "response": response})
    assert accumulated.reply().stop == stop


async def test_local_servers_need_no_key(provider: Provider, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with model(provider, key=None) as local:
        reply, _ = await collect(local, ask(GPT, user("Hi")))
    assert reply.text


async def test_openai_itself_needs_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    keyless = OpenAIModel(GPT, api_key=None, capabilities=Capabilities(), prices=None)
    assert keyless.body(ask(GPT, user("Hi")))["max_completion_tokens"] == 1024
    with pytest.raises(AccessDenied, match="OPENAI_API_KEY"):
        await collect(keyless, ask(GPT, user("Hi")))
    await keyless.aclose()


async def test_nobody_listens():
    lonely = OpenAIModel(
        GPT,
        api_key="k",
        capabilities=Capabilities(),
        prices=None,
        base_url="http://127.0.0.1:9/v1",
        retries=0,
    )
    with pytest.raises(Unreachable, match="base_url"):
        await collect(lonely, ask(GPT, user("Hi")))
    await lonely.aclose()


async def test_a_missing_sdk_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    bare = OpenAIModel(GPT, api_key="k", capabilities=Capabilities(), prices=None)
    with pytest.raises(InputError, match=r"reverie\[openai\]"):
        await collect(bare, ask(GPT, user("Hi")))
