"""Facts read from a transcript without a model: requests, files, commands, errors and fixes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reverie.context.facts.calls import Action, action_of, shortened
from reverie.context.facts.outcomes import (
    Command,
    Facts,
    FileTouch,
    HeadAndTail,
    Outcome,
    outcome_of,
)
from reverie.context.facts.sentences import (
    LONGEST_SENTENCE,
    TodoTracker,
    TroubleTracker,
    closing_question,
    decisions,
)
from reverie.context.user_messages import is_request, said
from reverie.core.messages import Message, ToolResult, ToolUse

_FIRST, _LAST = 20, 100
_SHARED = 8
_LONGEST_REQUEST = 120
_LONGEST_TARGET = 100

_VERBS = {"read": "read", "edit": "edited", "write": "wrote", "search": "searched", "run": "ran"}


@dataclass(frozen=True, slots=True)
class _Step:
    verb: str
    targets: tuple[str, ...]
    ending: str = ""

    @property
    def line(self) -> str:
        return f"{self.verb} {', '.join(self.targets)}{self.ending}".rstrip()


class WorkLog:
    def __init__(self) -> None:
        self._steps: HeadAndTail[_Step] = HeadAndTail(_FIRST, _LAST)

    def asked(self, request: str) -> None:
        self._steps.add(_Step("asked:", (shortened(request, _LONGEST_REQUEST),)))

    def record(self, action: Action, outcome: Outcome) -> None:
        step = _step(action, outcome)
        last = self._steps.last
        if last is None or not _may_share(last, step):
            self._steps.add(step)
        elif step.targets[0] not in last.targets:
            self._steps.replace_last(replace(last, targets=last.targets + step.targets))

    @property
    def lines(self) -> tuple[str, ...]:
        head = tuple(step.line for step in self._steps.head)
        tail = tuple(step.line for step in self._steps.tail)
        dropped = self._steps.dropped
        return (*head, f"… {dropped} steps left out …", *tail) if dropped else head + tail


def _step(action: Action, outcome: Outcome) -> _Step:
    target = shortened(action.target, _LONGEST_TARGET)
    if action.kind in ("run", "search"):
        target = f"`{target}`"
    elif action.kind in ("read", "edit", "write"):
        # The end of a path identifies it; the full path is among the files.
        target = shortened("/".join(action.target.split("/")[-2:]), _LONGEST_TARGET)
    return _Step(_VERBS.get(action.kind, action.tool), (target,), _ending(outcome))


def _ending(outcome: Outcome) -> str:
    match outcome.status:
        case "ok":
            return ""
        case "not run":
            return " → not run"
        case "failed":
            return " → failed" if outcome.exit is None else f" → exit {outcome.exit}"


def _may_share(last: _Step, step: _Step) -> bool:
    """Consecutive reads, searches or edits share one line."""
    same = last.verb == step.verb and last.ending == step.ending == ""
    return same and step.verb in ("read", "searched", "edited") and len(last.targets) < _SHARED


MOST_FILES = 200

_MOST_WAITING = 256
_LONGEST_WORDS = 4_000
_LONGEST_PLAN = 20_000


def read_facts(messages: Iterable[Message]) -> Facts:
    """Collect the facts of a whole conversation."""
    collector = FactCollector()
    for message in messages:
        collector.add(message)
    return collector.facts()


class FactCollector:
    """Collects facts from messages, which are added once and in order.

    Add either a summary or the messages it replaced, not both.
    """

    def __init__(self) -> None:
        self._user_texts: list[str] = []
        self._request = ""
        self._files: dict[str, FileTouch] = {}
        self._commands: HeadAndTail[Command] = HeadAndTail(20, 60)
        self._decisions: HeadAndTail[str] = HeadAndTail(10, 30)
        self._troubles = TroubleTracker()
        self._todos = TodoTracker()
        self._log = WorkLog()
        self._plan = ""
        self._question = ""
        self._words = ""
        self._calls = 0
        self._last: str | None = None
        self._waiting: dict[str, tuple[ToolUse, Action]] = {}

    def add(self, message: Message) -> None:
        self._last = message.id
        if message.role == "assistant":
            self._add_reply(message)
        for result in message.tool_results:
            self._add_result(result)
        for text in said(message):
            self._add_user_text(text)

    def facts(self) -> Facts:
        return Facts(
            user_messages=tuple(self._user_texts),
            last_request=self._request,
            files=tuple(self._files.values()),
            commands=self._commands.items,
            troubles=self._troubles.facts,
            decisions=self._decisions.items,
            plan=self._plan,
            todos=self._todos.items,
            open_question=self._question,
            last_words=self._words,
            work_log=self._log.lines,
            tool_calls=self._calls,
            last_message=self._last,
        )

    def _add_user_text(self, text: str) -> None:
        self._user_texts.append(text)
        if not is_request(text):
            return
        self._request = text
        self._question = ""
        self._log.asked(text)

    def _add_reply(self, message: Message) -> None:
        text = message.text.strip()
        if text:
            self._words = text[:_LONGEST_WORDS]
            for sentence in decisions(text):
                if sentence not in self._decisions.items:
                    self._decisions.add(sentence)
        if text or message.tool_uses:
            self._question = "" if message.tool_uses else closing_question(text)
        for use in message.tool_uses:
            self._add_call(use)

    def _add_call(self, use: ToolUse) -> None:
        action = action_of(use)
        self._calls += 1
        self._waiting[use.id] = (use, action)
        if len(self._waiting) > _MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        if action.kind == "question":
            self._question = _question_of(use.input)

    def _add_result(self, result: ToolResult) -> None:
        use, action = self._waiting.pop(result.tool_use_id, (None, None))
        if use is None or action is None:
            return
        outcome = outcome_of(result, action)
        self._log.record(action, outcome)
        self._troubles.record(action, outcome)
        if action.kind == "question":
            self._question = ""
        if action.kind == "run":
            self._commands.add(Command(action.target, outcome.status, outcome.exit))
        elif outcome.status == "ok":
            self._add_success(use, action, result)

    def _add_success(self, use: ToolUse, action: Action, result: ToolResult) -> None:
        match action.kind:
            case "read" | "edit" | "write":
                self._add_file(action)
            case "todos" | "task":
                self._todos.record(use, result)
            case "plan":
                self._plan = str(use.input.get("plan") or "")[:_LONGEST_PLAN]
            case _:
                pass

    def _add_file(self, action: Action) -> None:
        if not action.target:
            return
        known = self._files.pop(action.target, FileTouch(action.target))
        if len(self._files) >= MOST_FILES:
            del self._files[_least_useful(self._files)]
        match action.kind:
            case "edit":
                known = replace(known, edits=known.edits + 1)
            case "write":
                known = replace(known, writes=known.writes + 1)
            case _:
                known = replace(known, reads=known.reads + 1)
        self._files[action.target] = known


def _least_useful(files: Mapping[str, FileTouch]) -> str:
    """The file to forget: unchanged before changed, then the least read, then the oldest."""
    return min(files.values(), key=lambda touch: (touch.changed, touch.reads)).path


def _question_of(arguments: Mapping[str, Any]) -> str:
    questions = arguments.get("questions")
    first = questions[0] if isinstance(questions, list) and questions else arguments
    text = first.get("question") if isinstance(first, dict) else None
    return shortened(text, LONGEST_SENTENCE) if isinstance(text, str) else ""
