"""Every rule of the Messages API: refused when broken, silent when kept."""

from typing import Any

import anthropic
import pytest
from tests.provider import Provider
from tests.provider.blocks import Json
from tests.provider.samples import (
    HOUR,
    MARK,
    ask,
    assistant,
    call,
    result,
    system,
    text,
    tool,
    user,
)

OPEN_OBJECT = {"type": "object", "properties": {}}
CLOSED = {**OPEN_OBJECT, "additionalProperties": False}


def output(schema: Json, **more: object) -> Json:
    return {"format": {"type": "json_schema", "schema": schema}, **more}


BROKEN: list[tuple[str, Json, str]] = [
    # rule, request, words of the message
    ("parameter", ask(user("hi"), made_up=1), "made_up: Extra inputs are not permitted"),
    (
        "parameter",
        {"model": "claude-opus-5", "messages": [user("hi")]},
        "max_tokens: Field required",
    ),
    ("sampling", ask(user("hi"), temperature=1), "temperature"),
    ("max-tokens", ask(user("hi")) | {"max_tokens": 200_000}, "200000 > 128000"),
    ("max-tokens", ask(user("hi")) | {"max_tokens": 0, "stream": True}, "cannot be combined"),
    (
        "thinking-type",
        ask(user("hi"), model="claude-opus-5-5", thinking={"type": "disabled"}),
        "disabled",
    ),
    (
        "tool-choice",
        ask(user("hi"), model="claude-sonnet-5-5", tools=[tool()], tool_choice={"type": "any"}),
        "forced tool use",
    ),
    ("effort", ask(user("hi"), output_config={"effort": "extreme"}), "output_config.effort"),
    ("output-format", ask(user("hi"), output_config=output(OPEN_OBJECT)), "additionalProperties"),
    (
        "output-format",
        ask(user("hi"), output_config=output({"type": "string", "maxLength": 3})),
        "maxLength is not supported",
    ),
    ("messages", ask(), "at least one message"),
    ("role", ask({"role": "tool", "content": "hi"}), "messages.0.role"),
    ("content", ask(user("hi"), {"role": "assistant", "content": []}), "non-empty content"),
    ("empty-text", ask(user("")), "must be non-empty"),
    ("empty-text", ask(user(" \n")), "non-whitespace"),
    ("first-role", ask(assistant("hi"), user("hi")), "first message"),
    ("prefill", ask(user("hi"), assistant("so")), "does not support assistant message prefill"),
    (
        "prefill-whitespace",
        ask(user("hi"), assistant("so "), model="claude-haiku-4-5"),
        "trailing whitespace",
    ),
    ("system-role", ask(user("hi"), system("be brief"), model="claude-sonnet-5"), "not supported"),
    (
        "system-placement",
        ask(user("hi"), assistant("yes"), system("be brief")),
        "follow a user turn",
    ),
    ("system-placement", ask(user("hi"), system("be brief"), user("more")), "followed by an"),
    ("beta", ask(user("hi"), system("x", clear_at="next_user_message")), "clear_at"),
    (
        "tool-pairing",
        ask(user("hi"), assistant(call("t1")), user("no")),
        "without `tool_result` blocks immediately after: t1",
    ),
    ("tool-pairing", ask(user("hi"), assistant(call("t1"))), "t1"),
    (
        "tool-pairing",
        ask(user("hi"), assistant("x"), user(result("t9"))),
        "unexpected `tool_use_id`",
    ),
    (
        "tool-pairing",
        ask(user("hi"), assistant(call("t1")), user(result("t1"), result("t1"))),
        "single result",
    ),
    (
        "tool-id",
        ask(
            user("hi"),
            assistant(call("t1")),
            user(result("t1")),
            assistant(call("t1")),
            user(result("t1")),
        ),
        "must be unique",
    ),
    (
        "tool-result-first",
        ask(user("hi"), assistant(call("t1")), user("first", result("t1"))),
        "must come before",
    ),
    ("cache-breakpoints", ask(user(*(text(str(i), MARK) for i in range(5)))), "Found 5"),
    (
        "cache-breakpoints",
        ask(user(*(text(str(i), MARK) for i in range(4)), "last"), cache_control=MARK),
        "Found 5",
    ),
    ("cache-order", ask(user(text("a", MARK), text("b", HOUR))), "must not come after"),
    ("cache-ttl", ask(user(text("a", {"type": "ephemeral", "ttl": "2h"}))), "5m or 1h"),
    ("cache-empty", ask(user("hi"), system=[text("", MARK)]), "empty text"),
    (
        "cache-thinking",
        ask(
            user("hi"),
            assistant(
                {"type": "thinking", "thinking": "", "signature": "", "cache_control": MARK}, "a"
            ),
            user("b"),
        ),
        "Extra inputs",
    ),
    ("beta", ask(user("hi"), compaction={"type": "summarize"}), "compaction"),
    ("beta", ask(user("hi"), context_management={"edits": []}), "context_management"),
    (
        "beta",
        ask(user("hi"), thinking={"type": "adaptive", "block_binding": {}}),
        "thinking.block_binding",
    ),
    ("block", ask({"role": "user", "content": ["hi"]}), "object with a `type`"),
    ("block", ask(user({"type": "text"})), "text: Field required"),
    ("block", ask(user(text("hi") | {"origin": "recall"})), "origin: Extra inputs"),
    ("block", ask(user(call("t"))), "`tool_use` blocks can only be in `assistant` messages"),
    ("block", ask(user("a"), assistant(result("t"))), "can only be in `user` messages"),
    ("block", ask(user("a"), assistant(call("t") | {"input": "{}"})), "valid dictionary"),
    ("message", ask(user("hi") | {"timestamp": 1}), "timestamp: Extra inputs"),
    ("tools", ask(user("hi"), tools=[tool(), tool()]), "must be unique"),
    ("tools", ask(user("hi"), tools=[tool("no spaces")]), "should match"),
    ("tools", ask(user("hi"), tools=[{"name": "read"}]), "input_schema: Field required"),
    ("parameter", ask(user("hi"), thread={"type": "create"}), "thread"),
]

