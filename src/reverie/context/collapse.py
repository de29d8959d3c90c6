"""Context collapse: finished rounds are folded under a summary that can be expanded again.

It manages the window in large, rare batches and replaces autocompact. The folded messages stay in
the transcript under their ids; expanding shows them at their old place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from reverie.agent.tools import Access, Arguments, Tool, Workplace
from reverie.context import NotDue, user_messages
from reverie.context.facts import read_facts
from reverie.context.facts.calls import shortened
from reverie.context.facts.outcomes import Facts
from reverie.context.user_messages import clipped
from reverie.core.foreign_text import quoted
from reverie.core.messages import Attachment, Message, Text, new_message
from reverie.core.request import ToolSpec
from reverie.core.transcript import rounds, safe_cuts
from reverie.core.window import Window, block_tokens, message_tokens
from reverie.errors import ReverieError
from reverie.events import Announce, TroubleNoted, no_listener

# Runs a fork on the conversation's exact prefix: takes a task, returns the text of the reply.
Summarizer: TypeAlias = Callable[[str], Awaitable[str]]

_MARK = "[Folded: "

# After folding, the conversation is at most this share of the warning threshold.
_GOAL = 1 / 2

# The most recent rounds are never folded: this share of the warning threshold.
_OPEN = 1 / 4

# Freeing fewer tokens than this does not pay for the changed prefix.
_LEAST = 256

_SUMMARY_TOKENS = 1_500
_WORDS = 600
_LAST_STEPS = 40
_LONGEST_LINE = 400
_QUOTED = 200

DIRECTIVE = """\
Part of the conversation above is finished and is about to be folded away: it begins where {first} \
and ends where {last}. Write what must be known of this part to go on without it: what was asked \
and done, what was found, decided and why, names of files and functions, commands and numbers that \
will be needed, errors and what mended them. At most {words} words, plain text, nothing else. Call no \
tool, and do none of the work."""


@dataclass(frozen=True, slots=True)
class Due:
    reason: str


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive finished rounds, and the message before them."""

    messages: tuple[Message, ...]
    before: Message | None = None


@dataclass(frozen=True, slots=True)
class NoSpan:
    """Nothing can be folded, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The messages from `first` to `last` are sent as `summary` until it is expanded."""

    first: str
    last: str
    summary: Message


@dataclass(frozen=True, slots=True)
class NotExpanded:
    reason: str


def conflict(on: Callable[[str], bool]) -> str | None:
    """Why the switches contradict each other; None when they do not."""
    if on("collapse") and on("autocompact"):
        return (
            "features.collapse and features.autocompact are both on, and only one of them can manage "
            "the window: switch one of them off"
        )
    return None


def due(tokens: int, window: Window, *, enabled: bool) -> Due | NotDue:
    """Due from the warning threshold on, which is below the compaction threshold."""
    if not enabled:
        return NotDue("it is switched off (features.collapse)")
    if tokens < window.warning:
        return NotDue(f"{tokens:,} of {window.warning:,} tokens")
    return Due(f"{tokens:,} tokens passed {window.warning:,}")


