"""History snip: rounds that are finished go, and a line stays in their place. Pure.

The user's words in them do not go: the line carries them, word for word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reverie.agent.tools import Access, Arguments, Tool, Workplace
from reverie.context import user_messages
from reverie.context.facts.calls import shortened
from reverie.core.foreign_text import quoted
from reverie.core.messages import Attachment, Message, Text, new_message
from reverie.core.request import ToolSpec
from reverie.core.transcript import rounds, safe_cuts

NAME = "snip"

_MARK = "[Left out here, finished: "
_LONGEST_NOTE = 300


@dataclass(frozen=True, slots=True)
class Snipped:
    """The messages from `first` to `last` are sent as `marker`."""

    first: str
    last: str
    marker: Message


@dataclass(frozen=True, slots=True)
class NotSnipped:
    """Nothing is left out, and why; a model can read it and ask again."""

    reason: str


@dataclass(frozen=True, slots=True)
class SnipRequest:
    """What someone wants left out: the rounds between two marks, or so many before the request.

    A mark is the id of a tool call, or words that stand in one message only.
    """

    note: str
    first: str = ""
    last: str = ""
    rounds: int = 0


def plan(
    messages: Sequence[Message], first: str, last: str, *, note: str, at: float
) -> Snipped | NotSnipped:
    """Leave out the messages from one id to another, if whole rounds lie between them."""
    places = {message.id: i for i, message in enumerate(messages)}
    if first not in places or last not in places:
        missing = first if first not in places else last
        return NotSnipped(f"there is no message {missing!r} in the conversation")
    return _snipped(messages, places[first], places[last] + 1, note, at)


def fulfil(messages: Sequence[Message], wish: SnipRequest, *, at: float) -> Snipped | NotSnipped:
    """The same for a wish: always whole rounds."""
    found = _before_request(messages, wish.rounds) if wish.rounds else _between(messages, wish)
    return found if isinstance(found, NotSnipped) else _snipped(messages, *found, wish.note, at)


def snip_tool(mark: Callable[[SnipRequest], str]) -> Tool:
    """The tool; `mark` fulfils the wish and says in words what came of it."""

    async def run(arguments: Arguments, workplace: Workplace) -> str:
        return mark(
            SnipRequest(
                note=arguments["note"],
                first=arguments.get("from", ""),
                last=arguments.get("to", ""),
                rounds=arguments.get("last_n_rounds", 0),
            )
        )

    def access(arguments: Arguments, workplace: Workplace) -> Access:
        return "read"

    return Tool(SPEC, run, access, lambda arguments: f"leave out: {arguments.get('note', '')}")


SPEC = ToolSpec.of(
    NAME,
    "Leave finished work out of the conversation, to make room. Use it when rounds you no longer "
    "need (a search that is over, a file you have understood) fill the window. What is left out "
    "cannot be seen again here, so put into the note what must not be forgotten. A round is one of "
    "your replies with the results of its tool calls. Say either how many rounds before the user's "
    "current request to leave out, or where to begin and end. The user's messages are always kept.",
    {
        "type": "object",
        "properties": {
            "last_n_rounds": {
                "type": "integer",
                "minimum": 1,
                "description": "so many rounds directly before the user's current request",
            },
            "from": {
                "type": "string",
                "minLength": 1,
                "description": "the first round: a tool call's id, or words found in no other message",
            },
            "to": {
                "type": "string",
                "minLength": 1,
                "description": "the last round, in the same way; if missing, only the first goes",
            },
            "note": {"type": "string", "minLength": 1, "description": "what it was, in one line"},
        },
        "required": ["note"],
        "additionalProperties": False,
    },
)


def _snipped(
    messages: Sequence[Message], start: int, end: int, note: str, at: float
) -> Snipped | NotSnipped:
    span = messages[start:end]
    objection = _objection(messages, start, end)
    if objection:
        return NotSnipped(objection)
    line = Text(f"{_MARK}{quoted(shortened(note, _LONGEST_NOTE))}]")
    said = user_messages.carried(span)
    words = (user_messages.render(said),) if said else ()
    before = messages[start - 1] if start else None
    marker = new_message("user", line, *words, after=before, at=at, origin="reverie")
    return Snipped(span[0].id, span[-1].id, marker)


def _objection(messages: Sequence[Message], start: int, end: int) -> str:
    if start >= end:
        return "the first message comes after the last"
    cuts = safe_cuts(messages)
    if start not in cuts or end not in cuts:
        place = messages[start if start not in cuts else end - 1].id
        return f"at message {place!r} a tool call would be parted from its result, or a reply split"
    if end > len(messages) - len(rounds(messages)[-1]):
        return "the last round is not finished yet"
    if any(map(_stands_for_others, messages[start:end])):
        return "a summary of earlier work is in it, which is all that is left of that work"
    return ""


def _stands_for_others(message: Message) -> bool:
    carries = any(
        isinstance(block, Attachment) and block.label == user_messages.LABEL
        for block in message.blocks
    )
    return carries and message.origin == "reverie" and not message.text.startswith(_MARK)


def _before_request(messages: Sequence[Message], count: int) -> tuple[int, int] | NotSnipped:
    """So many rounds before the last request; not beyond a summary of what came earlier."""
    asked = [i for i, m in enumerate(messages) if m.origin == "user" and user_messages.said(m)]
    end = asked[-1] if asked else 0
    first = max((i for i in range(end) if _stands_for_others(messages[i])), default=-1) + 1
    groups = rounds(messages[first:end])[-count:]
    if not groups:
        return NotSnipped("there are no rounds before the current request")
    return end - sum(map(len, groups)), end


def _between(messages: Sequence[Message], wish: SnipRequest) -> tuple[int, int] | NotSnipped:
    if not wish.first:
        return NotSnipped("say how many rounds to leave out, or where to begin")
    first = _place(messages, wish.first)
    last = _place(messages, wish.last) if wish.last else first
    if isinstance(first, NotSnipped):
        return first
    if isinstance(last, NotSnipped):
        return last
    return _round_at(messages, first)[0], _round_at(messages, last)[1]


def _place(messages: Sequence[Message], mark: str) -> int | NotSnipped:
    """The one message that a mark names."""
    called = [i for i, m in enumerate(messages) if any(use.id == mark for use in m.tool_uses)]
    found = called or [
        i
        for i, message in enumerate(messages)
        if mark in message.text or any(mark in use.arguments for use in message.tool_uses)
    ]
    if len(found) == 1:
        return found[0]
    many = (
        f"{len(found)} messages hold {mark!r}; quote more"
        if found
        else f"no message holds {mark!r}"
    )
    return NotSnipped(many)


def _round_at(messages: Sequence[Message], place: int) -> tuple[int, int]:
    """Where the round around a message begins and ends."""
    end = 0
    for group in rounds(messages):
        end += len(group)
        if place < end:
            break
    return end - len(group), end
