"""Splits and cuts message lists: API rounds, tool pairs, safe cuts.

A *round* is one request with its reply: the messages of the user side, then those of the model. A
tool use and its result are always kept, dropped or moved together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reverie.core.messages import Message, Text, Thinking, ToolResult, ToolUse
from reverie.core.window import message_tokens

INTERRUPTED = "[Interrupted before this tool finished]"


@dataclass(frozen=True, slots=True)
class Pairing:
    """The problems in the tool traffic of a message list; empty when there are none."""

    unanswered: tuple[str, ...] = ()
    orphaned: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not (self.unanswered or self.orphaned or self.misplaced or self.repeated)


def pairing(messages: Sequence[Message]) -> Pairing:
    """Check that every tool use is answered once, before the next reply."""
    check = _PairCheck()
    response: str | None = None
    for message in messages:
        if message.role == "assistant":
            if not (message.response and message.response == response):
                check.close()
            response = message.response
        for use in message.tool_uses:
            check.opened(use.id)
        for result in message.tool_results:
            check.answered(result.tool_use_id)
    check.close()
    return Pairing(*(tuple(ids) for ids in check.faults))


class _PairCheck:
    """The state of one pass over the tool traffic."""

    def __init__(self) -> None:
        self._open: dict[str, None] = {}
        self._used: set[str] = set()
        self._answered: set[str] = set()
        self.faults: tuple[list[str], list[str], list[str], list[str]] = ([], [], [], [])

    def opened(self, id_: str) -> None:
        if id_ in self._used:
            self.faults[3].append(id_)
        self._used.add(id_)
        self._open[id_] = None

    def answered(self, id_: str) -> None:
        if id_ in self._open:
            del self._open[id_]
            self._answered.add(id_)
            return
        unanswered, orphaned, misplaced, repeated = self.faults
        late = id_ in unanswered
        known = repeated if id_ in self._answered else misplaced if late else orphaned
        known.append(id_)

    def close(self) -> None:
        self.faults[0].extend(self._open)
        self._open.clear()


def rounds(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """Split into API rounds: the request, the response, and the results of its tool calls.

    A tool use and its result share a round, so dropping whole rounds never splits a pair.
    """
    found: list[list[Message]] = []
    for message in messages:
        if not found or _starts_round(found[-1], message):
            found.append([])
        found[-1].append(message)
    return [tuple(group) for group in found]


def _starts_round(group: Sequence[Message], message: Message) -> bool:
    last = group[-1]
    if message.role != "assistant":
        return not message.tool_results and (last.role == "assistant" or bool(last.tool_results))
    asked_for = last.role != "assistant" and not last.tool_results
    return not asked_for and not _same_response(group, message)


def _same_response(earlier: Sequence[Message], message: Message) -> bool:
    """Whether both belong to one response; parallel calls may be separate messages."""
    return message.response is not None and any(m.response == message.response for m in earlier)


def safe_cuts(messages: Sequence[Message]) -> list[int]:
    """Every index i at which the messages can be cut without splitting a tool pair.

    A cut never falls inside one response, so thinking stays with its call.
    """
    last_of = {m.response: i for i, m in enumerate(messages) if m.response is not None}
    cuts = [0]
    open_uses: set[str] = set()
    whole_after = -1
    for i, message in enumerate(messages):
        open_uses |= {use.id for use in message.tool_uses}
        open_uses -= {result.tool_use_id for result in message.tool_results}
        if message.response is not None:
            whole_after = max(whole_after, last_of[message.response])
        if not open_uses and i >= whole_after:
            cuts.append(i + 1)
    return cuts


def safe_cut(messages: Sequence[Message], wanted: int) -> int:
    """The nearest safe cut at or before `wanted`."""
    return max(cut for cut in safe_cuts(messages) if cut <= max(wanted, 0))


def drop_oldest_rounds(messages: Sequence[Message], tokens: int) -> tuple[Message, ...]:
    """Drop whole rounds from the front until `tokens` are freed; the last round always stays."""
    safe = set(safe_cuts(messages))
    start = position = freed = 0
    for group in rounds(messages)[:-1]:
        if freed >= tokens:
            break
        position += len(group)
        if position in safe:
            freed += sum(message_tokens(message) for message in messages[start:position])
            start = position
    return tuple(messages[start:])


def open_tool_uses(messages: Sequence[Message]) -> tuple[ToolUse, ...]:
    """The calls without a result, in order."""
    waiting: dict[str, ToolUse] = {}
    for message in messages:
        waiting |= {use.id: use for use in message.tool_uses}
        for result in message.tool_results:
            waiting.pop(result.tool_use_id, None)
    return tuple(waiting.values())


def answers_to(calls: Iterable[ToolUse], reason: str) -> tuple[ToolResult, ...]:
    """An error result for each call that will never get a real one."""
    return tuple(ToolResult(use.id, (Text(reason),), is_error=True) for use in calls)


def valid_under(message: Message, prefix: str, *, bound: bool) -> Message:
    """The message as it may be sent after `prefix`: without thinking bound to another prefix."""
    if not bound or message.role != "assistant" or message.bound_to == prefix:
        return message
    return without_thinking(message)


def without_thinking(message: Message) -> Message:
    if not any(isinstance(block, Thinking) for block in message.blocks):
        return message
    kept = tuple(block for block in message.blocks if not isinstance(block, Thinking))
    return replace(message, blocks=kept)
