"""What an agent may do: memories in its folder alone when fenced, its own folder besides what it was allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from reverie.agent.kit import todo_tool
from reverie.agent.kit.bash import bash_tool
from reverie.agent.kit.editing import write_tool
from reverie.agent.permissions import ALLOWED, Call, Denied, also_within, fenced, only
from reverie.agent.tools import Access


def writing(*paths: Path) -> Call:
    return Call(write_tool(), {"path": "a file", "content": "x"}, "edit", paths)


def test_memories_in_the_folder_may_be_written(tmp_path: Path) -> None:
    assert fenced(tmp_path)(writing(tmp_path / "project_a.md")) == ALLOWED


@pytest.mark.parametrize("name", ["../outside.md", "program.py", ".hidden.md", "", "link.md"])
def test_nothing_else_may_be_written(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    decide = fenced(folder)
    assert isinstance(decide(writing(folder / name)), Denied)
    assert isinstance(decide(writing(folder / "good.md", folder / name)), Denied)


def test_a_write_without_a_path_is_denied(tmp_path: Path) -> None:
    assert isinstance(fenced(tmp_path)(writing()), Denied)


@pytest.mark.parametrize(("access", "allowed"), [("read", True), ("run", False)])
def test_a_shell_may_only_read(tmp_path: Path, access: Access, allowed: bool) -> None:
    decision = fenced(tmp_path)(Call(bash_tool(), {"command": "ls"}, access, ()))
    assert (decision == ALLOWED) is allowed


def test_other_tools_are_denied(tmp_path: Path) -> None:
    assert isinstance(fenced(tmp_path)(Call(todo_tool(), {"todos": []}, "read", ())), Denied)


def test_an_own_folder_may_be_edited_and_nothing_else(tmp_path: Path) -> None:
    own = tmp_path / "own"
    decide = also_within(own, only(()))
    assert decide(writing(own / "notes.md")) == ALLOWED
    assert isinstance(decide(writing(own / "notes.md", tmp_path / "outside.md")), Denied)
    assert isinstance(decide(writing()), Denied)
    run_inside = Call(bash_tool(), {"command": "rm notes.md"}, "run", (own / "notes.md",))
    assert isinstance(decide(run_inside), Denied)
