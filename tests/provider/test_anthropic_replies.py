"""Scripted replies and faults, as the anthropic SDK sees them."""

import json

import anthropic
import anyio
import pytest
from pydantic import BaseModel
from tests.provider import (
    Cut,
    Garbage,
    Gate,
    Held,
    HttpError,
    Malformed,
    Provider,
    RecordedRequest,
    Reply,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    TooLong,
    Unfinished,
    overloaded,
    rate_limited,
    server_error,
    too_large,
    wrong_shape,
)
from tests.provider.samples import ask, tool, user

RICH = (
    Thinking("First the file, then the answer. Ω"),
    Text("I will read the file you named."),
    ToolCall("read", {"path": "a/b.txt", "lines": [1, 2, 3], "note": "long enough to be split"}),
    ToolCall("read", {}),
)


def test_a_stream_reassembles_to_the_json_reply(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    provider.script(RICH, RICH)
    whole = claude.messages.create(**ask(user("hi"), tools=[tool()]))
    with claude.messages.stream(**ask(user("hi"), tools=[tool()])) as stream:
        kinds = [event.type for event in stream]
        parts = stream.get_final_message()
    assert {"message_start", "content_block_delta", "message_delta", "message_stop"} <= set(kinds)
    for block in parts.content:
        # The counter that numbers calls has moved on; nothing else may differ.
        if block.type == "tool_use":
            block.id = {"toolu_0003": "toolu_0001", "toolu_0004": "toolu_0002"}[block.id]
    plain, streamed = whole.to_dict(), parts.to_dict()
    assert plain.pop("id") != streamed.pop("id")
    assert streamed == plain
    assert whole.stop_reason == "tool_use"


def test_raw_events_are_split_and_pinged(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(RICH)
    raw = claude.messages.with_streaming_response.create(**ask(user("hi")), stream=True)
    with raw as response:
        lines = list(response.iter_lines())
    assert "event: ping" in lines
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    pieces = [e["delta"]["partial_json"] for e in events if "partial_json" in e.get("delta", {})]
    assert len(pieces) > 3
    assert {e["delta"]["type"] for e in events if e["type"] == "content_block_delta"} == {
        "thinking_delta",
        "signature_delta",
        "text_delta",
        "input_json_delta",
    }


async def test_async_client(provider: Provider, async_claude: anthropic.AsyncAnthropic) -> None:
    provider.script("one", "two")
    first = await async_claude.messages.create(**ask(user("hi")))
    async with async_claude.messages.stream(**ask(user("hi"))) as stream:
        second = await stream.get_final_text()
    assert (first.content[0].to_dict()["text"], second) == ("one", "two")


def test_echo_and_responders(provider: Provider, claude: anthropic.Anthropic) -> None:
    def count(request: RecordedRequest) -> str:
        return f"{len(request.json['messages'])} message"

    assert (
        claude.messages.create(**ask(user("hello"))).content[0].to_dict()["text"] == "echo: hello"
    )
    provider.script(count)
    assert claude.messages.create(**ask(user("hello"))).content[0].to_dict()["text"] == "1 message"
    provider.respond(count)
    assert claude.messages.create(**ask(user("hello"))).content[0].to_dict()["text"] == "1 message"
    assert provider.unanswered == 0


def test_stop_reasons(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(Reply((Text("no"),), stop_reason="refusal"), Reply((Text("a"),), "max_tokens"))
    assert claude.messages.create(**ask(user("hi"))).stop_reason == "refusal"
    assert claude.messages.create(**ask(user("hi"))).stop_reason == "max_tokens"
    empty = claude.messages.create(**(ask(user("hi")) | {"max_tokens": 0}))
    assert (empty.content, empty.stop_reason) == ([], "max_tokens")


class Selection(BaseModel):
    selected: list[str]


def test_structured_output(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script('{"selected": ["a.md"]}')
    parsed = claude.messages.parse(**ask(user("pick")), output_format=Selection)
    assert parsed.parsed_output == Selection(selected=["a.md"])
    # Without a script the echo still fits the schema.
    again = claude.messages.parse(**ask(user("pick")), output_format=Selection)
    assert again.parsed_output == Selection(selected=[])


ERRORS = [
    (HttpError(401, "no"), anthropic.AuthenticationError, "authentication_error"),
    (HttpError(404, "no"), anthropic.NotFoundError, "not_found_error"),
    (too_large(), anthropic.ContentTooLargeError, "request_too_large"),
    (rate_limited(7), anthropic.RateLimitError, "rate_limit_error"),
    (server_error(), anthropic.InternalServerError, "api_error"),
    (overloaded(), anthropic.OverloadedError, "overloaded_error"),
    (TooLong(200_251, 200_000), anthropic.BadRequestError, "invalid_request_error"),
]


@pytest.mark.parametrize(("fault", "error", "kind"), ERRORS)
def test_http_faults(
    provider: Provider,
    claude: anthropic.Anthropic,
    fault: HttpError | TooLong,
    error: type[anthropic.APIStatusError],
    kind: str,
) -> None:
    provider.script(fault)
    with pytest.raises(error) as caught:
        claude.messages.create(**ask(user("hi")))
    assert caught.value.type == kind
    assert provider.requests[0].status == caught.value.status_code
    assert provider.violations == []
    if isinstance(fault, TooLong):
        words = "prompt is too long: 200251 tokens > 200000 maximum"
        assert caught.value.api_message == words
    if caught.value.status_code == 429:
        assert caught.value.response.headers["retry-after"] == "7"


def test_the_sdk_retries_and_the_retry_is_recorded(provider: Provider) -> None:
    provider.script(rate_limited(0.001), "fine")
    with anthropic.Anthropic(base_url=provider.anthropic_url, api_key="k", max_retries=1) as client:
        client.messages.create(**ask(user("hi")))
    assert [request.status for request in provider.requests] == [429, 200]
    assert provider.requests[0].body == provider.requests[1].body


def test_garbage(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(Garbage(), wrong_shape())
    with pytest.raises(ValueError, match=r".+"):
        claude.messages.create(**ask(user("hi")))
    odd = claude.messages.create(**ask(user("hi")))
    assert getattr(odd, "content", None) is None


@pytest.mark.parametrize("after", [0, 1, 4])
def test_a_cut_stream_raises(provider: Provider, claude: anthropic.Anthropic, after: int) -> None:
    provider.script(Cut(after=after))
    with (
        pytest.raises(Exception, match=r"(?i)peer closed|incomplete|connection"),
        claude.messages.stream(**ask(user("hi"))) as stream,
    ):
        stream.get_final_message()
    assert provider.requests[0].status == 200


def test_a_cut_json_body_raises(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(Cut())
    with pytest.raises(anthropic.APIConnectionError):
        claude.messages.create(**ask(user("hi")))


def test_a_stream_without_its_end(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(Unfinished())
    with claude.messages.stream(**ask(user("hi"))) as stream:
        kinds = [event.type for event in stream]
    assert "message_stop" not in kinds


def test_malformed_event(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(Malformed())
    with (
        pytest.raises(json.JSONDecodeError),
        claude.messages.stream(**ask(user("hi"))) as stream,
    ):
        stream.get_final_message()


def test_error_event(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.script(StreamError(), StreamError())
    with (
        pytest.raises(anthropic.APIStatusError, match="Overloaded") as caught,
        claude.messages.stream(**ask(user("hi"))) as stream,
    ):
        stream.get_final_message()
    assert caught.value.type == "overloaded_error"
    with pytest.raises(anthropic.OverloadedError):
        claude.messages.create(**ask(user("hi")))


async def test_a_held_reply_waits_for_the_test(
    provider: Provider, async_claude: anthropic.AsyncAnthropic
) -> None:
    gate = Gate()
    provider.script(Held(Reply((Text("late"),)), gate))
    seen: list[str] = []

    async def ask_slowly() -> None:
        reply = await async_claude.messages.create(**ask(user("hi")))
        seen.append(str(reply.content[0].to_dict()["text"]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask_slowly)
        await anyio.to_thread.run_sync(gate.wait_reached)
        assert seen == []
        assert provider.requests[0].status is None
        gate.release()
    assert seen == ["late"]


async def test_a_stream_held_in_the_middle(
    provider: Provider, async_claude: anthropic.AsyncAnthropic
) -> None:
    gate = Gate()
    provider.script(Held(Reply((Text("a reply in several pieces"),)), gate, after=4))
    async with async_claude.messages.stream(**ask(user("hi"))) as stream:
        async for event in stream:
            if event.type == "text":
                break
        assert event.type == "text"
        gate.release()
        assert await stream.get_final_text() == "a reply in several pieces"


def test_count_tokens(provider: Provider, claude: anthropic.Anthropic) -> None:
    body = ask(user("a" * 9), system="b" * 4)
    del body["max_tokens"]
    assert claude.messages.count_tokens(**body).input_tokens == 4
    assert provider.requests[0].api == "anthropic.count"


def test_requests_are_recorded_exactly(provider: Provider, claude: anthropic.Anthropic) -> None:
    reply = claude.messages.create(**ask(user("héllo")))
    (request,) = provider.requests
    assert (request.method, request.path, request.status) == ("POST", "/v1/messages", 200)
    assert request.headers["authorization"] == "[redacted]"
    assert json.loads(request.body) == request.json
    assert request.usage == reply.usage.to_dict()
    assert request.reply is not None
    assert request.reply["id"] == reply.id
