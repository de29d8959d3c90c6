"""Memories about a file come when it is read or changed, those about an error after a failed command."""

import json
from typing import Any

import pytest
from tests.place import Place

from reverie import Agent, Context, Memory
from reverie.core.messages import Text, ToolResult, ToolUse
from reverie.core.request import Reply
from reverie.events import Event, MemoriesSurfaced
from reverie.models.offline import ScriptedModel
from reverie.session.prefetch import touched

ABOUT_FILE = "Amounts in src/ledger.py are kept in cents."
ABOUT_ERROR = "OperationalError 'database is locked' goes away after stopping the sync job."
OTHER = "The office has green chairs."


def call(id_: str, name: str, **arguments: Any) -> tuple[ToolUse, ...]:
    return (ToolUse(id_, name, json.dumps(arguments)),)


@pytest.fixture
def memory(place: Place) -> Memory:
    (place.root / "src").mkdir()
    (place.root / "src" / "ledger.py").write_text("TOTAL = 1\n")
    made = Memory.open(place.root, home=place.home)
    for text in (ABOUT_FILE, ABOUT_ERROR, OTHER):
        made.remember(text, type="project")
    return made


def surfaced(events: list[Event]) -> list[tuple[str, ...]]:
    return [event.files for event in events if isinstance(event, MemoriesSurfaced)]


def texts(model: ScriptedModel, request: int) -> str:
    return "\n".join(str(message) for message in model.requests[request].messages)


async def test_an_agent_is_told_when_it_reads_the_file_and_once(memory: Memory) -> None:
    events: list[Event] = []
    reads = [call(f"r{n}", "Read", path="src/ledger.py") for n in range(2)]
    model = ScriptedModel([*reads, "Done."])
    async with Agent(model, memory=memory, listener=events.append) as agent:
        await agent.ask("Please tidy up a little.")
    assert "in cents" not in texts(model, 0)
    assert texts(model, 1).count("in cents") == texts(model, 2).count("in cents") == 1
    assert OTHER not in texts(model, 2)
    assert len(surfaced(events)) == 1


async def test_an_agent_is_told_after_a_command_failed(memory: Memory) -> None:
    fails = 'echo "sqlite3.OperationalError: database is locked" >&2; exit 1'
    model = ScriptedModel([call("b1", "Bash", command=fails), "Done."])
    async with Agent(model, memory=memory, mode="bypass") as agent:
        await agent.ask("Please run it.")
    assert "stopping the sync job" not in texts(model, 0)
    assert "stopping the sync job" in texts(model, 1)


async def test_what_was_shown_for_the_prompt_is_not_shown_again(memory: Memory) -> None:
    model = ScriptedModel([call("r1", "Read", path="src/ledger.py"), "Done."])
    async with Agent(model, memory=memory) as agent:
        await agent.ask("How are amounts in src/ledger.py kept, in cents?")
    assert texts(model, 0).count("are kept in cents") == 1
    assert texts(model, 1).count("are kept in cents") == 1


async def test_without_recall_nothing_comes(memory: Memory) -> None:
    model = ScriptedModel([call("r1", "Read", path="src/ledger.py"), "Done."])
    off = {"features": {"recall": False}}
    async with Agent(model, memory=memory, settings=off) as agent:
        await agent.ask("Please tidy up a little.")
    assert "in cents" not in texts(model, 1)


async def test_a_program_with_its_own_loop_is_told_too(memory: Memory) -> None:
    history: list[dict[str, Any]] = [{"role": "user", "content": "Please tidy up a little."}]
    async with Context(model=ScriptedModel(), memory=memory) as context:
        await context.prepare(history)
        await context.observe(
            Reply("m1", "scripted", call("t1", "read_file", path="src/ledger.py"), "tool_use")
        )
        history += [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "src/ledger.py"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "TOTAL = 1"}]},
        ]  # fmt: skip
        prepared = await context.prepare(history)
    assert "in cents" in str(prepared.request.messages[-1])


@pytest.mark.parametrize(
    ("use", "said", "failed", "files", "errors"),
    [
        (call("1", "Read", path="a.py"), "x", False, ("a.py",), 0),
        (call("1", "Edit", path="a.py"), "no such text", True, ("a.py",), 0),
        (call("1", "Bash", command="pytest tests/a.py -x"), "ok", False, ("tests/a.py",), 0),
        (call("1", "Bash", command="make"), "boom failed\n[exit 2]", True, (), 1),
        (call("1", "query_database", sql="select"), "ECONNREFUSED", True, (), 1),
        (call("1", "Grep", pattern="a.py"), "Error: x", False, (), 0),
    ],
)
def test_what_calls_touch(
    use: tuple[ToolUse], said: str, failed: bool, files: tuple[str, ...], errors: int
) -> None:
    found, wrong = touched(use, [ToolResult("1", (Text(said),), is_error=failed)])
    assert (found, len(wrong)) == (files, errors)
