"""Asking a model for the summary; whatever goes wrong is a value with its reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    ResultContent,
    Text,
    ToolResult,
    new_message,
)
from reverie.core.thinking import without_thinking
from reverie.core.tokens import message_tokens
from reverie.core.transcript import drop_oldest_rounds
from reverie.errors import PromptTooLong, ReverieError
from reverie.layers.compaction import obligations, restore
from reverie.layers.compaction.parts import Parts, parse_reply
from reverie.layers.compaction.plan import Plan
from reverie.layers.compaction.prompts import directive
from reverie.layers.compaction.summary_message import is_summary

# A fork on the conversation's exact prefix: a task in, the text of the reply out.
Summarizer: TypeAlias = Callable[[str], Awaitable[str]]

# The same on messages of its own, for when the conversation is too long to be sent at all.
ApartSummarizer: TypeAlias = Callable[[tuple[Message, ...], str], Awaitable[str]]

MOST_TRIES = 3

# Freed when the provider does not say by how much the request is too long.
_BLIND_SHARE = 5

# Put back after the compaction by whoever attached them.
_ATTACHED_AGAIN = frozenset(
    {"recall", "notes", "plan", "skill", obligations.LABEL, restore.FILE_LABEL}
)

_WORDS_PER_TOKEN = 0.6
_LEFT_OUT = "[The conversation before this point was left out: it is too long to be sent at once.]"


@dataclass(frozen=True, slots=True)
class NoSummary:
    """No model wrote a summary, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be summarised, in how many tokens, and what the user says about it."""

    plan: Plan
    room: int
    instructions: str = ""

    @property
    def words(self) -> int:
        return max(100, int(self.room * _WORDS_PER_TOKEN))


async def summarize(
    task: Task, ask: Summarizer | None, ask_apart: ApartSummarizer | None = None
) -> Parts | NoSummary:
    """The model's summary. The fork shares the parent's exact prefix, so almost all of its input
    comes from the cache; nothing is stripped from what it sees, for that would change the bytes.
    """
    if ask is None:
        return NoSummary("there is no model to ask")
    plan = task.plan
    told = directive(
        task.words,
        instructions=task.instructions,
        first=plan.compacted[0] if plan.before else None,
        behind=plan.kept[0] if plan.kept else None,
    )
    try:
        reply = await ask(told)
    except PromptTooLong as error:
        return await _summarize_apart(task, ask_apart, error)
    except (ReverieError, TimeoutError) as error:
        return NoSummary(f"{error!r}")
    return parse_reply(reply) or NoSummary("the reply holds no summary")


async def _summarize_apart(
    task: Task, ask: ApartSummarizer | None, error: PromptTooLong
) -> Parts | NoSummary:
    """A request of its own, without what can be spared. No cache is lost: none was to be had."""
    if ask is None:
        return NoSummary(f"{error!r}")
    everything = (*task.plan.before, *task.plan.compacted, *task.plan.kept)
    messages = prepared(task.plan.compacted)
    freed = _tokens(everything) - _tokens(messages)
    told = directive(task.words, instructions=task.instructions)
    for _ in range(MOST_TRIES):
        shorter = without_oldest(messages, _gap(error, everything) - freed)
        if shorter is None:
            break
        try:
            reply = await ask(shorter, told)
        except PromptTooLong as again:
            error, everything, messages, freed = again, shorter, shorter, 0
        except (ReverieError, TimeoutError) as other:
            return NoSummary(f"{other!r}")
        else:
            return parse_reply(reply) or NoSummary("the reply holds no summary")
    return NoSummary(f"too long for the summariser itself: {error!r}")


def prepared(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages as a summariser needs them: no media, no thinking, nothing that is attached again."""
    kept = (
        replace(message, blocks=tuple(map(_marked, filter(_needed, message.blocks))))
        for message in map(without_thinking, messages)
    )
    return tuple(message for message in kept if message.blocks)


def without_oldest(messages: Sequence[Message], tokens: int) -> tuple[Message, ...] | None:
    """Whole rounds less from the front, until so many tokens are freed; None if none can be.

    An earlier summary stays: it is all that is left of what it stands for.
    """
    lead = tuple(messages[:1]) if messages and is_summary(messages[0]) else ()
    rest = messages[len(lead) :]
    left = drop_oldest_rounds(rest, tokens)
    dropped = len(left) < len(rest)
    if tokens > 0 and not dropped:
        return None
    opens = not lead and bool(left) and left[0].role == "assistant"
    marks = (new_message("user", Text(_LEFT_OUT), origin="reverie"),) if dropped or opens else ()
    return (*lead, *marks, *left)


def _gap(error: PromptTooLong, messages: Sequence[Message]) -> int:
    if error.tokens is not None and error.limit is not None and error.tokens > error.limit:
        return error.tokens - error.limit
    return -(-_tokens(messages) // _BLIND_SHARE)


def _tokens(messages: Sequence[Message]) -> int:
    return sum(map(message_tokens, messages))


def _needed(block: Block) -> bool:
    return not (isinstance(block, Attachment) and block.label in _ATTACHED_AGAIN)


def _marked(block: Block) -> Block:
    match block:
        case Image() | Document():
            return Text(f"[{block.kind}]")
        case ToolResult():
            return replace(block, content=tuple(map(_marked_content, block.content)))
        case _:
            return block


def _marked_content(part: ResultContent) -> ResultContent:
    return part if isinstance(part, Text) else Text(f"[{part.kind}]")
