"""The tools that come with the agent: the todo list is here, each other one in its module."""

from __future__ import annotations

from reverie.agent.kit.bash import bash_tool
from reverie.agent.kit.editing import edit_tool, read_tool, write_tool
from reverie.agent.kit.search import glob_tool, grep_tool
from reverie.agent.tools import (
    Arguments,
    Todo,
    Tool,
    Workplace,
    always,
    objection,
    parameters,
    render,
    string,
)
from reverie.core.request import ToolSpec
from reverie.errors import InputError

_ITEM = parameters(
    *("text", "status"),
    text=string(minLength=1, maxLength=500),
    status={"enum": ["open", "doing", "done"]},
)
_TODO = ToolSpec.of(
    "Todo",
    "Keep a list of what is to be done, for work of three steps or more. Each call gives the whole "
    "list in order; it replaces the one before. Mark one item as doing before you start on it, and "
    "as done as soon as it is, not later. An empty list clears it.",
    parameters("todos", todos={"type": "array", "maxItems": 100, "items": _ITEM}),
)


def todo_tool() -> Tool:
    # A call changes nothing outside the session.
    return Tool(_TODO, run=_run_todo, access=always("read"), headline=_headline)


def _todos(arguments: Arguments) -> tuple[Todo, ...]:
    return tuple(Todo(item["text"].strip(), item["status"]) for item in arguments["todos"])


def _headline(arguments: Arguments) -> str:
    todos = _todos(arguments)
    doing = next((todo.text for todo in todos if todo.status == "doing"), None)
    done = sum(todo.status == "done" for todo in todos)
    return f"Todo {done}/{len(todos)}" + (f": {doing}" if doing else "")


async def _run_todo(arguments: Arguments, workplace: Workplace) -> str:
    todos = _todos(arguments)
    wrong = objection(todos)
    if wrong:
        raise InputError(f"The list was not changed: {wrong}")
    workplace.todos = todos
    return render(todos) if todos else "The list is empty."


def standard_kit() -> tuple[Tool, ...]:
    """The tools of every agent. `web_fetch_tool` is not one of them."""
    makers = (read_tool, grep_tool, glob_tool, bash_tool, edit_tool, write_tool, todo_tool)
    return tuple(make() for make in makers)
