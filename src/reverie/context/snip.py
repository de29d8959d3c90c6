"""History snip replaces finished rounds with a one-line marker; `Folding` applies snip and collapse in a session.

The marker carries the user's messages of these rounds verbatim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reverie.agent.fork import Forks, Task
from reverie.agent.tools import Access, Arguments, Tool, Workplace
from reverie.context import NotDue, collapse, user_messages
from reverie.context.collapse import Collapsed, NoSpan, NotExpanded
from reverie.context.facts.calls import shortened
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import Folded, Unfolded
from reverie.core.foreign_text import quoted
from reverie.core.messages import Attachment, Message, Text, new_message
from reverie.core.request import ToolSpec
from reverie.core.transcript import rounds, safe_cuts
from reverie.core.window import Window
from reverie.events import Announce, LayerFired

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
    """Nothing is left out, and why; the reason is shown to the model, which can ask again."""

    reason: str


@dataclass(frozen=True, slots=True)
class SnipRequest:
    """Which rounds to leave out: those from `first` to `last`, or the last `rounds` before the request.

    `first` and `last` are ids of tool calls, or words that occur in one message only.
    """

    note: str
    first: str = ""
    last: str = ""
    rounds: int = 0


def plan(
    messages: Sequence[Message], first: str, last: str, *, note: str, at: float
) -> Snipped | NotSnipped:
    """Leave out the messages from one id to another, if they are whole rounds."""
    places = {message.id: i for i, message in enumerate(messages)}
    if first not in places or last not in places:
        missing = first if first not in places else last
        return NotSnipped(f"there is no message {missing!r} in the conversation")
    return _snipped(messages, places[first], places[last] + 1, note, at)


def resolve(
    messages: Sequence[Message], request: SnipRequest, *, at: float
) -> Snipped | NotSnipped:
    """Find the whole rounds that a request names, and leave them out."""
    if request.rounds:
        found = _before_request(messages, request.rounds)
    else:
        found = _between(messages, request)
    return found if isinstance(found, NotSnipped) else _snipped(messages, *found, request.note, at)


def snip_tool(mark: Callable[[SnipRequest], str]) -> Tool:
    """Build the tool; `mark` takes the request and returns a message for the model."""

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
    user_texts = user_messages.carried(span)
    carried = (user_messages.render(user_texts),) if user_texts else ()
    before = messages[start - 1] if start else None
    marker = new_message("user", line, *carried, after=before, at=at, origin="reverie")
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
    """Return the last `count` rounds before the user's last request, none before a summary."""
    asked = [i for i, m in enumerate(messages) if m.origin == "user" and user_messages.said(m)]
    end = asked[-1] if asked else 0
    first = max((i for i in range(end) if _stands_for_others(messages[i])), default=-1) + 1
    groups = rounds(messages[first:end])[-count:]
    if not groups:
        return NotSnipped("there are no rounds before the current request")
    return end - sum(map(len, groups)), end


def _between(messages: Sequence[Message], request: SnipRequest) -> tuple[int, int] | NotSnipped:
    if not request.first:
        return NotSnipped("say how many rounds to leave out, or where to begin")
    first = _place(messages, request.first)
    last = _place(messages, request.last) if request.last else first
    if isinstance(first, NotSnipped):
        return first
    if isinstance(last, NotSnipped):
        return last
    return _round_at(messages, first)[0], _round_at(messages, last)[1]


def _place(messages: Sequence[Message], mark: str) -> int | NotSnipped:
    """Return the index of the one message that holds the mark."""
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
    """Return where the round of a message begins and ends."""
    end = 0
    for group in rounds(messages):
        end += len(group)
        if place < end:
            break
    return end - len(group), end


COLLAPSE = "collapse"


@dataclass(slots=True)
class Folding:
    """Applies snip and collapse to a conversation, each if its feature is on."""

    conversation: Conversation
    window: Window
    on: Callable[[str], bool]
    announce: Announce
    forks: Forks | None = None
    _requests: list[SnipRequest] = field(default_factory=list)

    def mark(self, request: SnipRequest) -> str:
        """Queue a request; it is carried out at the next boundary, when no call is open."""
        found = self._resolved(request)
        if isinstance(found, NotSnipped):
            return f"Nothing is left out: {found.reason}"
        self._requests.append(request)
        return "These rounds are left out from the next request on."

    def snip(self) -> None:
        """Carry out the queued snip requests."""
        for request in self._requests:
            found = self._resolved(request)
            if isinstance(found, Snipped):
                record = Folded(found.first, found.last, found.marker, NAME)
                self._fold(record, request.note)
        self._requests.clear()

    async def collapse(self) -> None:
        """Fold the oldest finished rounds under a summary when the window fills up."""
        state = self.conversation.state
        verdict = collapse.due(state.tokens, self.window, enabled=self.on(COLLAPSE))
        if isinstance(verdict, NotDue):
            return
        span = collapse.plan(state.shown, state.tokens, self.window)
        if isinstance(span, NoSpan):
            return
        ask = None if self.forks is None else self._summarize
        done = await collapse.run(span, ask, at=self.conversation.now, announce=self.announce)
        self._fold(Folded(done.first, done.last, done.summary, COLLAPSE), verdict.reason)

    def expand(self, name: str) -> str:
        """Expand the fold of this name."""
        state = self.conversation.state
        folds = [Collapsed(fold.first, fold.last, fold.marker) for fold in state.folds]
        left = collapse.expand(state.messages, folds, name)
        if isinstance(left, NotExpanded):
            return left.reason
        [opened] = [fold for fold in folds if fold not in left]
        self.conversation.expect_break(f"expanded {name}")
        self.conversation.record(Unfolded(opened.summary.id))
        return "It is shown again, where it was, from the next request on."

    def _resolved(self, request: SnipRequest) -> Snipped | NotSnipped:
        return resolve(self.conversation.state.shown, request, at=self.conversation.now)

    def _fold(self, record: Folded, why: str) -> None:
        before = self.conversation.state.tokens
        self.conversation.expect_break(f"{record.kind}: {why}")
        self.conversation.record(record)
        self.announce(LayerFired(record.kind, before, self.conversation.state.tokens, why))

    async def _summarize(self, directive: str) -> str:
        if self.forks is None:
            return ""
        return (await self.forks.run(Task("compact", directive))).reply.text
