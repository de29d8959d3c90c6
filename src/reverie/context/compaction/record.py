"""What lean compaction leaves of a conversation: a record in its own words, and excerpts of the files being worked on. Pure.

The user's messages are carried beside it, word for word. The record holds what the assistant said,
one line for each thing it did, and the error lines it met, all verbatim and in order:

    prose       what the assistant said, answers to its questions, reports of other agents
    - step      a call: what was read, changed, run or searched for
    ! error     a line of a result that tells what went wrong
    [user 3]    the place of the user's third message
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import TypeAlias

from reverie.context.compaction.parts import body_of, is_summary
from reverie.context.facts.calls import Action, action_of, shortened
from reverie.context.facts.outcomes import errors_in, outcome_of
from reverie.context.user_messages import clipped, said
from reverie.core.messages import Attachment, Message, ToolResult, ToolUse
from reverie.core.window import text_tokens

STEP, ERROR = "- ", "! "

LONGEST_TEXT = 400
LONGEST_REPORT = 300
LONGEST_COMMAND = 110
MOST_ERRORS = 3
_SHARED = 6

_VERBS = {"read": "read", "edit": "edited", "write": "wrote", "search": "searched", "run": "ran"}


def record_of(messages: Sequence[Message], room: int, behind: Sequence[Message] = ()) -> str:
    """The record of these messages in at most `room` tokens; earlier summaries are at its start.

    It does not repeat the summaries `behind` it, which stay in the conversation.
    """
    writer = _Writer()
    for message in filter(is_summary, behind):
        writer.read(message)
    for message in messages:
        writer.add(message)
    return "\n".join(_fitting(writer.lines, room))


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """Leave out the oldest steps, then the oldest of the rest, until the record fits."""
    over = sum(text_tokens(line) + 1 for line in lines) - room
    gone: set[int] = set()
    for droppable in (_is_step, lambda line: True):
        for i, line in enumerate(lines):
            if over <= 0:
                break
            if i not in gone and droppable(line):
                gone.add(i)
                over -= text_tokens(line) + 1
    return [line for i, line in enumerate(lines) if i not in gone]


def _is_step(line: str) -> bool:
    return line.startswith(STEP)


@dataclass(slots=True)
class _Writer:
    """Writes the lines of one record."""

    lines: list[str] = field(default_factory=list)
    _waiting: dict[str, tuple[ToolUse, Action]] = field(default_factory=dict)
    _told: str = ""
    _paths: set[str] = field(default_factory=set)
    _errors: set[str] = field(default_factory=set)
    _verb: str = ""
    _targets: list[str] = field(default_factory=list)
    _users: int = 0

    def read(self, summary: Message) -> None:
        """Take note of what an earlier summary says, so that it is not repeated."""
        self._told += f"{body_of(summary)}\n"
        self._know_errors(body_of(summary).split("\n"))

    def add(self, message: Message) -> None:
        if is_summary(message):
            self._earlier(message)
        elif message.role == "assistant":
            self._say(message.text, LONGEST_TEXT)
        else:
            self._user(message)
        for use in message.tool_uses:
            self._waiting[use.id] = (use, action_of(use))
        for result in message.tool_results:
            self._result(result)
        if message.tool_results or message.tool_uses:
            return
        self._verb = ""

    def _earlier(self, message: Message) -> None:
        """The record or summary of everything before."""
        self._users += len(said(message))
        self.lines += body_of(message).split("\n")
        self._know_errors(self.lines)

    def _know_errors(self, lines: Iterable[str]) -> None:
        self._errors.update(line[len(ERROR) :] for line in lines if line.startswith(ERROR))

    def _user(self, message: Message) -> None:
        for _ in said(message):
            self._users += 1
            self.lines.append(f"[user {self._users}]")

    def _say(self, text: str, longest: int) -> None:
        if text.strip():
            self._verb = ""
            self.lines += [line for line in clipped(text.strip(), longest).split("\n") if line]

    def _result(self, result: ToolResult) -> None:
        use, action = self._waiting.pop(result.tool_use_id, (None, None))
        if use is None or action is None:
            return
        outcome = outcome_of(result, action)
        ending = "" if outcome.status == "ok" else f" → {outcome.status}"
        self._step(action, ending)
        for line in errors_in(result, action)[:MOST_ERRORS]:
            if line not in self._errors:
                self._errors.add(line)
                self.lines.append(ERROR + line)
                self._verb = ""
        if action.kind in ("question", "plan") or _is_report(use):
            self._say(result.text, LONGEST_REPORT)

    def _step(self, action: Action, ending: str) -> None:
        """One line per step; consecutive steps of one kind share a line."""
        if action.kind in ("todos", "task"):
            return
        verb = _VERBS.get(action.kind, action.tool)
        target = self._target(action)
        shares = not ending and verb == self._verb and len(self._targets) < _SHARED
        if shares and target in self._targets:
            return
        if shares:
            self._targets.append(target)
            self.lines[-1] = f"{STEP}{verb} {', '.join(self._targets)}"
            return
        self.lines.append(f"{STEP}{verb} {target}{ending}".rstrip())
        self._verb = "" if ending else verb
        self._targets = [target]

    def _target(self, action: Action) -> str:
        """The whole path of a file once, then its end; the first line of a command."""
        if action.kind in ("read", "edit", "write"):
            if action.target in self._paths or action.target in self._told:
                return "/".join(action.target.split("/")[-2:])
            self._paths.add(action.target)
            return action.target
        return f"`{shortened(action.target, LONGEST_COMMAND)}`" if action.target else ""


def _is_report(use: ToolUse) -> bool:
    """Whether the result is another agent's report, which no call can fetch again."""
    return use.name.lower() in ("task", "agent")


