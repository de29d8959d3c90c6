"""When extraction runs, over which messages, and when the agent has already written itself."""

from dataclasses import replace
from datetime import date

import pytest
from tests.context.saying import did, edit, model, ran, read, story, user

from reverie.context import NotDue
from reverie.context.user_messages import LABEL
from reverie.core.messages import Attachment, Document, Message, Text, ToolResult, new_message
from reverie.learning.extraction.reading import (
    Conditions,
    Due,
    Utterance,
    agent_wrote,
    due,
    new_messages,
    utterances,
)

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
        (did("Write", file_path=MEMORY), True),
        # Where the home is, is not known: two names of the path at least must fit.
        (did("Write", file_path="~/memory/a.md"), False),
        (did("Write", file_path="~/otter/memory/a.md"), True),
        (did("Write", file_path="~/x/../otter/memory/a.md"), True),
        (did("Write", file_path="~/home/ada/.reverie/projects/otter/memory/a.md"), True),
        (did("NotebookEdit", notebook_path=f"{MEMORY}/a.ipynb"), True),
        (did("Write", file_path=7, path=f"{MEMORY}/a.md"), True),
        (ran("rm ~/memory/a.md"), False),
        (ran("rm $HOME/otter/memory/a.md"), True),
        (ran("rm ${HOME}/otter/memory/a.md"), True),
        (ran("rm $OTHER/otter/memory/a.md"), False),
        (did("log_memory", entry="x"), True),
        (did("log_memory", "full", error=True, entry="x"), False),
        (did("Grep", pattern=MEMORY, path=MEMORY), False),
    ],
)
def test_whether_the_agent_wrote_there_itself(calls: tuple, wrote: bool) -> None:
    assert agent_wrote(story(user("go"), calls, model("done")), MEMORY) is wrote


def test_one_write_that_succeeded_and_one_of_several_folders_are_enough() -> None:
    bad = did("Write", "no", error=True, file_path=f"{MEMORY}/a.md")
    good = did("Write", file_path=f"{MEMORY}/b.md")
    assert agent_wrote(story(user("go"), bad, good), "/elsewhere", f"{MEMORY}/")
    assert not agent_wrote(story(user("go"), bad), "/elsewhere", MEMORY)
    assert not agent_wrote(story(user("go"), good))


PASTED = "```\nI hate tea.\n```"


@pytest.mark.parametrize(
    ("message", "heard"),
    [
        (new_message("user", Text("I like tea.")), [("user", "I like tea.")]),
        (new_message("assistant", Text("Noted.")), [("assistant", "Noted.")]),
        (new_message("user", Text("  ")), []),
        (
            new_message("user", Text(f"I like tea.\n\n{PASTED}")),
            [("user", "I like tea."), ("tool", f"I like tea.\n\n{PASTED}")],
        ),
        (
            new_message("user", Text("typed"), ToolResult("t", (Text("found"),)), origin="tool"),
            [("tool", "typed\nfound")],
        ),
        (
            new_message("user", Text("I like tea."), Attachment("notes", "kept")),
            [("user", "I like tea."), ("tool", "kept")],
        ),
        (
            new_message("user", Text("A summary"), Attachment(LABEL, "> [1]"), origin="reverie"),
            [("tool", "A summary")],
        ),
        (
            new_message("user", Text("out"), Document("text/plain", "a page", "p"), origin="tool"),
            [("tool", "out\na page")],
        ),
        (
            new_message("user", Text("out"), Document("application/pdf", "JV", "p"), origin="tool"),
            [("tool", "out")],
        ),
    ],
)
def test_whose_words_a_message_holds(message: Message, heard: list[tuple[str, str]]) -> None:
    assert [(one.voice, one.text) for one in utterances([message])] == heard


@pytest.mark.parametrize(
    ("at", "day"),
    [
        (0.0, None),
        (1.0, date(1970, 1, 1)),
        (86_399.0, date(1970, 1, 1)),
        (86_400.0, date(1970, 1, 2)),
    ],
)
def test_the_day_of_what_was_said(at: float, day: date | None) -> None:
    message = new_message("user", Text("I like tea."), at=at)
    assert utterances([message]) == (Utterance(message.id, "user", "I like tea.", day),)
