"""The list is replaced whole, shown as people write lists, and refused when it makes no sense."""

from __future__ import annotations

import pytest
from tests.agent.workplaces import call

from reverie.agent.tools import Todo, Workplace, objection, render


async def test_the_list_is_replaced_and_shown(desk: Workplace) -> None:
    await call(desk, "Todo", todos=[{"text": "old", "status": "open"}])
    result = await call(
        desk,
        "Todo",
        todos=[
            {"text": "read the spec", "status": "done"},
            {"text": " write the code ", "status": "doing"},
            {"text": "test it", "status": "open"},
        ],
    )
    assert result.text == "[x] read the spec\n[>] write the code\n[ ] test it"
    assert desk.todos == (
        Todo("read the spec", "done"),
        Todo("write the code", "doing"),
        Todo("test it", "open"),
    )


async def test_an_empty_list_clears_it(desk: Workplace) -> None:
    desk.todos = (Todo("x"),)
    assert (await call(desk, "Todo", todos=[])).text == "The list is empty."
    assert desk.todos == ()


@pytest.mark.parametrize(
    ("todos", "wrong"),
    [
        ((), None),
        ((Todo("a", "doing"), Todo("b")), None),
        ((Todo("a"), Todo("  ")), "item 2 has no text"),
        ((Todo("a"), Todo("a", "done")), "'a' is on the list twice"),
        (
            (Todo("a", "doing"), Todo("b", "doing")),
            "only one item can be in progress, not 2: 'a', 'b'",
        ),
    ],
)
def test_what_is_wrong_with_a_list(todos: tuple[Todo, ...], wrong: str | None) -> None:
    assert objection(todos) == wrong


async def test_a_wrong_list_changes_nothing(desk: Workplace) -> None:
    desk.todos = (Todo("x"),)
    result = await call(desk, "Todo", todos=[{"text": " ", "status": "open"}])
    assert (result.is_error, result.text) == (True, "The list was not changed: item 1 has no text")
    assert desk.todos == (Todo("x"),)
    assert (await call(desk, "Todo", todos=[{"text": "a", "status": "later"}])).is_error


def test_rendering() -> None:
    assert render([Todo("a"), Todo("b", "doing")]) == "[ ] a\n[>] b"
