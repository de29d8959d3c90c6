"""When extraction runs, over which messages, and when the agent has already written itself."""

from dataclasses import replace

import pytest
from tests.context.saying import did, edit, model, ran, read, story, user

from reverie.context import NotDue
from reverie.learning.extraction.cursor import Conditions, Due, agent_wrote, due, new_messages

READY = Conditions(
    memory_on=True,
    extract_on=True,
    running=False,
    new_messages=2,
)
MEMORY = "/home/ada/.reverie/projects/otter/memory"


def test_it_is_due_when_every_gate_is_open() -> None:
    assert due(READY) == Due("2 new messages")
    assert isinstance(due(replace(READY, new_messages=1)), Due)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"memory_on": False}, "memory is off"),
        ({"extract_on": False}, "extraction is off"),
        ({"new_messages": 0}, "nothing was said since the last look"),
        ({"turns": 2, "every": 3}, "turn 2 of 3"),
        ({"running": True}, "an extraction is running; this turn waits for it"),
    ],
)
def test_one_closed_gate_is_enough(change: dict[str, object], reason: str) -> None:
    assert due(replace(READY, **change)) == NotDue(reason)


def test_every_third_turn() -> None:
    assert isinstance(due(replace(READY, turns=3, every=3)), Due)


def test_only_what_came_after_the_cursor_is_new() -> None:
    messages = story(user("one"), model("two"), user("three"))
    assert new_messages(messages, messages[1].id) == (messages[2],)
    assert new_messages(messages, messages[2].id) == ()


@pytest.mark.parametrize("cursor", [None, "gone"])
def test_without_its_message_everything_visible_is_new(cursor: str | None) -> None:
    messages = story(user("one"), model("two"))
    assert new_messages(messages, cursor) == tuple(messages)


@pytest.mark.parametrize(
    ("calls", "wrote"),
    [
        (edit(f"{MEMORY}/user_role.md"), True),
        (did("Write", file_path=f"{MEMORY}/../memory/new.md", content="x"), True),
        (did("Write", file_path="~/.reverie/projects/otter/memory/new.md", content="x"), True),
        (did("str_replace_editor", command="create", path=f"{MEMORY}/a.md"), True),
        (ran(f"echo '- x' >> {MEMORY}/MEMORY.md"), True),
        (ran("rm ~/.reverie/projects/otter/memory/old.md"), True),
        (ran(f"cat {MEMORY}/MEMORY.md"), False),
        (ran(f"grep -r tea {MEMORY} | head"), False),
        (ran("make check > out.txt"), False),
        (read(f"{MEMORY}/user_role.md"), False),
        (edit("/home/ada/.reverie/projects/otter/memory-old/a.md"), False),
        (edit("/home/ada/src/main.py"), False),
        (did("Write", "no such folder", error=True, file_path=f"{MEMORY}/a.md"), False),
    ],
)
def test_whether_the_agent_wrote_there_itself(calls: tuple, wrote: bool) -> None:
    assert agent_wrote(story(user("go"), calls, model("done")), MEMORY) is wrote
