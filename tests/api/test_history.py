"""A caller's messages, in every format the SDKs use."""

import json
from typing import Any

import pytest
from anthropic.types.beta import BetaMessage, BetaTextBlock, BetaToolUseBlock
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage

from reverie.api.history import read_history
from reverie.core.messages import (
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
from reverie.errors import InputError

CALL = ToolUse("t1", "look", '{"at": "é"}')
CLAUDE_CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "é"}}
CHAT_CALL = {
    "id": "t1",
    "type": "function",
    "function": {"name": "look", "arguments": '{"at": "é"}'},
}
ITEM_CALL = {
    "type": "function_call",
    "id": "fc1",
    "call_id": "t1",
    "name": "look",
    "arguments": '{"at": "é"}',
}


def read(*messages: object) -> list[tuple[str, str, tuple[object, ...]]]:
    found = read_history(messages).messages
    return [(message.role, message.origin, message.blocks) for message in found]


@pytest.mark.parametrize(
    "messages",
    [
        # Messages API: dictionaries, SDK objects inside them, a whole response.
        [
            {"role": "user", "content": [{"type": "text", "text": "look"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "I will"}, CLAUDE_CALL]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "and?"},
                    {"type": "tool_result", "tool_use_id": "t1", "content": "found"},
                ],
            },
        ],
        [
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": [
                    BetaTextBlock(type="text", text="I will"),
                    BetaToolUseBlock(type="tool_use", id="t1", name="look", input={"at": "é"}),
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [{"type": "text", "text": "found"}],
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
            {"role": "user", "content": "and?"},
        ],
        [
            {"role": "user", "content": "look"},
            BetaMessage.model_validate(
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "model": "m",
                    "content": [{"type": "text", "text": "I will"}, CLAUDE_CALL],
                    "stop_reason": "tool_use",
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                }
            ),
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "found"}],
            },
            {"role": "user", "content": "and?"},
        ],
        # Chat Completions: dictionaries, and the SDK's message.
        [
            {"role": "user", "content": "look", "name": "ada"},
            {"role": "assistant", "content": "I will", "tool_calls": [CHAT_CALL]},
            {"role": "tool", "tool_call_id": "t1", "content": "found"},
            {"role": "user", "content": [{"type": "text", "text": "and?"}]},
        ],
        [
            {"role": "user", "content": "look"},
            ChatCompletionMessage.model_validate(
                {"role": "assistant", "content": "I will", "tool_calls": [CHAT_CALL]}
            ),
            {"role": "tool", "tool_call_id": "t1", "content": [{"type": "text", "text": "found"}]},
            {"role": "user", "content": "and?"},
        ],
        # Responses API: items.
        [
            {"role": "user", "content": [{"type": "input_text", "text": "look"}]},
            ResponseOutputMessage.model_validate(
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "I will", "annotations": []}],
                }
            ),
            ResponseFunctionToolCall.model_validate(ITEM_CALL),
            {"type": "function_call_output", "call_id": "t1", "output": "found"},
            {"type": "message", "role": "user", "content": "and?"},
        ],
        # Ours.
        [
            new_message("user", Text("look")),
            new_message("assistant", Text("I will"), CALL),
            new_message("user", Text("and?"), ToolResult("t1", (Text("found"),))),
        ],
    ],
    ids=["dicts", "blocks", "response", "chat", "chat-object", "items", "ours"],
)
def test_one_conversation(messages: list[object]) -> None:
    assert read(*messages) == [
        ("user", "user", (Text("look"),)),
        ("assistant", "assistant", (Text("I will"), CALL)),
        ("user", "tool", (ToolResult("t1", (Text("found"),)),)),
        ("user", "user", (Text("and?"),)),
    ]


def parts(*content: object, role: str = "user") -> tuple[object, ...]:
    [(_, _, blocks)] = read({"role": role, "content": list(content)})
    return blocks