# A line number, or the text of the line at that place.
Place: TypeAlias = int | str

_CHANGED_TO = ("new_string", "newText", "new_str", "content")
_BEGINS = ("offset",)
LABEL = "file"
LEAD = ", as it is on disk now:\n"
_RUN = re.compile(r"^\[… from line (\d+) of \d+\]$", re.MULTILINE)
# Lines shown around a place: first a few for every place, then more while there is room.
_NEAR, _WIDE = (4, 10), (15, 45)
# A name found in more lines than this does not identify a place.
_RARE = 4
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_IS_CODE = re.compile(r"_[a-zA-Z]|[a-z][A-Z]|[A-Za-z]\d|[A-Z]{2,}[a-z]")

# How likely a file is to be edited again right after it was touched, and after how many calls that
# halves, by whether it was changed and whether it was named recently.
_ODDS = {
    (False, False): (0.2, 4),
    (False, True): (0.42, 6),
    (True, False): (0.6, 6),
    (True, True): (0.55, 15),
}
# How likely a requested, still unchanged file is to be edited, and for how many calls.
_WAITING, _ASKED_FOR = 0.25, 32


@dataclass(frozen=True, slots=True)
class WorkedOn:
    """A file, whether it was changed, how long ago it was last touched, and where, newest first.

    `changed` is also true for files that an earlier compaction showed, `edited` only for those that a
    call here changed.
    """

    path: str
    changed: bool
    calls_ago: int
    places: tuple[Place, ...]
    edited: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def likelihood(self, *, named: bool, asked_for: bool = False) -> float:
        """How likely an edit is within the next fifteen calls, roughly as in real sessions.

        Three in five files that were just changed are changed again, and one in five that was just
        read; two in five where it was named as well, which lasts longer. A file that the person's
        request names stays likely for a while until it is changed.
        """
        first, half_after = _ODDS[self.changed, named]
        found = first / (1 + self.calls_ago / half_after)
        waits = asked_for and not self.edited and self.calls_ago < _ASKED_FOR
        return max(found, _WAITING) if waits else found


