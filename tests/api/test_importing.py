"""Importing what people have: planned first, provenance kept, duplicates judged."""

import json
import os
from datetime import datetime
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.cli.run import run
from tests.place import Place

from reverie import Memory
from reverie.memory.changes.draft import Prepared

AGENTS = """\
# Agent notes

- Use pnpm, never npm.
- Run `make lint` before each commit.
- The staging database listens on port 6543.

## Style

- Prefer small functions.
- Tests live next to the code they test.
- Deploys happen on Tuesdays.
"""

BASIC_MEMORY = """\
---
title: Coffee machine
type: note
permalink: kitchen/coffee-machine
tags: [kitchen]
---
## Observations

- [fact] The coffee machine is descaled every second Friday #kitchen
"""

CLAUDE_AI = {
    "uuid": "c-1",
    "name": "Servers",
    "chat_messages": [
        {
            "sender": "human",
            "text": "Remember that our staging server is called heron.",
            "created_at": "2026-03-01T10:00:00Z",
        },
        {"sender": "assistant", "text": "Remember that the moon is made of cheese."},
    ],
}
CHATGPT = {
    "title": "Releases",
    "conversation_id": "g-1",
    "current_node": "b",
    "mapping": {
        "a": {
            "parent": None,
            "message": {
                "author": {"role": "user"},
                "content": {"parts": ["Remember that our release manager is called Mira."]},
                "create_time": 1_760_000_000,
            },
        },
        "b": {
            "parent": "a",
            "message": {"author": {"role": "assistant"}, "content": {"parts": ["ok"]}},
        },
        "dropped": {
            "parent": "a",
            "message": {
                "author": {"role": "user"},
                "content": {"parts": ["Remember that our release manager is called Tom."]},
            },
        },
    },
}
MEM0 = {
    "results": [
        {
            "id": "7a1f",
            "memory": "The printer on floor 2 needs a badge",
            "metadata": {"floor": 2, "nested": {"x": 1}},
            "categories": ["office"],
            "created_at": "2026-01-05T00:00:00Z",
        },
        {"id": "7a20", "memory": "The printer on floor 2 needs a badge"},
    ]
}


@pytest.fixture
def memory(place: Place):
    with Memory.open(clock=place.clock) as opened:
        yield opened


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("name", ["AGENTS.md", "CLAUDE.md", "GEMINI.md"])
def test_instruction_files_of_the_project_itself(memory: Memory, place: Place, name: str) -> None:
    path = write(place.root / name, AGENTS)
    plan = memory.import_(path)
    assert (len(plan.files), plan.declined) == (6, ())
    style = memory.read("feedback_prefer_small_functions.md")
    assert style.source == (f"import:{name}, Style",)
    # Another file that says the same is a duplicate.
    again = memory.import_(write(place.root / "notes" / "copy.md", AGENTS))
    assert (again.files, len(again.declined)) == ((), 6)


def test_what_the_project_says_is_still_no_news_elsewhere(memory: Memory, place: Place) -> None:
    write(place.root / "AGENTS.md", AGENTS)
    outcome = memory.import_(
        write(place.root / "notes" / "other.md", "- Deploys happen on Tuesdays.\n")
    )
    [(_, declined)] = outcome.declined
    assert "AGENTS.md already says" in declined.reason


def test_notes_of_basic_memory_and_obsidian(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "kitchen" / "Coffee.md", BASIC_MEMORY)
    write(tmp_path / "Lift.md", "# The lift\n\nThe lift is inspected in June.\n")
    write(tmp_path / ".obsidian" / "app.md", "# Settings\n\nnot a note\n")
    plan = memory.import_(tmp_path)
    names = {entry.name: entry.memory for entry in memory.list()}
    assert set(names) == {"Coffee machine", "The lift"}
    assert "every second Friday" in names["Coffee machine"]
    assert len(plan.files) == 2


@pytest.mark.parametrize(
    ("chat", "said", "source"),
    [
        (CLAUDE_AI, "staging server is called heron", "import:conversations.json#c-1"),
        (CHATGPT, "release manager is called Mira", "import:conversations.json#g-1"),
    ],
)
def test_conversations(
    memory: Memory, tmp_path: Path, chat: object, said: str, source: str
) -> None:
    with ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("conversations.json", json.dumps([chat]))
        archive.writestr("user.json", json.dumps({"id": "me"}))
    memory.import_(tmp_path / "export.zip")
    [entry] = memory.list()
    assert said in entry.memory
    assert memory.read(entry.id).source == (source,)


def test_mem0(memory: Memory, tmp_path: Path) -> None:
    plan = memory.import_(write(tmp_path / "mem0.json", MEM0))
    [entry] = memory.list()
    assert entry.metadata == {"floor": 2, "categories": "office"}
    assert memory.read(entry.id).source == ("import:mem0.json#7a1f",)
    assert len(plan.declined) == 1


def test_a_plan_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    plan = memory.import_(write(tmp_path / "mem0.json", MEM0), dry_run=True)
    assert len(plan.files) == 1
    assert len(memory.list()) == 0


MONDAY = datetime(2026, 11, 16, 12).timestamp()


@pytest.mark.parametrize("inside", ["notes.md", "folder/visits.md"])
def test_relative_dates_count_from_the_day_a_file_was_written(
    memory: Memory, tmp_path: Path, inside: str
) -> None:
    file = tmp_path / inside
    file.parent.mkdir(exist_ok=True)
    file.write_text("Aunt Bea arrives next Friday.\n")
    os.utime(file, (MONDAY, MONDAY))
    plan = memory.import_(file if inside == "notes.md" else file.parent)
    assert [entry.memory for entry in memory.list()] == ["Aunt Bea arrives 2026-11-27."]
    assert [one.what.undated for _, one in plan if isinstance(one.what, Prepared)] == [()]


def test_relative_dates_without_a_day_stay_and_are_told(memory: Memory, tmp_path: Path) -> None:
    export = tmp_path / "export.json"
    export.write_text(json.dumps([{"memory": "Aunt Bea arrives next Friday."}]))
    plan = memory.import_(export, dry_run=True)
    [made] = [one.what for _, one in plan if isinstance(one.what, Prepared)]
    assert made.topic.body.strip() == "Aunt Bea arrives next Friday."
    assert made.undated == ("next Friday",)
    assert (
        "(day of writing unknown, left: next Friday)" in run("import", export, "--dry-run").output
    )


def test_the_command_says_the_same(place: Place) -> None:
    path = write(place.root / "AGENTS.md", AGENTS)
    planned = run("import", str(path), "--dry-run")
    assert planned.stdout.startswith("Would import 6 of 6 memories.")
    done = run("import", str(path), "--yes")
    assert done.stdout.startswith("Imported 6 of 6 memories.")
    assert "undo with" in done.stdout
