"""Chat Completions and Responses, as the openai SDK sees them."""

import json
from typing import Any

import openai
import pytest
from pydantic import BaseModel
from tests.provider import (
    Cut,
    Garbage,
    HttpError,
    Malformed,
    Provider,
    Reply,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    TooLong,
    Unfinished,
    rate_limited,
    server_error,
)
from tests.provider.blocks import Json
from tests.provider.samples import prose

MODEL = "gpt-6-sol"
TOOL: Any = {
    "type": "function",
    "function": {"name": "read", "description": "Reads.", "parameters": {"type": "object"}},
}


def says(role: str, content: str, **more: object) -> Json:
    return {"role": role, "content": content, **more}


def calls(*ids: str) -> Json:
    made = [
        {"id": id_, "type": "function", "function": {"name": "read", "arguments": "{}"}}
        for id_ in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def answers(id_: str, content: str = "done") -> Json:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def chat(client: openai.OpenAI, *messages: Json, **more: Any) -> Any:
    body: Any = list(messages)
    return client.chat.completions.create(**({"model": MODEL, "messages": body} | more))


def test_a_tool_loop(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.script(
        [Text("I look."), ToolCall("read", {"path": "a"}), ToolCall("read", {"path": "b"})], "Done."
    )
    history = [says("system", "be kind"), says("user", "go")]
    first = chat(gpt, *history, tools=[TOOL])
    assert first.choices[0].finish_reason == "tool_calls"
    made = first.choices[0].message
    assert [json.loads(c.function.arguments) for c in made.tool_calls] == [
        {"path": "a"},
        {"path": "b"},
    ]
    history += [made.to_dict(), *(answers(c.id) for c in made.tool_calls)]
    assert chat(gpt, *history, tools=[TOOL]).choices[0].message.content == "Done."


def test_a_chat_stream_reassembles(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.script([Text("I look at it now."), ToolCall("read", {"path": "a" * 30}, "c1")])
    stream = chat(
        gpt, says("user", "go"), stream=True, stream_options={"include_usage": True}, tools=[TOOL]
    )
    text, arguments, finish, usage = "", "", None, None
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
            for made in choice.delta.tool_calls or []:
                arguments += made.function.arguments or ""
    assert (text, json.loads(arguments)) == ("I look at it now.", {"path": "a" * 30})
    assert finish == "tool_calls"
    assert usage is not None
    assert provider.requests[0].usage == usage.to_dict()


def test_no_usage_unless_asked(gpt: openai.OpenAI) -> None:
    assert all(chunk.usage is None for chunk in chat(gpt, says("user", "go"), stream=True))


def cached(reply: Any) -> int:
    return int(reply.usage.prompt_tokens_details.cached_tokens)


def test_automatic_caching_in_steps(provider: Provider, gpt: openai.OpenAI) -> None:
    history = [says("system", prose(1000)), says("user", prose(300))]
    assert cached(chat(gpt, *history)) == 0
    longer = [*history, says("assistant", "yes!"), says("user", "more")]
    reply = chat(gpt, *longer)
    # 1,300 tokens are shared; 128 goes into that ten times.
    assert (cached(reply), reply.usage.prompt_tokens) == (1280, 1302)
    provider.clock.advance(1801)
    assert cached(chat(gpt, *longer)) == 0


def test_short_or_changed_prompts_are_not_cached(provider: Provider, gpt: openai.OpenAI) -> None:
    chat(gpt, says("user", prose(1023)))
    assert cached(chat(gpt, says("user", prose(1023)))) == 0
    provider.expect_conversation("a long one")
    chat(gpt, says("system", "a" + prose(2000)), says("user", "x"))
    provider.expect_break("its first byte")
    assert cached(chat(gpt, says("system", "b" + prose(2000)), says("user", "x"))) == 0


class Selection(BaseModel):
    selected: list[str]


def test_structured_output(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.script('{"selected": ["a.md"]}')
    asked: Any = [says("user", "pick")]
    got = gpt.chat.completions.parse(model=MODEL, messages=asked, response_format=Selection)
    assert got.choices[0].message.parsed == Selection(selected=["a.md"])
    again = gpt.chat.completions.parse(model=MODEL, messages=asked, response_format=Selection)
    assert again.choices[0].message.parsed == Selection(selected=[])


BROKEN: list[tuple[str, list[Json], Json]] = [
    ("messages", [], {}),
    ("role", [says("narrator", "x")], {}),
    ("content", [{"role": "user", "content": None}], {}),
    ("tool-pairing", [says("user", "x"), answers("c1")], {}),
    ("tool-pairing", [says("user", "x"), calls("c1", "c2"), answers("c1")], {}),
    ("tool-pairing", [says("user", "x"), calls("c1"), says("user", "y"), answers("c1")], {}),
    ("tool-id", [says("user", "x"), calls("c1", "c1"), answers("c1"), answers("c1")], {}),
    (
        "response-format",
        [says("user", "x")],
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "n", "strict": True, "schema": {"type": "object"}},
            }
        },
    ),
    ("stream-options", [says("user", "x")], {"stream_options": {"include_usage": True}}),
]


@pytest.mark.parametrize(("rule", "messages", "more"), BROKEN)
def test_broken_chat_rules(
    provider: Provider, gpt: openai.OpenAI, rule: str, messages: list[Json], more: Json
) -> None:
    provider.expect_violation(rule)
    with pytest.raises(openai.BadRequestError) as caught:
        chat(gpt, *messages, **more)
    assert caught.value.type == "invalid_request_error"


def test_window(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.window["tiny"] = 10
    provider.expect_violation("window")
    with pytest.raises(
        openai.BadRequestError, match="maximum context length is 10 tokens"
    ) as caught:
        chat(gpt, says("user", prose(11)), model="tiny")
    assert caught.value.code == "context_length_exceeded"
    assert "tiny" in [model.id for model in gpt.models.list()]


FLAVOURS: list[tuple[Any, str]] = [
    ("native", "your messages resulted in 9000 tokens"),
    ("llama.cpp", "exceeds the available context size"),
    ("vllm", "However, you requested 9000 tokens"),
    ("ollama", "input length exceeds the context length"),
]


@pytest.mark.parametrize(("flavour", "words"), FLAVOURS)
def test_too_long_in_every_dialect(
    provider: Provider, gpt: openai.OpenAI, flavour: Any, words: str
) -> None:
    provider.script(TooLong(9000, 8192, flavour))
    with pytest.raises(openai.BadRequestError, match="9000") as caught:
        chat(gpt, says("user", "x"), model="local")
    assert words in caught.value.message
    if flavour == "llama.cpp":
        body: Any = caught.value.body
        assert (body["type"], body["n_ctx"]) == ("exceed_context_size_error", 8192)


def test_auth_and_model(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.expect_violation("auth")
    with pytest.raises(openai.AuthenticationError) as caught:
        chat(gpt, says("user", "x"), extra_headers={"Authorization": "Bearer bad"})
    assert caught.value.code == "invalid_api_key"
    provider.expect_violation("model")
    with pytest.raises(openai.NotFoundError) as lost:
        chat(gpt, says("user", "x"), model="gpt-nobody")
    assert lost.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (rate_limited(3), openai.RateLimitError),
        (server_error(), openai.InternalServerError),
        (HttpError(401, "no"), openai.AuthenticationError),
        (Garbage(), json.JSONDecodeError),
        (Cut(), openai.APIConnectionError),
    ],
)
def test_faults(provider: Provider, gpt: openai.OpenAI, fault: Any, error: type[Exception]) -> None:
    provider.script(fault)
    with pytest.raises(error):
        chat(gpt, says("user", "x"))


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Cut(), openai.APIConnectionError),
        (Malformed(), json.JSONDecodeError),
        (StreamError(), openai.APIError),
    ],
)
def test_stream_faults(
    provider: Provider, gpt: openai.OpenAI, fault: Any, error: type[Exception]
) -> None:
    provider.script(fault)
    with pytest.raises(error):
        list(chat(gpt, says("user", "x"), stream=True))


