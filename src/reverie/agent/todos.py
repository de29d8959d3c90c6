"""The agent's list of what is to be done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Status: TypeAlias = Literal["open", "doing", "done"]

_BOXES: dict[Status, str] = {"open": "[ ]", "doing": "[>]", "done": "[x]"}


@dataclass(frozen=True, slots=True)
class Todo:
    text: str
    status: Status = "open"


def render(todos: Iterable[Todo]) -> str:
    """The list as people write it: one box a line."""
    return "\n".join(f"{_BOXES[todo.status]} {todo.text}" for todo in todos)


def objection(todos: Iterable[Todo]) -> str | None:
    """What is wrong with a list; None when it is fine."""
    listed = list(todos)
    texts = [todo.text.strip() for todo in listed]
    if not all(texts):
        return f"item {texts.index('') + 1} has no text"
    twice = next((text for n, text in enumerate(texts) if text in texts[:n]), None)
    if twice is not None:
        return f"{twice!r} is on the list twice"
    doing = [todo.text for todo in listed if todo.status == "doing"]
    if len(doing) > 1:
        return f"only one item can be in progress, not {len(doing)}: {', '.join(map(repr, doing))}"
    return None