KEPT: list[Json] = [
    ask(user("hi"), user("and"), assistant("yes"), user("more")),
    ask(user("hi"), assistant(call("a"), call("b")), user(result("b"), result("a"), "thanks")),
    ask(user("hi"), assistant(call("a")), user(result("a")), user("thanks")),
    ask(user("hi"), assistant(call("a")), user(result("a")), system("be brief")),
    ask(user("hi"), system("one"), system("two"), assistant("yes"), user("more")),
    ask(user("hi"), assistant("so"), model="claude-haiku-4-5"),
    ask(user(text("a", HOUR), text("b", MARK)), system=[text("s", HOUR)], tools=[tool()]),
    ask(user(*(text(str(i), MARK) for i in range(3)), "x"), cache_control=MARK),
    ask(user("hi"), output_config=output(CLOSED, effort="low")),
    ask(user("hi"), tools=[tool()], tool_choice={"type": "any"}),
    ask({"role": "user", "content": "plain"}),
]


def send(client: anthropic.Anthropic, body: Json) -> Any:
    """The body exactly as given, past the SDK's own checks."""
    return client.post("/v1/messages", body=body, cast_to=object)


@pytest.mark.parametrize(("rule", "body", "words"), BROKEN)
def test_a_broken_rule_is_a_400_that_says_so(
    provider: Provider, claude: anthropic.Anthropic, rule: str, body: Json, words: str
) -> None:
    provider.expect_violation(rule)
    with pytest.raises(anthropic.BadRequestError) as caught:
        send(claude, body)
    assert caught.value.type == "invalid_request_error"
    assert words in (caught.value.api_message or "")
    assert [v.rule for v in provider.violations] == [rule]


@pytest.mark.parametrize("body", KEPT)
def test_a_kept_rule_is_silent(provider: Provider, claude: anthropic.Anthropic, body: Json) -> None:
    assert send(claude, body)["type"] == "message"
    assert provider.violations == []


def test_more_than_a_hundred_thousand_messages(
    provider: Provider, claude: anthropic.Anthropic
) -> None:
    provider.expect_violation("messages")
    with pytest.raises(anthropic.BadRequestError, match="100000"):
        send(claude, ask(*({"role": "user", "content": "x"} for _ in range(100_001))))


def test_version_header(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.expect_violation("version")
    with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
        claude.messages.create(**ask(user("hi")), extra_headers={"anthropic-version": ""})


def test_sampling_is_fine_before_it_was_removed(claude: anthropic.Anthropic) -> None:
    claude.messages.create(
        **ask(user("hi")),
        extra_body={"temperature": 0.5},
        extra_headers={"anthropic-version": "2023-06-01"},
    )


def test_unknown_model(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.expect_violation("model")
    with pytest.raises(anthropic.NotFoundError) as caught:
        claude.messages.create(**ask(user("hi"), model="claude-nobody"))
    assert caught.value.type == "not_found_error"


@pytest.mark.parametrize("key", ["bad", None])
def test_auth(provider: Provider, key: str | None) -> None:
    provider.expect_violation("auth")
    headers: Any = {} if key else {"Authorization": anthropic.Omit()}
    with (
        anthropic.Anthropic(base_url=provider.anthropic_url, api_key=key or "x") as client,
        pytest.raises(anthropic.AuthenticationError) as caught,
    ):
        client.messages.create(**ask(user("hi")), extra_headers=headers)
    assert caught.value.type == "authentication_error"


def test_x_api_key_is_accepted(provider: Provider, claude: anthropic.Anthropic) -> None:
    headers: Any = {"Authorization": anthropic.Omit(), "x-api-key": "old"}
    claude.messages.create(**ask(user("hi")), extra_headers=headers)
    assert provider.requests[0].headers["x-api-key"] == "[redacted]"


def test_window_with_the_exact_words(provider: Provider, claude: anthropic.Anthropic) -> None:
    provider.window["claude-haiku-4-5"] = 10
    provider.expect_violation("window")
    claude.messages.create(**ask(user("a" * 40), model="claude-haiku-4-5"))
    with pytest.raises(anthropic.BadRequestError) as caught:
        claude.messages.create(**ask(user("a" * 41), model="claude-haiku-4-5"))
    assert caught.value.api_message == "prompt is too long: 11 tokens > 10 maximum"
    assert caught.value.error_code is None


def test_models(claude: anthropic.Anthropic, provider: Provider) -> None:
    provider.window["claude-haiku-4-5"] = 3000
    one = claude.models.retrieve("claude-haiku-4-5")
    assert (one.max_input_tokens, one.max_tokens) == (3000, 64_000)
    assert one.capabilities is not None
    assert one.capabilities.thinking.types.between_tools.supported is False
    beta = claude.beta.models.retrieve("claude-fable-5-1")
    assert beta.capabilities is not None
    assert beta.capabilities.compaction is not None
    assert beta.capabilities.compaction.summarize.supported
    assert "claude-opus-5-5" in [model.id for model in claude.models.list()]