def test_a_stream_without_its_end(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.script(Unfinished())
    chunks = list(chat(gpt, says("user", "x"), stream=True))
    assert all(choice.finish_reason is None for chunk in chunks for choice in chunk.choices)


async def test_async_clients(provider: Provider, async_gpt: openai.AsyncOpenAI) -> None:
    provider.script("one", "two")
    asked: Any = [says("user", "x")]
    first = await async_gpt.chat.completions.create(model=MODEL, messages=asked)
    second = await async_gpt.responses.create(model=MODEL, input="x")
    assert (first.choices[0].message.content, second.output_text) == ("one", "two")


# --- Responses ---

FUNCTION: Any = {"type": "function", "name": "read", "parameters": {}, "strict": False}


def test_a_responses_tool_loop(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.script([Thinking("look first"), ToolCall("read", {"path": "a"})], "Done.")
    items: list[Any] = [says("user", "go")]
    first = gpt.responses.create(model=MODEL, input=items, tools=[FUNCTION])
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    made: Any = first.output[1]
    items += [item.to_dict() for item in first.output]
    items.append({"type": "function_call_output", "call_id": made.call_id, "output": "ok"})
    second = gpt.responses.create(model=MODEL, input=items, tools=[FUNCTION])
    assert second.output_text == "Done."


def test_previous_response_id(provider: Provider, gpt: openai.OpenAI) -> None:
    first = gpt.responses.create(model=MODEL, input=prose(1200))
    second = gpt.responses.create(model=MODEL, input="more", previous_response_id=first.id)
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens
    assert second.usage.input_tokens_details.cached_tokens == 1152
    provider.expect_violation("previous-response")
    with pytest.raises(openai.BadRequestError, match="not found"):
        gpt.responses.create(model=MODEL, input="x", previous_response_id="resp_none")


def test_a_response_stream_ends_with_the_whole(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.script(
        [Thinking("hm, let me see"), Text("A longer text."), ToolCall("read", {"a": 1})]
    )
    with gpt.responses.stream(model=MODEL, input="x", tools=[FUNCTION]) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_response()
    assert "response.output_text.delta" in kinds
    assert "response.function_call_arguments.delta" in kinds
    assert "response.reasoning_summary_text.delta" in kinds
    assert final.output_text == "A longer text."
    assert provider.requests[0].reply is not None
    assert final.id == provider.requests[0].reply["id"]


def test_max_tokens_is_an_incomplete_response(provider: Provider, gpt: openai.OpenAI) -> None:
    provider.script(Reply((Text("cut"),), stop_reason="max_tokens"))
    assert gpt.responses.create(model=MODEL, input="x").status == "incomplete"


def test_broken_responses_rules(provider: Provider, gpt: openai.OpenAI) -> None:
    wrong: list[tuple[str, list[Any]]] = [
        ("tool-pairing", [{"type": "function_call_output", "call_id": "c", "output": "x"}]),
        ("tool-pairing", [{"type": "function_call", "call_id": "c", "name": "n", "arguments": ""}]),
        ("encrypted-content", [{"type": "compaction", "id": "x", "encrypted_content": "bm8="}]),
        ("messages", []),
    ]
    for rule, items in wrong:
        provider.expect_violation(rule)
        with pytest.raises(openai.BadRequestError):
            gpt.responses.create(model=MODEL, input=items)


def test_compaction_round_trip(provider: Provider, gpt: openai.OpenAI) -> None:
    said: Any = [says("user", "first"), says("assistant", "yes"), says("user", "second")]
    small = gpt.responses.compact(model=MODEL, input=said)
    assert [item.type for item in small.output] == ["message", "message", "compaction"]
    # The SDK types what comes back as output; user messages in it make its serializer complain.
    kept: Any = [item.model_dump(exclude_none=True, warnings=False) for item in small.output]
    kept.append(says("user", "third"))
    reply = gpt.responses.create(model=MODEL, input=kept)
    assert reply.output_text == "echo: third"
    assert provider.requests[0].api == "openai.compact"
