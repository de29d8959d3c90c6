"""The record of a conversation in its own words: what lean compaction leaves of it. Pure.

The user's messages are carried beside it, word for word. The record holds what the assistant said,
one line for each thing it did, and the error lines it met, all verbatim and in order:

    prose       what the assistant said, answers to its questions, reports of other agents
    - step      a call: what was read, changed, run or searched for
    ! error     a line of a result that tells what went wrong
    [user 3]    the place of the user's third message
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from reverie.context.compaction.parts import body_of, is_summary
from reverie.context.facts.calls import Action, action_of, shortened
from reverie.context.facts.outcomes import errors_in, outcome_of
from reverie.context.user_messages import clipped, said
from reverie.core.messages import Message, ToolResult, ToolUse
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

    What the summaries `behind` it tell, which stay in the conversation, it does not repeat.
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
        """Know what a summary tells that stands before this record."""
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
        """The record or summary that stands for what was before."""
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
        """One line a step; steps of one kind in a row share a line."""
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
    """Whether the result is another agent's report, which no call brings back."""
    return use.name.lower() in ("task", "agent")


def paths_in(messages: Iterable[Message]) -> Iterator[str]:
    """The files of all calls, in order."""
    for message in messages:
        for use in message.tool_uses:
            action = action_of(use)
            if action.kind in ("read", "edit", "write") and action.target:
                yield action.target