def source(**of: str) -> dict[str, Any]:
    return {"type": "image", "source": of}


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (source(type="base64", media_type="image/png", data="AAAA"), Image("image/png", "AAAA")),
        (source(type="url", url="https://x/y.png"), Image("", url="https://x/y.png")),
        (
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            Image("image/png", "AAAA"),
        ),
        ({"type": "image_url", "image_url": {"url": "https://x/y"}}, Image("", url="https://x/y")),
        ({"type": "input_image", "image_url": "https://x/y"}, Image("", url="https://x/y")),
        (
            {
                "type": "document",
                "title": "T",
                "source": {"type": "text", "media_type": "text/plain", "data": "words"},
            },
            Document("text/plain", "words", "T"),
        ),
        (
            {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"},
            },
            Document("application/pdf", "JVBE", "a.pdf"),
        ),
        (
            {"type": "input_file", "file_data": "data:application/pdf;base64,JVBE"},
            Document("application/pdf", "JVBE"),
        ),
        (
            {"type": "document", "source": {"type": "file", "file_id": "f1"}, "title": None},
            Opaque(
                "anthropic", '{"type": "document", "source": {"type": "file", "file_id": "f1"}}'
            ),
        ),
        (
            {"type": "search_result", "title": "t"},
            Opaque("anthropic", '{"type": "search_result", "title": "t"}'),
        ),
    ],
)
def test_what_a_user_says(part: dict[str, Any], block: object) -> None:
    assert parts(part) == (block,)


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            {"type": "thinking", "thinking": "hmm", "signature": "s"},
            Thinking("hmm", "s"),
        ),
        ({"type": "redacted_thinking", "data": "d"}, Thinking("", "d", redacted=True)),
        ({"type": "refusal", "refusal": "no"}, Text("no")),
        (
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
            Opaque(
                "anthropic",
                '{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}',
            ),
        ),
    ],
)
def test_what_a_model_says(part: dict[str, Any], block: object) -> None:
    assert parts(part, role="assistant") == (block,)


def test_reasoning_goes_back_as_it_came() -> None:
    reasoning = {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "x"}
    [(role, _, blocks)] = read(reasoning | {"status": None}, ITEM_CALL)
    assert role == "assistant"
    kept, call = blocks
    assert isinstance(kept, Opaque)
    assert (kept.provider, json.loads(kept.payload)) == ("openai", reasoning)
    assert call == CALL


def test_parallel_results_are_one_message() -> None:
    found = read(
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": ""},
        {"role": "user", "content": "and?"},
    )
    assert found[0][2] == (ToolResult("a", (Text("1"),)), ToolResult("b"))
    assert len(found) == 2


def test_an_empty_reply_is_not_a_message() -> None:
    assert read({"role": "assistant", "content": []}, {"role": "assistant", "content": None}) == []


def test_the_system_prompt_may_lead() -> None:
    system = (
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": "Be brief."},
    )
    found = read_history([*system, {"role": "user", "content": "hi"}])
    assert found.system == "Be kind.\n\nBe brief."
    assert len(found.messages) == 1
    assert read_history([{"role": "user", "content": "hi"}]).system is None


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ("hello", "messages is a str; give a list"),
        ({"role": "user"}, "messages is a dict; give a list"),
        (["hello"], r"messages\[0\] is 'hello'; give a dictionary with role and content"),
        ([{}], r"messages\[0\] has neither a role nor a type"),
        ([{"role": "bot", "content": "x"}], r"messages\[0\].role is 'bot'; known: user, assistant"),
        ([{"role": 3, "content": "x"}], r"messages\[0\].role must be text, not 3"),
        ([{"role": "user", "content": ""}], r"messages\[0\] has no content"),
        ([{"role": "user"}], r"messages\[0\] has no content"),
        ([{"role": "user", "content": 3}], r"messages\[0\].content must be a list, not 3"),
        (
            [{"role": "user", "content": ["x"]}],
            r"messages\[0\].content\[0\] is 'x'; give an object",
        ),
        ([{"role": "user", "content": [{"text": "x"}]}], r"content\[0\].type is missing"),
        ([{"role": "user", "content": [{"type": "txt"}]}], r"has the type 'txt'; known: text, "),
        ([{"role": "user", "content": [{"type": "text"}]}], r"content\[0\].text is missing"),
        (
            [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}],
            r"tool_use_id is missing",
        ),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t", "content": [CLAUDE_CALL]}
                    ],
                }
            ],
            "holds a tool_use; a result holds text or media",
        ),
        ([{"role": "tool", "content": "x"}], r"messages\[0\].tool_call_id is missing"),
        (
            [{"role": "assistant", "tool_calls": [{"id": "t"}]}],
            r"tool_calls\[0\].function is missing; it must be an object",
        ),
        (
            [{"role": "user", "content": [{"type": "file", "file": {"file_data": "abc"}}]}],
            "must be a data: URL",
        ),
        (
            [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}],
            r"messages\[1\] is a system message; the system prompt comes first",
        ),
    ],
)
def test_what_is_wrong(messages: Any, error: str) -> None:
    with pytest.raises(InputError, match=error):
        read_history(messages)


def test_a_message_of_ours_keeps_its_blocks() -> None:
    given = Message("id", "user", (Text("a"), Image("image/png", "AAAA")), origin="import")
    assert read(given) == [("user", "user", given.blocks)]
