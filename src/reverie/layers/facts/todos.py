"""The task list as the last calls left it: written whole, or item by item."""

from __future__ import annotations

import re
from typing import Any

from reverie.core.messages import ToolResult, ToolUse
from reverie.layers.facts.calls import shortened
from reverie.layers.facts.values import Todo

MOST_TODOS = 100

_LONGEST = 300
_NUMBER = re.compile(r"#(\w{1,20})\b")


class TodoBook:
    def __init__(self) -> None:
        self._todos: dict[str, Todo] = {}

    @property
    def items(self) -> tuple[Todo, ...]:
        return tuple(self._todos.values())

    def did(self, use: ToolUse, result: ToolResult) -> None:
        """A list replaces the one before; a single task is added, or changed by its number."""
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
