"""Messages that must stay but are too long to: copies of them, cut to size, pairs intact. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    ResultContent,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    new_message,
)
from reverie.core.tokens import block_tokens, json_tokens, message_tokens, text_tokens
from reverie.core.transcript import open_tool_uses
from reverie.layers import user_messages
from reverie.layers.clipping import clipped, level

_NOTHING = "…"


def words_of(message: Message) -> list[int]:
    """The lengths in tokens of what the person wrote: in this message, or in others it carries."""
    return [block_tokens(block) for block in message.blocks if _is_words(message, block)]


def shortened_words(messages: Sequence[Message], cap: int, whole: str) -> tuple[Message, ...]:
    """No text of the person longer than the cap; words that a marker carries stay as they are."""
    return tuple(
        _with_blocks(
            message,
            [
                Text(clipped(block.text, cap, whole))
                if isinstance(block, Text) and _is_words(message, block)
                else block
                for block in message.blocks
            ],
        )
        for message in messages
    )


def shortened_tail(messages: Sequence[Message], room: int, whole: str) -> tuple[Message, ...]:
    """All but the person's words cut to the room: calls, results, the model's text; or as they are.

    Thinking goes: it is bound to a prefix that is no more. Media become a mark. A call that waits
    for its result stays as it is: it may yet be run.
    """
    if sum(message_tokens(message) - sum(words_of(message)) for message in messages) <= room:
        return tuple(messages)
    light = [_light(message) for message in messages]
    waiting = open_tool_uses(messages)

    def stays(message: Message, block: Block) -> bool:
        return _is_words(message, block) or block in waiting

    lengths = [
        length
        for message in light
        for block in message.blocks
        if not stays(message, block)
        for length in _lengths(block)
    ]
    cap = level(lengths, room - sum(map(block_tokens, waiting)))
    cut = (
        _with_blocks(
            message,
            [
                block if stays(message, block) else _cut(block, cap, whole)
                for block in message.blocks
            ],
        )
        for message in light
    )
    return tuple(message for message in cut if message.blocks)


def copied(messages: Sequence[Message], after: Message | None) -> tuple[Message, ...]:
    """The same content as new messages, each after the last: what was cut is not what was said."""
    copies: list[Message] = []
    for message in messages:
        after = new_message(
            message.role,
            *message.blocks,
            after=after,
            at=message.at,
            origin=message.origin,
            response=message.response,
        )
        copies.append(after)
    return tuple(copies)


def _is_words(message: Message, block: Block) -> bool:
    if isinstance(block, Attachment):
        return block.label == user_messages.LABEL
    return message.role == "user" and message.origin == "user" and isinstance(block, Text)


def _light(message: Message) -> Message:
    kept = (b for b in message.blocks if not isinstance(b, Thinking | Opaque))
    return _with_blocks(message, [_unpictured(block) for block in kept])


def _unpictured(block: Block) -> Block:
    match block:
        case Image() | Document():
            return Text(f"[{block.kind}]")
        case ToolResult():
            return replace(block, content=tuple(map(_as_text, block.content)))
        case _:
            return block


def _as_text(part: ResultContent) -> Text:
    return part if isinstance(part, Text) else Text(f"[{part.kind}]")


def _lengths(block: Block) -> list[int]:
    return (
        [block_tokens(part) for part in block.content]
        if isinstance(block, ToolResult)
        else [block_tokens(block)]
    )


def _cut(block: Block, cap: int, whole: str) -> Block:
    match block:
        case Text(text):
            return Text(clipped(text, cap, whole) or _NOTHING)
        case Attachment(label, text):
            return Attachment(label, clipped(text, cap, whole) or _NOTHING)
        case ToolResult():
            parts = (Text(clipped(_as_text(part).text, cap, whole)) for part in block.content)
            return replace(block, content=tuple(part for part in parts if part.text))
        case ToolUse(id_, name, arguments) if block_tokens(block) > cap:
            return ToolUse(id_, name, _cut_arguments(arguments, cap - text_tokens(name), whole))
        case _:
            return block


def _cut_arguments(arguments: str, cap: int, whole: str) -> str:
    """Arguments are an object, whatever is left of them."""
    for share in (2, 4, 8):
        cut = json.dumps({"cut": clipped(arguments, cap // share, whole)}, ensure_ascii=False)
        if json_tokens(cut) <= cap:
            return cut
    return "{}"


def _with_blocks(message: Message, blocks: Sequence[Block]) -> Message:
    return replace(message, blocks=tuple(blocks))
