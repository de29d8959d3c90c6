"""Calls are checked, permitted and run; every call has a result, whatever happens."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from reverie.agent.permissions import Answer, Asked, Call, Consent, Mode, by_mode, nothing, only
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Access, Arguments, Tool, ToolOutput, Workplace
from reverie.core.messages import ToolUse
from reverie.core.request import ToolSpec
from reverie.errors import InputError, StorageError
from reverie.events import Event, ToolFinished, ToolStarted

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def tool(name: str, run: Any, access: Access = "read", file: str | None = None) -> Tool:
    return Tool(
        ToolSpec.of(name, f"The {name} tool.", SCHEMA),
        run,
        lambda _arguments, _workplace: access,
        lambda arguments: f"{name} {arguments['text']}",
        paths=lambda _arguments, workplace: (workplace.root / file,) if file else (),
    )


async def echo(arguments: Arguments, workplace: Workplace) -> str:
    return str(arguments["text"])


def use(id_: str, name: str, text: str = "hi") -> ToolUse:
    return ToolUse(id_, name, f'{{"text": "{text}"}}')


def box(place: Path, *tools: Tool, mode: Mode = "bypass", **more: Any) -> Toolbox:
    workplace = Workplace(place)
    return Toolbox(tools, workplace, Consent(by_mode(mode, workplace), **more))


async def test_a_call_is_run_and_told(tmp_path: Path) -> None:
    heard: list[Event] = []
    workplace = Workplace(tmp_path)
    toolbox = Toolbox(
        [tool("echo", echo)], workplace, Consent(by_mode("ask", workplace)), heard.append
    )
    [result] = await toolbox.run([use("1", "echo")])
    assert (result.tool_use_id, result.text, result.is_error) == ("1", "hi", False)
    assert heard == [
        ToolStarted("1", "echo", "echo hi"),
        ToolFinished("1", "echo", "echo hi", result),
    ]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (ToolUse("1", "nothing"), "There is no tool 'nothing'. The tools are: echo"),
        (ToolUse("1", "echo", "{"), "are not JSON"),
        (ToolUse("1", "echo", "[1]"), "must be object"),
        (ToolUse("1", "echo", "{}"), "must contain ['text']"),
        (ToolUse("1", "echo", '{"text": 5}'), "the arguments.text must be string"),
        (ToolUse("1", "echo", '{"text": "a", "b": 1}'), "must not contain"),
        (ToolUse("1", "echo", "[" * 100_000), "not JSON"),
    ],
)
async def test_a_wrong_call_gets_a_result_the_model_can_mend(
    tmp_path: Path, call: ToolUse, says: str
) -> None:
    [result] = await box(tmp_path, tool("echo", echo)).run([call])
    assert result.is_error
    assert says in result.text


@pytest.mark.parametrize(
    "error", [ValueError("odd"), StorageError("disk"), ExceptionGroup("g", [OSError()])]
)
async def test_a_tool_that_fails_has_a_result(tmp_path: Path, error: Exception) -> None:
    async def fail(arguments: Arguments, workplace: Workplace) -> str:
        raise error

    results = await box(tmp_path, tool("bad", fail), tool("echo", echo)).run(
        [use("1", "bad"), use("2", "echo")]
    )
    assert [result.is_error for result in results] == [True, False]


async def test_reading_calls_run_together_and_writing_ones_alone_in_order(tmp_path: Path) -> None:
    active: list[str] = []
    most: list[tuple[str, ...]] = []

    async def work(arguments: Arguments, workplace: Workplace) -> str:
        active.append(arguments["text"])
        most.append(tuple(active))
        for _ in range(5):
            await asyncio.sleep(0)
        active.remove(arguments["text"])
        return str(arguments["text"])

    toolbox = box(tmp_path, tool("read", work), tool("write", work, "edit"))
    calls = [
        use("1", "read", "a"),
        use("2", "read", "b"),
        use("3", "write", "c"),
        use("4", "write", "d"),
        use("5", "read", "e"),
        use("6", "read", "f"),
    ]
    results = await toolbox.run(calls)
    assert [result.text for result in results] == list("abcdef")
    assert most == [("a",), ("a", "b"), ("c",), ("d",), ("e",), ("e", "f")]


def test_a_schema_that_is_none_is_refused_when_the_tool_is_declared(tmp_path: Path) -> None:
    wrong = Tool(
        ToolSpec("odd", "", '{"type": "nonsense"}'), echo, lambda a, w: "read", lambda a: "odd"
    )
    with pytest.raises(InputError, match="'odd' is not valid"):
        box(tmp_path, wrong)


INSIDE, OUTSIDE = "a.txt", "../elsewhere/a.txt"
STEERING = ".GIT/config"


@pytest.mark.parametrize(
    ("mode", "access", "file", "outcome"),
    [
        ("ask", "read", None, "allowed"),
        ("ask", "edit", INSIDE, "asked"),
        ("ask", "run", None, "asked"),
        ("ask", "network", None, "asked"),
        ("accept-edits", "edit", INSIDE, "allowed"),
        ("accept-edits", "edit", OUTSIDE, "asked"),
        ("accept-edits", "edit", STEERING, "asked"),
        ("accept-edits", "edit", ".reverie/settings.local.toml", "asked"),
        ("accept-edits", "edit", None, "asked"),
        ("accept-edits", "run", None, "asked"),
        ("plan", "read", None, "allowed"),
        ("plan", "edit", INSIDE, "denied"),
        ("plan", "run", None, "denied"),
        ("bypass", "run", None, "allowed"),
    ],
)
async def test_modes(
    tmp_path: Path, mode: Mode, access: Access, file: str | None, outcome: str
) -> None:
    asked: list[str] = []

    async def ask(call: Call, question: Asked) -> Answer:
        asked.append(call.headline)
        return "no"

    toolbox = box(tmp_path, tool("t", echo, access, file), mode=mode, ask=ask)
    [result] = await toolbox.run([use("1", "t")])
    assert (result.is_error, bool(asked)) == {
        "allowed": (False, False),
        "asked": (True, True),
        "denied": (True, False),
    }[outcome]


async def test_what_was_allowed_for_good_is_not_asked_again(tmp_path: Path) -> None:
    asked: list[str] = []

    async def ask(call: Call, question: Asked) -> Answer:
        asked.append(question.scope)
        return "always"

    toolbox = box(
        tmp_path,
        tool("edit", echo, "edit", INSIDE),
        tool("run", echo, "run"),
        mode="ask",
        ask=ask,
    )
    await toolbox.run([use("1", "edit", "x"), use("2", "edit", "y")])
    await toolbox.run([use("3", "run", "x"), use("4", "run", "x"), use("5", "run", "y")])
    assert asked == ["edits in this project", 'run: {"text": "x"}', 'run: {"text": "y"}']


async def test_without_anybody_to_ask_the_answer_is_no(tmp_path: Path) -> None:
    [result] = await box(tmp_path, tool("run", echo, "run"), mode="ask").run([use("1", "run")])
    assert result.is_error
    assert "did not allow run hi" in result.text


async def test_a_fork_may_do_only_what_it_is_for(tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    toolbox = box(
        tmp_path,
        tool("Read", echo),
        tool("Edit", echo, "edit", "notes.md"),
        tool("Write", echo, "edit", "other.md"),
    )
    calls = [use("1", "Read"), use("2", "Edit"), use("3", "Write")]
    only_notes = await toolbox.fork(Consent(only(("Edit", "Write"), [notes]))).run(calls)
    assert [result.is_error for result in only_notes] == [True, False, True]
    assert "only notes.md may be written" in only_notes[2].text
    assert all(r.is_error for r in await toolbox.fork(Consent(nothing)).run(calls))


async def test_a_fork_works_on_a_clone(tmp_path: Path) -> None:
    async def change(arguments: Arguments, workplace: Workplace) -> ToolOutput:
        workplace.root = workplace.root / "deeper"
        return ToolOutput.of("")

    toolbox = box(tmp_path, tool("cd", change))
    [result] = await toolbox.fork(Consent(only(("cd",)))).run([use("1", "cd")])
    assert result.content == ()
    assert toolbox.workplace.root == tmp_path
