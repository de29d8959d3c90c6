"""Todo: replaces the agent's own todo list."""

from __future__ import annotations

from reverie.agent.tools import Arguments, Todo, Tool, Workplace, always, objection, render
from reverie.core.request import ToolSpec
from reverie.errors import InputError

_SPEC = ToolSpec.of(
    "Todo",
    "Keep a list of what is to be done, for work of three steps or more. Each call gives the whole "
    "list in order; it replaces the one before. Mark one item as doing before you start on it, and "
    "as done as soon as it is, not later. An empty list clears it.",
    {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "maxItems": 100,
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "minLength": 1, "maxLength": 500},
                        "status": {"enum": ["open", "doing", "done"]},
                    },
                    "required": ["text", "status"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["todos"],
        "additionalProperties": False,
    },
)


def todo_tool() -> Tool:
    # A call changes nothing outside the session.
    return Tool(_SPEC, run=_run, access=always("read"), headline=_headline)


def _todos(arguments: Arguments) -> tuple[Todo, ...]:
    return tuple(Todo(item["text"].strip(), item["status"]) for item in arguments["todos"])


def _headline(arguments: Arguments) -> str:
    todos = _todos(arguments)
    doing = next((todo.text for todo in todos if todo.status == "doing"), None)
    done = sum(todo.status == "done" for todo in todos)
    return f"Todo {done}/{len(todos)}" + (f": {doing}" if doing else "")


async def _run(arguments: Arguments, workplace: Workplace) -> str:
    todos = _todos(arguments)
    wrong = objection(todos)
    if wrong:
        raise InputError(f"The list was not changed: {wrong}")
    workplace.todos = todos
    return render(todos) if todos else "The list is empty."
