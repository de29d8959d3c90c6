"""A fenced agent reads what it likes, and writes memories in its folder alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from reverie.agent.kit import todo_tool
from reverie.agent.kit.bash import bash_tool
from reverie.agent.kit.editing import write_tool
from reverie.agent.permissions import ALLOWED, Call, Denied, fenced
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
