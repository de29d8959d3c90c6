"""How the window is shared after a compaction, so that the outcome always fits. Pure.

The user's messages come first; they are cut only when they leave less than a quarter of the room.
The verbatim messages get half of what is left, with tool traffic cut to fit. Of the rest the summary
gets a quarter, obligations an eighth and restored content three eighths; the last quarter stays
free, or the next request would compact again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reverie.context import user_messages
from reverie.context.compaction.plan import Failed, Plan, Situation
from reverie.context.user_messages import clipped, level
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
from reverie.core.transcript import open_tool_uses
from reverie.core.window import block_tokens, json_tokens, message_tokens, text_tokens

# Our estimate is never off by more than this factor; a larger one is ignored.
_MOST_RATE = 2.0

# A message cut below this size is useless; this includes the quoted notes on cuts.
_SHORTEST = 64
_NOTE = 2


@dataclass(frozen=True, slots=True)
class Shares:
    """The user's messages and the kept messages as they will be sent, and the room for the rest."""

    user_texts: tuple[str, ...]
    kept: tuple[Message, ...]
    room: int
    summary: int
    obligations: int
    restored: int
    losses: tuple[str, ...] = ()


def rate(situation: Situation) -> float:
    """The provider's size of the conversation divided by our estimate; at least 1."""
    estimated = situation.overhead + sum(map(message_tokens, situation.messages))
    return min(max(situation.tokens / max(estimated, 1), 1.0), _MOST_RATE)


def share(situation: Situation, plan: Plan, *, may_cut: bool) -> Shares | Failed:
    """Divide the window. Kept messages are cut to fit if `may_cut`; otherwise they must fit whole."""
    threshold = int(situation.window.compaction / rate(situation))
    room = threshold - situation.overhead - _tokens(plan.before)
    if room < threshold // 8:
        return Failed(
            f"system prompt, tools and the {len(plan.before)} messages before the summary alone take "
            f"{threshold - room:,} of {threshold:,} tokens"
        )
    whole = f"it is in {situation.transcript}" if situation.transcript else ""
    kept, user_texts = plan.kept, user_messages.carried(plan.compacted)
    if may_cut:
        kept, user_texts = _fitting_words(kept, user_texts, room * 3 // 4, whole)
        kept = shortened_tail(kept, (room - _words(kept) - _carried_tokens(user_texts)) // 2, whole)
    rest = room - _words(kept) - _carried_tokens(user_texts)
    left = rest - (_tokens(kept) - _words(kept))
    if rest < room // 4 or left < rest // 4:
        return Failed(f"what stays word for word takes {room - left:,} of {room:,} tokens")
    losses = _losses(plan, kept, user_texts)
    return Shares(user_texts, kept, room, left // 4, left // 8, left * 3 // 8, losses)


def _fitting_words(
    kept: tuple[Message, ...], user_texts: tuple[str, ...], room: int, whole: str
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """All of the user's texts if they fit; otherwise the longest are cut, kept or carried."""
    if _words(kept) + _carried_tokens(user_texts) <= room:
        return kept, user_texts
    texts = [text_tokens(text) for text in user_texts]
    frame = _carried_tokens(user_texts) - sum(texts)
    lengths = [*texts, *(length for message in kept for length in words_of(message))]
    cap = max(level(lengths, room - frame - _NOTE * len(lengths)), _SHORTEST)
    kept = shortened_words(kept, cap, whole)
    cut = [clipped(text, cap, whole) for text in user_texts]
    return kept, _newest_words(cut, room - _words(kept), whole)


def _newest_words(texts: Sequence[str], room: int, whole: str) -> tuple[str, ...]:
    """The newest messages that fit; a note says where the others can be read."""
    if _carried_tokens(texts) <= room:
        return tuple(texts)
    gone = f"[Earlier messages of the user do not fit here{f'; {whole}' if whole else ''}]"
    first = len(texts)
    left = room - _carried_tokens((gone,))
    while first and (size := _quoted_tokens(texts[first - 1])) <= left:
        first -= 1
        left -= size
    return (gone, *texts[first:])


def _quoted_tokens(text: str) -> int:
    """The size of one message in the attachment, where it is quoted line by line under its number."""
    number = 8
    return text_tokens(text) + text.count("\n") + number


def _carried_tokens(texts: Sequence[str]) -> int:
    return block_tokens(user_messages.render(texts)) if texts else 0


def _losses(plan: Plan, kept: Sequence[Message], user_texts: Sequence[str]) -> tuple[str, ...]:
    cut = (
        (plan.kept != kept, "what waits for an answer was too long and was cut"),
        (
            user_messages.carried((*plan.compacted, *plan.kept))
            != (*user_texts, *user_messages.carried(kept)),
            "the user's messages alone were too long, and some were cut",
        ),
    )
    return tuple(what for happened, what in cut if happened)


def _words(messages: Sequence[Message]) -> int:
    return sum(sum(words_of(message)) for message in messages)


def _tokens(messages: Sequence[Message]) -> int:
    return sum(map(message_tokens, messages))


_NOTHING = "…"


def words_of(message: Message) -> list[int]:
    """The lengths in tokens of the user's texts in this message, written or carried."""
    return [block_tokens(block) for block in message.blocks if _is_words(message, block)]


def shortened_words(messages: Sequence[Message], cap: int, whole: str) -> tuple[Message, ...]:
    """Cut the user's own texts to the cap; texts that a marker carries stay whole."""
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
    """Cut everything but the user's texts to the room: calls, results and the model's text.

    Thinking is dropped, since it is bound to the old prefix, and media become markers. A call that
    waits for its result stays whole, since it may still be run.
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
    """Copy the messages under new ids: cut content must not pass for the original message."""
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
    """Cut arguments so that they remain a JSON object."""
    for share in (2, 4, 8):
        cut = json.dumps({"cut": clipped(arguments, cap // share, whole)}, ensure_ascii=False)
        if json_tokens(cut) <= cap:
            return cut
    return "{}"


def _with_blocks(message: Message, blocks: Sequence[Block]) -> Message:
    return replace(message, blocks=tuple(blocks))