def plan(messages: Sequence[Message], tokens: int, window: Window) -> Span | NoSpan:
    """Select the oldest finished rounds whose folding brings the conversation well below the threshold.

    Existing folds are folded again only if the rest does not free enough.
    """
    wanted = tokens - int(window.warning * _GOAL)
    end = _open_from(messages, int(window.warning * _OPEN))
    fresh = max((i for i, m in enumerate(messages[:end], 1) if _stands_for_others(m)), default=0)
    for start in (fresh, 0):
        span = Span(
            tuple(messages[start : _enough(messages, start, end, wanted)]),
            messages[start - 1] if start else None,
        )
        if _saved(span) >= max(_LEAST, min(wanted // 2, 2 * _SUMMARY_TOKENS)):
            return span
    return NoSpan("too little of the conversation is finished")


async def run(
    span: Span, ask: Summarizer | None, *, at: float, announce: Announce = no_listener
) -> Collapsed:
    """Fold a span under the model's summary, or under one extracted from the transcript."""
    text = ""
    if ask is not None:
        try:
            text = (await ask(directive(span))).strip()
        except (ReverieError, TimeoutError) as error:
            announce(TroubleNoted("collapse.summary", f"{error!r}; made without a model"))
    return collapsed(span, text or without_model(span), at=at)


def collapsed(span: Span, summary_text: str, *, at: float) -> Collapsed:
    """Replace the span by a summary, which carries the user's messages of the span verbatim."""
    first, last = span.messages[0], span.messages[-1]
    count = len(rounds(span.messages))
    head = f"{_MARK}{count} finished rounds; to see them again, expand {handle(first.id)!r}]"
    room = min(_SUMMARY_TOKENS, _tokens(span.messages) // 4)
    text = f"{head}\n{clipped(quoted(summary_text), room)}"
    user_texts = user_messages.carried(span.messages)
    carried = (user_messages.render(user_texts),) if user_texts else ()
    summary = new_message("user", Text(text), *carried, after=span.before, at=at, origin="reverie")
    return Collapsed(first.id, last.id, summary)


def handle(id_: str) -> str:
    """Return the short name of a fold: the start of its first message's id."""
    return id_[:8]


def applied(messages: Sequence[Message], folds: Sequence[Collapsed]) -> tuple[Message, ...]:
    """Return the conversation as it is sent. Folds are applied in order, so a fold can hold another."""
    shown = tuple(messages)
    for fold in folds:
        ids = [message.id for message in shown]
        if fold.first in ids and fold.last in ids:
            start, end = ids.index(fold.first), ids.index(fold.last) + 1
            shown = (*shown[:start], fold.summary, *shown[end:])
    return shown


def expand(
    messages: Sequence[Message], folds: Sequence[Collapsed], name: str
) -> tuple[Collapsed, ...] | NotExpanded:
    """Remove the fold of this name; a fold inside another one cannot be expanded before it."""
    shown = {message.id for message in applied(messages, folds)}
    visible = [fold for fold in folds if fold.summary.id in shown]
    for fold in visible:
        if name in (handle(fold.first), fold.summary.id):
            return tuple(other for other in folds if other is not fold)
    known = ", ".join(repr(handle(fold.first)) for fold in visible) or "nothing"
    return NotExpanded(f"nothing is folded under {name!r}; what can be expanded: {known}")


def directive(span: Span) -> str:
    first, last = (_named(span.messages[i]) for i in (0, -1))
    return DIRECTIVE.format(first=first, last=last, words=_WORDS)


def without_model(span: Span) -> str:
    """Summarise a span from the facts in the transcript."""
    facts = read_facts(span.messages)
    lines = [
        f"- {line}" for line in (*facts.decisions, *_files(facts), *facts.work_log[-_LAST_STEPS:])
    ]
    last = shortened(facts.last_words, _LONGEST_LINE)
    return "\n".join([*lines, *([f"The assistant's last words: {last}"] if last else [])])


def _files(facts: Facts) -> list[str]:
    changed = [touch.path for touch in facts.files if touch.changed]
    return [f"changed: {', '.join(changed)}"] if changed else []


def _open_from(messages: Sequence[Message], tokens: int) -> int:
    """Return where the unfolded last rounds begin: at least one round, and as many as fit."""
    safe = set(safe_cuts(messages))
    position = len(messages)
    begin: int | None = None
    size = 0
    for group in reversed(rounds(messages)):
        position -= len(group)
        size += _tokens(group)
        if begin is not None and size > tokens:
            break
        if position in safe:
            begin = position
    return begin or 0


def _enough(messages: Sequence[Message], start: int, end: int, wanted: int) -> int:
    """Return the first safe cut that frees `wanted` tokens after `start`, or else the last cut."""
    sums = [*accumulate(map(message_tokens, messages[start:end]), initial=0)]
    cuts = [cut for cut in safe_cuts(messages) if start < cut <= end]
    return next((cut for cut in cuts if sums[cut - start] >= wanted), cuts[-1] if cuts else start)


def _saved(span: Span) -> int:
    """The least that folding frees: the user's messages stay, and the summary takes a quarter."""
    user_texts = user_messages.carried(span.messages)
    carried = block_tokens(user_messages.render(user_texts)) if user_texts else 0
    return _tokens(span.messages) * 3 // 4 - carried


def _stands_for_others(message: Message) -> bool:
    carries = any(
        isinstance(block, Attachment) and block.label == user_messages.LABEL
        for block in message.blocks
    )
    return message.origin == "reverie" and (carries or message.text.startswith(_MARK))


def _named(message: Message) -> str:
    """Describe a message so that a model can find it."""
    words = shortened(message.text, _QUOTED)
    if words:
        who = "the assistant" if message.role == "assistant" else "the user side"
        return f"{who} says “{words}”"
    calls = ", ".join(use.name for use in message.tool_uses)
    return f"{calls} is called" if calls else "tool results are given"


def _tokens(messages: Sequence[Message]) -> int:
    return sum(map(message_tokens, messages))


def expand_tool(expand: Callable[[str], str]) -> Tool:
    """Build the tool that expands a fold; `expand` does it and returns a message for the model."""

    async def run(arguments: Arguments, workplace: Workplace) -> str:
        return expand(arguments["name"])

    def access(arguments: Arguments, workplace: Workplace) -> Access:
        return "read"

    return Tool(EXPAND, run, access, lambda arguments: f"expand {arguments.get('name', '')}")


EXPAND = ToolSpec.of(
    "expand",
    "Open a part of the conversation that was folded under a summary, when the summary does not "
    "tell what you need. It is shown again where it was, and takes its room again.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "as the summary gives it"}
        },
        "required": ["name"],
        "additionalProperties": False,
    },
)
