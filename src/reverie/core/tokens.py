"""The size of a conversation: the provider's last report plus an estimate of what is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.core.usage import Usage

TEXT_BYTES_PER_TOKEN = 4
JSON_BYTES_PER_TOKEN = 2
FLAT_MEDIA_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Measured:
    """The context size a provider reported, and the response that reported it."""

    response: str
    tokens: int


def measured(response: str, usage: Usage) -> Measured:
    return Measured(response, usage.context)


def text_tokens(text: str) -> int:
    return _ceil_div(_utf8_length(text), TEXT_BYTES_PER_TOKEN)


def json_tokens(text: str) -> int:
    return _ceil_div(_utf8_length(text), JSON_BYTES_PER_TOKEN)


def block_tokens(block: Block) -> int:
    match block:
        case Text(text) | Attachment(_, text):
            return text_tokens(text)
        case Thinking(text, signature):
            return text_tokens(text) + text_tokens(signature or "")
        case ToolUse(_, name, arguments):
            return text_tokens(name) + json_tokens(arguments)
        case ToolResult(_, content, _):
            return sum(block_tokens(part) for part in content)
        case Image() | Document():
            return FLAT_MEDIA_TOKENS
        case Opaque(_, payload):
            return json_tokens(payload)
        case _:
            assert_never(block)


def message_tokens(message: Message) -> int:
    return sum(block_tokens(block) for block in message.blocks)


def context_tokens(messages: Sequence[Message], last: Measured | None = None) -> int:
    """Tokens in the conversation, in time proportional to what came after the last measurement.

    One response may have become several messages with tool results in between (parallel calls),
    so counting starts at the first of them; the response's own messages are in the measurement.
    """
    if last is None:
        return sum(message_tokens(message) for message in messages)
    added = 0
    pending = 0
    found = False
    for message in reversed(messages):
        if message.response == last.response:
            found = True
            added += pending
            pending = 0
        elif found and message.role == "assistant":
            break
        else:
            pending += message_tokens(message)
    return last.tokens + added if found else added + pending


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _ceil_div(value: int, by: int) -> int:
    return -(-value // by)


def substituted(message: Message, texts: Mapping[str, str]) -> Message:
    """The message with the texts of its results replaced; images and documents stay."""
    blocks = tuple(_substituted(block, texts) for block in message.blocks)
    return replace(message, blocks=blocks)


def freed(before: Message, after: Message) -> int:
    """How many tokens a substitution saves."""
    return message_tokens(before) - message_tokens(after)


def _substituted(block: Block, texts: Mapping[str, str]) -> Block:
    if not isinstance(block, ToolResult) or block.tool_use_id not in texts:
        return block
    others = (part for part in block.content if not isinstance(part, Text))
    return replace(block, content=(Text(texts[block.tool_use_id]), *others))
