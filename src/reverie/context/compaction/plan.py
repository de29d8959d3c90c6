"""Decides whether to compact, what is summarised and what stays verbatim. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias, assert_never

from reverie.context import NotDue
from reverie.context.compaction import parts as sizes
from reverie.context.compaction.parts import Restorable, Running, is_summary
from reverie.context.facts.outcomes import Todo
from reverie.core.messages import Message
from reverie.core.transcript import rounds, safe_cut, safe_cuts
from reverie.core.window import Window, message_tokens

Trigger: TypeAlias = Literal["automatic", "manual", "reactive", "price"]

MOST_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Due:
    """Compaction is due, and why."""

    reason: str


def due(tokens: int, window: Window, failures: int, *, enabled: bool) -> Due | NotDue:
    """Due past the threshold, unless it is off or failed three times in a row."""
    if not enabled:
        return NotDue("it is switched off (features.autocompact)")
    if failures >= MOST_FAILURES:
        return NotDue(f"it failed {failures} times in a row; it is off for this session")
    if tokens < window.compaction:
        return NotDue(f"{tokens:,} of {window.compaction:,} tokens")
    return Due(f"{tokens:,} tokens passed {window.compaction:,}")


@dataclass(frozen=True, slots=True)
class Whole:
    """Summarise all but the last rounds."""


@dataclass(frozen=True, slots=True)
class Covered:
    """Replace what the session notes cover, up to this message."""

    up_to: str


@dataclass(frozen=True, slots=True)
class From:
    """Summarise from this message on; the cached prefix before it survives."""

    pivot: str


@dataclass(frozen=True, slots=True)
class UpTo:
    """Summarise everything before this message."""

    pivot: str


Mode: TypeAlias = Whole | Covered | From | UpTo

WHOLE = Whole()


@dataclass(frozen=True, slots=True)
class Plan:
    """`before` and `kept` stay verbatim; a summary replaces `compacted`."""

    before: tuple[Message, ...]
    compacted: tuple[Message, ...]
    kept: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class NoPlan:
    """This mode has nothing to compact, and why."""

    reason: str


def plan(messages: Sequence[Message], window: Window, mode: Mode) -> Plan | NoPlan:
    match mode:
        case Whole():
            cut = _before_recent(messages, window)
            nothing = "all of it still waits for an answer"
            return _parted(messages, 0, cut) or NoPlan(nothing)
        case Covered(up_to):
            return _beside_notes(messages, window, up_to)
        case From(pivot):
            first = _place(messages, pivot)
            if first is None:
                return _unknown(pivot)
            nothing = f"nothing that is finished follows message {pivot}"
            return _parted(messages, first, unanswered(messages)) or NoPlan(nothing)
        case UpTo(pivot):
            place = _place(messages, pivot)
            if place is None:
                return _unknown(pivot)
            nothing = f"nothing precedes message {pivot}"
            return _parted(messages, 0, min(place, unanswered(messages))) or NoPlan(nothing)
        case _:
            assert_never(mode)


def unanswered(messages: Sequence[Message]) -> int:
    """Return where the unanswered part begins: a question, or a round with unread results.

    A summary needs no answer, even when no reply follows it.
    """
    begins = position = 0
    for group in rounds(messages):
        spoke = [i for i, message in enumerate(group, 1) if message.role == "assistant"]
        if any(message.tool_uses for message in group):
            begins = position
        elif spoke:
            begins = position + spoke[-1]
        position += len(group)
    return safe_cut(messages, max(begins, _after_summaries(messages)))


def _after_summaries(messages: Sequence[Message]) -> int:
    """Return the index after the last earlier summary; 0 if there is none."""
    return max((i for i, message in enumerate(messages, 1) if is_summary(message)), default=0)


def _before_recent(messages: Sequence[Message], window: Window) -> int:
    """Return the cut before the last rounds that fit a small budget.

    Of a short conversation at most a quarter is kept.

    The last rounds are kept verbatim because exact words (an error, a diff, a number) matter while
    they are being worked on. Keeping more would only bring the next compaction closer.
    """
    total = sum(map(message_tokens, messages))
    budget = min(sizes.scaled(sizes.RECENT, window), total // 4)
    safe = set(safe_cuts(messages))
    first = max(_after_summaries(messages), 1)
    cut = unanswered(messages)
    position = len(messages)
    kept = 0
    for group in reversed(rounds(messages)):
        position -= len(group)
        kept += sum(map(message_tokens, group))
        if kept > budget or position < first:
            break
        if position in safe:
            cut = min(cut, position)
    return cut


def _beside_notes(messages: Sequence[Message], window: Window, up_to: str) -> Plan | NoPlan:
    """Go back from the last message that the notes cover until enough is kept, within a limit."""
    place = _place(messages, up_to, after=True)
    if place is None:
        return NoPlan("the notes cover nothing that is still in the conversation")
    first = _after_summaries(messages)
    enough = sizes.scaled(sizes.BESIDE_NOTES, window)
    most = sizes.scaled(sizes.MOST_BESIDE_NOTES, window)
    tokens = _from_each(messages, message_tokens)
    texts = _from_each(messages, lambda message: bool(message.text.strip()))
    cut = min(place, unanswered(messages))
    for earlier in reversed(safe_cuts(messages)):
        if earlier >= cut:
            continue
        if tokens[cut] >= enough and texts[cut] >= sizes.TEXTS_BESIDE_NOTES:
            break
        if earlier < first or tokens[earlier] > most:
            break
        cut = earlier
    return _parted(messages, 0, cut) or NoPlan("all that the notes cover would stay")


def _from_each(messages: Sequence[Message], size: Callable[[Message], int]) -> list[int]:
    """For every index, the sum of sizes from there to the end."""
    return [*accumulate(map(size, reversed(messages)), initial=0)][::-1]


def _parted(messages: Sequence[Message], first: int, last: int) -> Plan | None:
    if first >= last:
        return None
    return Plan(tuple(messages[:first]), tuple(messages[first:last]), tuple(messages[last:]))


def _place(messages: Sequence[Message], id_: str, *, after: bool = False) -> int | None:
    """Return the safe cut at a message, or after it."""
    for i, message in enumerate(messages):
        if message.id == id_:
            return safe_cut(messages, i + after)
    return None


def _unknown(pivot: str) -> NoPlan:
    return NoPlan(f"there is no message {pivot!r} in the conversation")


How: TypeAlias = Literal["notes", "summary", "extractive", "dropped rounds", "record"]


@dataclass(frozen=True, slots=True)
class Notes:
    """The session notes, if they hold more than their template, and the last message they cover."""

    text: str
    covered: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """The conversation as it is sent, and the session's state that a compaction needs.

    `tokens` is its size, measured where possible; `overhead` is the size of system prompt and tools.
    `transcript` is the path of the full transcript. `todos` is None when the session does not track
    them; they are then read from the messages.
    """

    messages: tuple[Message, ...]
    window: Window
    tokens: int
    at: float
    trigger: Trigger = "automatic"
    overhead: int = 0
    mode: Mode = WHOLE
    transcript: str = ""
    instructions: str = ""
    notes: Notes | None = None
    todos: tuple[Todo, ...] | None = None
    running: tuple[Running, ...] = ()
    extras: tuple[Restorable, ...] = ()


@dataclass(frozen=True, slots=True)
class Compaction:
    """The new conversation: messages up to `kept_up_to`, then `start`, then messages from `kept_from`.

    `last_compacted` is the last message that `start` replaces; `why` is shown to people.
    """

    start: tuple[Message, ...]
    kept_from: str | None
    kept_up_to: str | None
    trigger: Trigger
    how: How
    tokens_before: int
    tokens_after: int
    last_compacted: str
    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The conversation stays as it is, and why.

    `tokens` is the size of the conversation that would have taken its place, where it is known.
    """

    reason: str
    tokens: int | None = None
