"""Files of agent types on a real disk: what is read, in which order, and what is kept out."""

import os
from pathlib import Path

import pytest

from reverie.subagents.type_files import (
    LARGEST_FILE,
    MOST_FILES,
    AgentFile,
    UnreadFile,
    read_agent_files,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "agents"
    made.mkdir()
    return made


def reason(folder: Path) -> str:
    (found,) = read_agent_files([folder])
    assert isinstance(found, UnreadFile), found
    return found.reason


def test_in_the_order_of_the_folders_then_by_name(tmp_path):
    for name in ("far/b.md", "far/a.md", "near/team/c.md", "near/z.md", "near/team/deep/d.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    (tmp_path / "near/notes.txt").write_text("no agent")
    (tmp_path / "near/.hidden.md").write_text("no agent")
    found = read_agent_files([tmp_path / "far", tmp_path / "absent", tmp_path / "near"])
    names = ("far/a.md", "far/b.md", "near/team/c.md", "near/z.md")
    assert found == tuple(AgentFile(str(tmp_path / name), f"text of {name}") for name in names)


def test_a_link_that_leaves_the_folder_is_refused(folder, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    (folder / "a.md").symlink_to(secret)
    assert "(symlink)" in reason(folder)


def test_a_folder_that_is_a_link_out_is_refused(folder, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.md").write_text("secret")
    (folder / "sub").symlink_to(tmp_path / "other")
    assert "(symlink)" in reason(folder)


def test_a_link_inside_the_folder_is_followed(folder):
    (folder / "a.md").write_text("text")
    (folder / "b.md").symlink_to("a.md")
    assert [found.text for found in read_agent_files([folder])] == ["text", "text"]


def test_a_file_may_be_as_large_as_it_may_be(folder):
    (folder / "a.md").write_text("x" * LARGEST_FILE)
    assert isinstance(read_agent_files([folder])[0], AgentFile)
    (folder / "a.md").write_text("x" * (LARGEST_FILE + 1))
    assert reason(folder) == "it is larger than 65,536 bytes"


def test_what_is_no_text_is_told(folder):
    (folder / "a.md").write_bytes(b"\xff\xfe")
    assert reason(folder) == "it is not UTF-8 text"


def test_a_pipe_does_not_make_us_wait(folder):
    os.mkfifo(folder / "a.md")
    assert "not a plain file" in reason(folder)


def test_a_folder_called_like_a_file_is_told(folder):
    (folder / "a.md").mkdir()
    assert "not a plain file" in reason(folder)


def test_a_file_in_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "agents").write_text("")
    assert "cannot be looked through" in reason(tmp_path / "agents")


def test_too_many_files_are_told(folder):
    for number in range(MOST_FILES + 3):
        (folder / f"a{number:03}.md").write_text("x")
    *read, last = read_agent_files([folder])
    assert len(read) == MOST_FILES
    assert last == UnreadFile(str(folder), "3 files more than the 200 that are read")
