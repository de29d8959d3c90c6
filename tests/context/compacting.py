"""Conversations to compact, ways to compact them, and the invariants afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from hypothesis import strategies as st
from tests.core.build import conversations, texts

from reverie.context.compaction import CompactionTools, run
from reverie.context.compaction.parts import TITLES
from reverie.context.compaction.plan import Compaction, Failed, Situation
from reverie.core.messages import Message, Text, ToolResult, ToolUse, new_message
from reverie.core.transcript import open_tool_uses, pairing
from reverie.core.window import Window, message_tokens

AT = 1_750_000_000.0
BIG = Window(200_000, "test")
SMALL = Window(8_000, "test")

SUMMARY = "\n\n".join(
    f"## {i}. {title}\nThe model on {title}." for i, title in enumerate(TITLES, 1)
)
REPLY = f"<analysis>\nhm\n</analysis>\n<summary>\n{SUMMARY}\n</summary>"


def threaded(messages: Iterable[Message], after: Message | None = None) -> tuple[Message, ...]:
    """The same messages chained as in a real session, with distinct ids."""
    said: list[Message] = []
    for n, message in enumerate(messages):
        after = new_message(
            message.role,
            *message.blocks,
            after=after,
            at=AT + n,
            origin=message.origin,
            response=message.response,
        )
        said.append(after)
    return tuple(said)


def tokens(messages: Iterable[Message]) -> int:
    return sum(map(message_tokens, messages))


def situation(messages: Sequence[Message], window: Window = BIG, **more: object) -> Situation:
    given = {"tokens": tokens(messages), "at": AT, "transcript": "/t.jsonl"} | more
    return Situation(tuple(messages), window, **given)


def compacted(there: Situation, tools: CompactionTools | None = None) -> Compaction | Failed:
    return asyncio.run(run(there, tools or CompactionTools()))


def applied(messages: Sequence[Message], done: Compaction) -> tuple[Message, ...]:
    """The conversation after the compaction, as a session applies it."""
    ids = [message.id for message in messages]
    earlier = ids.index(done.kept_up_to) + 1 if done.kept_up_to else 0
    later = ids.index(done.kept_from) if done.kept_from else len(ids)
    return (*messages[:earlier], *done.start, *messages[later:])


def saying(*replies: str | BaseException) -> tuple[Callable, list[tuple]]:
    """A summariser that gives these replies in turn, and the prompts it received."""
    asked: list[tuple] = []
    left = iter(replies)

    async def ask(*given: object) -> str:
        asked.append(given)
        reply = next(left)
        if isinstance(reply, BaseException):
            raise reply
        return reply

    return ask, asked


def assert_stands(before: Sequence[Message], after: Sequence[Message]) -> None:
    """Assert what providers require: intact pairs, the user side first, unique ids."""
    assert open_tool_uses(after) == open_tool_uses(before)
    found = pairing(after)
    assert (found.orphaned, found.misplaced, found.repeated) == ((), (), ())
    assert after[0].role == "user"
    assert not after[0].tool_results
    assert all(message.blocks for message in after)
    ids = [message.id for message in after]
    assert len(set(ids)) == len(ids)


# ── anything at all ──────────────────────────────────────────────────────────

# Texts that look like our own marks.
_TRICKY = [
    "[1]",
    "> quoted",
    "[2]\n> no",
    "</summary>",
    "<reminder>",
    "## 6. All user messages",
    " ",
]

words = st.one_of(texts, st.sampled_from(_TRICKY), st.text("ab\n", max_size=40))


@st.composite
def epochs(draw: st.DrawFn, number: int) -> list[Message]:
    """Messages between two compactions: calls with unique ids, arbitrary user texts."""
    said = draw(conversations())
    return [_renamed(draw, message, f"e{number}.") for message in said]


def _renamed(draw: st.DrawFn, message: Message, prefix: str) -> Message:
    blocks = []
    for block in message.blocks:
        match block:
            case ToolUse(id_, name, arguments):
                block = ToolUse(prefix + id_, name, arguments)
            case ToolResult(id_, _, _):
                # Large enough for a summary to be shorter.
                content = (Text(block.text * 40),)
                block = replace(block, tool_use_id=prefix + id_, content=content)
            case Text() if message.role == "user" and not message.tool_results:
                block = Text(draw(words))
        blocks.append(block)
    response = prefix + message.response if message.response else message.response
    return replace(message, blocks=tuple(blocks), response=response)
