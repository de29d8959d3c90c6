"""Sending another text for a tool result than the one that came: replaced, or cleared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reverie.core.messages import Block, Message, Text, ToolResult
from reverie.core.tokens import message_tokens


def substituted(message: Message, texts: Mapping[str, str]) -> Message:
    """The message with these texts for the text of its results; images and documents stay."""
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
