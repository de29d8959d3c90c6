"""New files appear with their folders; old ones are replaced only when they were seen."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.agent.workplaces import call

from reverie.agent.kit import files as disk
from reverie.agent.tools import Workplace
from reverie.core.messages import ToolResult
from reverie.errors import InputError


async def write(desk: Workplace, path: str, content: str) -> ToolResult:
    return await call(desk, "Write", path=path, content=content)


async def test_a_new_file_is_made_with_its_folders(desk: Workplace) -> None:
    result = await write(desk, "a/b/c.txt", "one\ntwo\n")
    assert (result.is_error, result.text) == (False, "Created a/b/c.txt (2 lines)")
    path = desk.root / "a" / "b" / "c.txt"
    assert path.read_bytes() == b"one\ntwo\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["c.txt"]


@pytest.mark.parametrize(
    ("content", "size"), [("", "0 lines"), ("a", "1 line"), ("a\n", "1 line"), ("a\nb", "2 lines")]
)
async def test_the_size_is_told_in_lines(desk: Workplace, content: str, size: str) -> None:
    assert (await write(desk, "x", content)).text == f"Created x ({size})"


async def test_a_new_file_has_the_permissions_of_any_new_file(desk: Workplace) -> None:
    before = os.umask(0o027)
    try:
        await write(desk, "x", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((desk.root / "x").stat().st_mode) == 0o640


async def test_what_was_written_may_be_edited_and_written_again(desk: Workplace) -> None:
    await write(desk, "x", "a\n")
    assert not (await write(desk, "x", "b\n")).is_error
    edited = await call(desk, "Edit", path="x", old_text="b", new_text="c")
    assert not edited.is_error
    assert (desk.root / "x").read_text() == "c\n"


async def test_an_old_file_must_have_been_read(desk: Workplace) -> None:
    (desk.root / "x").write_text("precious")
    result = await write(desk, "x", "new")
    assert result.is_error
    assert "has not been read yet" in result.text
    assert (desk.root / "x").read_text() == "precious"


async def test_an_old_file_must_not_have_changed(desk: Workplace) -> None:
    (desk.root / "x").write_text("a")
    await call(desk, "Read", path="x")
    (desk.root / "x").write_text("precious")
    result = await write(desk, "x", "new")
    assert result.is_error
    assert "changed since it was read" in result.text
    assert (desk.root / "x").read_text() == "precious"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\r\n", b"x\r\ny\r\n"),
        (b"a\nb\n", "x\r\n", b"x\n"),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        ("\ufeffa".encode("utf-16-le"), "ü", "\ufeffü".encode("utf-16-le")),
    ],
)
async def test_a_replaced_file_keeps_endings_and_encoding(
    desk: Workplace, before: bytes, content: str, after: bytes
) -> None:
    (desk.root / "x").write_bytes(before)
    await call(desk, "Read", path="x")
    result = await write(desk, "x", content)
    assert result.text.startswith("Replaced x (")
    assert (desk.root / "x").read_bytes() == after


async def test_the_same_again_writes_nothing(desk: Workplace) -> None:
    await write(desk, "x", "a\n")
    before = (desk.root / "x").stat()
    result = await write(desk, "x", "a\n")
    assert result.text == "x already holds exactly this; nothing was written"
    assert (desk.root / "x").stat().st_ino == before.st_ino


async def test_a_link_is_written_through(desk: Workplace, tmp_path: Path) -> None:
    target = tmp_path / "target"
    (desk.root / "link").symlink_to(target)
    assert not (await write(desk, "link", "new")).is_error
    assert (desk.root / "link").is_symlink()
    assert target.read_text() == "new"


async def test_what_cannot_be_written_is_said(desk: Workplace) -> None:
    (desk.root / "folder").mkdir()
    (desk.root / "file").touch()
    (desk.root / "binary").write_bytes(b"\0")
    os.mkfifo(desk.root / "pipe")
    (desk.root / "loop").symlink_to("loop")
    for path, said in (
        ("folder", "is a folder"),
        ("file/inner", "Not a directory"),
        ("binary", "is a binary file"),
        ("pipe", "not a plain file"),
        ("loop", "loop"),
        ("x" * 300, "File name too long"),
    ):
        result = await write(desk, path, "x")
        assert result.is_error
        assert said in result.text


def test_a_rival_who_writes_at_the_last_moment_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("seen")
    before = disk.load(path)
    path.write_text("rival's work")
    with pytest.raises(InputError, match="changed while it was being written"):
        disk.save(path, b"ours", before)
    with pytest.raises(InputError, match="changed while it was being written"):
        disk.save(path, b"ours", None)
    assert path.read_text() == "rival's work"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]