def worked_on(messages: Iterable[Message]) -> list[WorkedOn]:
    """The files of these messages, last touched first, including those an earlier compaction showed."""
    found: dict[str, WorkedOn] = {}
    calls = 0
    response: str | None = None
    for message in reversed(tuple(messages)):
        edited = {path for use in message.tool_uses if (path := _edited(use))}
        for path, changed, places in _touched(message):
            known = found.get(path) or WorkedOn(path, changed=False, calls_ago=calls, places=())
            found[path] = replace(
                known,
                changed=known.changed or changed,
                places=(*known.places, *places),
                edited=known.edited or path in edited,
            )
        # One response may be several messages.
        calls += message.role == "assistant" and (not response or message.response != response)
        response = message.response or response
    return list(found.values())


def _touched(message: Message) -> Iterator[tuple[str, bool, list[Place]]]:
    for use in reversed(message.tool_uses):
        action = action_of(use)
        if action.kind in ("read", "edit", "write") and action.target:
            yield action.target, action.kind != "read", _places(use)
    for block in message.blocks:
        if isinstance(block, Attachment) and block.label == LABEL and LEAD in block.text:
            path, _, shown = block.text.partition(LEAD)
            yield path, True, [int(number) for number in _RUN.findall(shown)]


def _edited(use: ToolUse) -> str:
    action = action_of(use)
    return action.target if action.kind in ("edit", "write") else ""


def spoken_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names of code in these texts, in their order."""
    found = (name for text in texts for name in _NAME.findall(text))
    return tuple(dict.fromkeys(name for name in found if _IS_CODE.search(name)))


def attached(
    path: str, text: str, places: Sequence[Place], room: int, names: Sequence[str] = ()
) -> Attachment:
    """The file as an attachment."""
    return Attachment(LABEL, f"{path}{LEAD}{excerpt(text, places, room, names)}")


def _places(use: ToolUse) -> list[Place]:
    given = use.input
    texts = (given.get(name) for name in _CHANGED_TO)
    lines = [max(text.splitlines(), key=len, default="") for text in texts if isinstance(text, str)]
    starts = (given.get(name) for name in _BEGINS)
    return [*(line for line in lines if line.strip()), *(n for n in starts if isinstance(n, int))]


def excerpt(text: str, places: Sequence[Place], room: int, names: Sequence[str] = ()) -> str:
    """The whole text if it fits; else the lines around each place, the newest first, while they fit.

    `names` were mentioned recently: the next change is probably near them.
    """
    if text_tokens(text) <= room:
        return text
    lines = text.split("\n")
    found = (_line(lines, place) for place in places)
    known = [place for place in found if place is not None]
    at = list(dict.fromkeys(_alternating(known, _spoken_of(lines, names)))) or [0]
    chosen: set[int] = set()
    for before, behind in (_NEAR, _WIDE):
        for number in chain(*(range(i - before, i + behind) for i in at)):
            if 0 <= number < len(lines) and number not in chosen:
                room -= text_tokens(lines[number]) + 2
                if room < 0:
                    return _rendered(lines, chosen)
                chosen.add(number)
    return _rendered(lines, chosen)


def _alternating(one: Sequence[int], other: Sequence[int]) -> Iterator[int]:
    for pair in zip_longest(one, other):
        yield from (place for place in pair if place is not None)


def _spoken_of(lines: Sequence[str], names: Sequence[str]) -> list[int]:
    """The lines that hold a name, if few lines do; in the order of the names."""
    if not names:
        return []
    at: dict[str, list[int]] = {name: [] for name in names}
    for number, line in enumerate(lines):
        for name in set(_NAME.findall(line)) & at.keys():
            at[name].append(number)
    return [number for name in names if len(at[name]) <= _RARE for number in at[name]]


def _line(lines: Sequence[str], place: Place) -> int | None:
    if isinstance(place, int):
        return min(max(place - 1, 0), len(lines) - 1)
    return next((i for i, line in enumerate(lines) if place in line), None)


def _rendered(lines: Sequence[str], chosen: set[int]) -> str:
    """The chosen lines under the number of the first of each run."""
    found: list[str] = []
    last = -1
    for number in sorted(chosen):
        if number != last + 1:
            found.append(f"[… from line {number + 1} of {len(lines)}]")
        found.append(lines[number])
        last = number
    return "\n".join(found)
