"""Decisions and open questions in an assistant's text, and trackers of todos and failures."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from reverie.context.facts.calls import Action, shortened
from reverie.context.facts.outcomes import HeadAndTail, Outcome, Todo, Trouble
from reverie.core.messages import ToolResult, ToolUse

LONGEST_SENTENCE = 300

# Longer texts are reports and quotations; decisions are near their beginning.
_READ_UP_TO = 20_000

_FENCES = ("```", "~~~")
_CLOSING = 2_000
_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+|\n+")
_SHALL = r"\b(?:I'll|I’ll|I will|I'm going to|we'll|we’ll|we will|let's|let’s|let me|I’m going to)"
_DECISION = re.compile(
    r"\b(?:I|we)(?:'ve|’ve| have)? (?:decided|chose|chosen|opted|settled on|agreed)\b"
    r"|^\W*decision\W*:"
    r"|\b(?:I'm|I’m|I am|we're|we’re|we are) going with\b"
    rf"|{_SHALL} (?:go|stick) with\b"
    rf"|{_SHALL} (?:just )?(?:use|keep|avoid|leave|skip)\b.{{1,200}}\b(?:because|so that|since)\b"
    rf"|{_SHALL} .{{1,200}}\b(?:instead|rather than)\b"
    r"|\bthe (?:right|cleanest|simplest|best|better) (?:approach|fix|solution) is to\b"
    r"|\bthe plan is to\b",
    re.IGNORECASE,
)
# Looking at something first is not a decision.
_LOOKING = re.compile(
    rf"{_SHALL} (?:\w+ )?(?:check|see|verify|look|read|find|try|confirm|search|explore)\b|\bto:$",
    re.IGNORECASE,
)


def decisions(text: str) -> tuple[str, ...]:
    """Sentences that state a decision, in order. A missed one is better than a wrong one."""
    prose = _without_code(text[:_READ_UP_TO])
    found = (sentence.strip() for sentence in _SENTENCE_END.split(prose))
    return tuple(
        sentence
        for sentence in found
        if len(sentence) <= LONGEST_SENTENCE
        and not sentence.endswith("?")
        and _DECISION.search(sentence)
        and not _LOOKING.search(sentence)
    )


def closing_question(text: str) -> str:
    """The question a text ends with; empty when it does not end with one."""
    last = text.rstrip()[-_CLOSING:].rpartition("\n")[2].strip(" *_")
    if not last.endswith(("?", "？")):
        return ""
    return shortened(_SENTENCE_END.split(last)[-1].lstrip(" *_"), LONGEST_SENTENCE)


def _without_code(text: str) -> str:
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.lstrip().startswith(_FENCES):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


MOST_TODOS = 100

_LONGEST = 300
_NUMBER = re.compile(r"#(\w{1,20})\b")


class TodoTracker:
    def __init__(self) -> None:
        self._todos: dict[str, Todo] = {}

    @property
    def items(self) -> tuple[Todo, ...]:
        return tuple(self._todos.values())

    def record(self, use: ToolUse, result: ToolResult) -> None:
        """Apply a call: a list replaces the previous one; a single task is added or updated by number."""
        arguments = use.input
        whole = arguments.get("todos", arguments.get("items"))
        if isinstance(whole, list):
            found = (_todo(item) for item in whole[:MOST_TODOS])
            self._todos = {str(n): todo for n, todo in enumerate(found, 1) if todo is not None}
        elif use.name.lower() == "taskcreate":
            self._create(arguments, result.text)
        elif use.name.lower() == "taskupdate":
            self._update(arguments)

    def _create(self, arguments: dict[str, Any], answer: str) -> None:
        todo = _todo(arguments)
        number = _NUMBER.search(answer[:_LONGEST])
        if todo is not None and len(self._todos) < MOST_TODOS:
            self._todos[number[1] if number else str(len(self._todos) + 1)] = todo

    def _update(self, arguments: dict[str, Any]) -> None:
        number = str(arguments.get("taskId"))
        known = self._todos.get(number)
        if known is None:
            return
        status = str(arguments.get("status") or known.status)
        text = arguments.get("subject")
        self._todos[number] = Todo(text if isinstance(text, str) and text else known.text, status)
        if status == "deleted":
            del self._todos[number]


def _todo(item: object) -> Todo | None:
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, dict):
        return None
    texts = (item.get(key) for key in ("content", "text", "subject", "title"))
    text = next((text for text in texts if isinstance(text, str) and text.strip()), None)
    if text is None:
        return None
    status = item.get("status", item.get("state"))
    return Todo(shortened(text, _LONGEST), status if isinstance(status, str) else "pending")


_FIRST, _LAST = 10, 30
_MOST_OPEN = 40
_MOST_CHANGED = 5


@dataclass(slots=True)
class _Open:
    """A failure that is not resolved yet."""

    action: Action
    parts: frozenset[str]
    lines: tuple[str, ...]
    times: int = 1
    changed: dict[str, None] = field(default_factory=dict)
    fixed_by: str = ""

    def as_fact(self) -> Trouble:
        changed = tuple(self.changed)[-_MOST_CHANGED:] if self.fixed_by else ()
        return Trouble(self.action.headline, self.lines, self.times, changed, self.fixed_by)


class TroubleTracker:
    def __init__(self) -> None:
        self._all: HeadAndTail[_Open] = HeadAndTail(_FIRST, _LAST)
        self._open: list[_Open] = []

    def record(self, action: Action, outcome: Outcome) -> None:
        match outcome.status:
            case "failed":
                self._failed(action, outcome.lines)
            case "ok" if not outcome.lines:
                self._worked(action)
            case _:
                pass

    @property
    def facts(self) -> tuple[Trouble, ...]:
        return tuple(trouble.as_fact() for trouble in self._all.items)

    def _failed(self, action: Action, lines: tuple[str, ...]) -> None:
        for known in self._open:
            if known.action == action and known.lines == lines:
                known.times += 1
                return
        trouble = _Open(action, action.parts, lines)
        self._all.add(trouble)
        self._open = [*self._open, trouble][-_MOST_OPEN:]

    def _worked(self, action: Action) -> None:
        """Mark failures as resolved by this success, and note changed files as a possible reason."""
        parts = action.parts
        still: list[_Open] = []
        for trouble in self._open:
            if trouble.parts and trouble.parts <= parts:
                trouble.fixed_by = action.headline
                continue
            if action.kind in ("edit", "write"):
                trouble.changed.pop(action.target, None)
                trouble.changed[action.target] = None
            still.append(trouble)
        self._open = still
