"""Exact text is replaced, nothing else changes, and changes by others are not overwritten."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.workplaces import call

from reverie.agent.kit.editing import Replacement, replaced
from reverie.agent.kit.files import TextFile
from reverie.agent.tools import Workplace
from reverie.core.messages import ToolResult
from reverie.errors import InputError


async def edit(desk: Workplace, path: str, old: str, new: str, **more: bool) -> ToolResult:
    return await call(desk, "Edit", path=path, old_text=old, new_text=new, **more)


async def seen(desk: Workplace, name: str, data: bytes) -> Path:
    """A file that was read."""
    path = desk.root / name
    path.write_bytes(data)
    assert not (await call(desk, "Read", path=name)).is_error
    return path


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\nb\nc\n", "b", "B", b"a\nB\nc\n"),
        (b"a\nb\nc\n", "a\nb", "x", b"x\nc\n"),
        (b"a\nb\nc", "c", "c\nd", b"a\nb\nc\nd"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x", b"x\r\n"),
        (b"a\nb\r\nc\n", "c", "d\ne", b"a\nb\r\nd\ne\n"),
        (b"a\nb\r\nc\r\n", "b\nc", "x\ny", b"a\nx\r\ny\r\n"),
        (b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
        ("\ufeffä b\n".encode("utf-16-be"), "ä", "ü", "\ufeffü b\n".encode("utf-16-be")),
        (b"caf\xe9 au lait\n", "lait", "sucre", b"caf\xe9 au sucre\n"),
        (b"a.b*c\n", ".b*", r"\1", b"a\\1c\n"),
        ("🌍 x\n".encode(), "x", "🌒", "🌍 🌒\n".encode()),
    ],
)
async def test_only_what_is_named_changes(
    desk: Workplace, before: bytes, old: str, new: str, after: bytes
) -> None:
    path = await seen(desk, "file", before)
    result = await edit(desk, "file", old, new)
    assert not result.is_error
    assert path.read_bytes() == after


async def test_the_result_shows_the_change_in_few_lines(desk: Workplace) -> None:
    await seen(desk, "file", "".join(f"line {n}\n" for n in range(1, 100)).encode())
    result = await edit(desk, "file", "line 50\n", "fifty\nand a half\n")
    assert result.text == (
        "Edited file (1 place)\n"
        "@@ line 48 @@\n line 48\n line 49\n-line 50\n+fifty\n+and a half\n line 51\n line 52"
    )


async def test_a_large_change_is_told_shortly(desk: Workplace) -> None:
    await seen(desk, "file", b"old\n" * 5_000)
    result = await edit(desk, "file", "old", "new", replace_all=True)
    assert result.text.startswith("Edited file (5,000 places)\n[from line 1:")
    await seen(desk, "other", b"old\n" * 500)
    result = await edit(desk, "other", "old", "new", replace_all=True)
    assert result.text.count("\n") == 61
    assert "more lines]" in result.text


async def test_a_file_must_have_been_read(desk: Workplace) -> None:
    (desk.root / "file").write_text("a")
    result = await edit(desk, "file", "a", "b")
    assert result.is_error
    assert "has not been read yet" in result.text
    assert (desk.root / "file").read_text() == "a"


async def test_a_file_that_changed_since_must_be_read_again(desk: Workplace) -> None:
    path = await seen(desk, "file", b"a\n")
    path.write_text("a\nsomebody else\n")
    result = await edit(desk, "file", "a", "b")
    assert result.is_error
    assert "changed since it was read; read it again" in result.text
    assert path.read_text() == "a\nsomebody else\n"
    await call(desk, "Read", path="file")
    assert not (await edit(desk, "file", "a\n", "b\n")).is_error


async def test_a_file_that_was_only_touched_has_not_changed(desk: Workplace) -> None:
    path = await seen(desk, "file", b"a\n")
    os.utime(path, (1, 1))
    assert not (await edit(desk, "file", "a", "b")).is_error


async def test_one_edit_follows_another_without_reading_again(desk: Workplace) -> None:
    path = await seen(desk, "file", b"a\n")
    assert not (await edit(desk, "file", "a", "b")).is_error
    assert not (await edit(desk, "file", "b", "c")).is_error
    assert path.read_text() == "c\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a", "a", "the same"),
        ("nowhere", "x", "Read the file again"),
        ("1\tdef f():", "x", "Leave out the line numbers"),
        ("  def f():\n  return 1", "x", "At line 1 it stands with other spaces"),
        ("def f():\n    return 2", "x", "Its first line is at line 1, but what follows differs"),
        ("twice", "x", "occurs 2 times in file (lines 3, 4)"),
    ],
)
async def test_a_text_that_cannot_be_placed_is_explained(
    desk: Workplace, old: str, new: str, said: str
) -> None:
    before = b"def f():\n    return 1\ntwice\ntwice a\n"
    path = await seen(desk, "file", before)
    result = await edit(desk, "file", old, new)
    assert result.is_error
    assert said in result.text
    assert path.read_bytes() == before


async def test_every_occurrence_when_asked(desk: Workplace) -> None:
    path = await seen(desk, "file", b"x y x\r\nx\n")
    result = await edit(desk, "file", "x", "z", replace_all=True)
    assert result.text.startswith("Edited file (3 places)")
    assert path.read_bytes() == b"z y z\r\nz\n"


async def test_permissions_stay_and_nothing_is_left_beside_it(desk: Workplace) -> None:
    path = await seen(desk, "script", b"#!/bin/sh\n")
    path.chmod(0o754)
    await edit(desk, "script", "/bin/sh", "/bin/bash")
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert [entry.name for entry in desk.root.iterdir()] == ["script"]


async def test_a_link_stays_a_link(desk: Workplace) -> None:
    (desk.root / "inner").mkdir()
    path = await seen(desk, "inner/file", b"a\n")
    (desk.root / "link").symlink_to("inner/file")
    assert not (await edit(desk, "link", "a", "b")).is_error
    assert (desk.root / "link").is_symlink()
    assert path.read_text() == "b\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing", "There is no file missing."),
        ("folder", "is a folder"),
        ("binary", "binary file"),
    ],
)
async def test_what_is_no_text_file_cannot_be_edited(desk: Workplace, name: str, said: str) -> None:
    (desk.root / "folder").mkdir()
    (desk.root / "binary").write_bytes(b"\0\0")
    desk.knows(desk.root / "binary")
    result = await edit(desk, name, "a", "b")
    assert result.is_error
    assert said in result.text


async def test_letters_the_encoding_cannot_hold_are_refused(desk: Workplace) -> None:
    path = await seen(desk, "file", b"a\n")
    result = await edit(desk, "file", "a", "\ud800")
    assert result.is_error
    assert "cannot hold" in result.text
    assert path.read_bytes() == b"a\n"


_lines = st.lists(
    st.tuples(st.text("ab é", max_size=3), st.sampled_from(["\n", "\r\n", "\r\r\n"])), max_size=8
).map(lambda lines: "".join(text + end for text, end in lines))


@given(_lines, st.text("ab \n", min_size=1, max_size=4), st.text("xy\n", max_size=4))
def test_bytes_outside_the_edit_never_move(text: str, old: str, new: str) -> None:
    """Judged letter by letter: a CRLF is one letter that reads as a newline."""
    letters = re.findall(r"\r\n|.", text, re.DOTALL)
    seen = "".join("\n" if letter == "\r\n" else letter for letter in letters)
    try:
        after, places = replaced(TextFile(text), Replacement(old, new, everywhere=True), "file")
    except InputError:
        assert old not in seen or old == new
        return
    kept, at = [], 0
    for piece in seen.split(old):
        kept.append(re.escape("".join(letters[at : at + len(piece)])))
        at += len(piece) + len(old)
    put_in = re.escape(new).replace("\\\n", "\r?\n")
    assert re.fullmatch(put_in.join(kept), after)
    assert places == len(kept) - 1


@given(st.binary(max_size=60))
def test_any_text_file_comes_out_as_it_went_in(data: bytes) -> None:
    file = TextFile.parse(data)
    if file is not None:
        assert file.render(file.text) == data


@given(st.text("ab\n", max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_replacing_a_text_by_itself_changes_no_byte(text: str, ending: str) -> None:
    """Line endings included: each span gets back those it had."""
    file = TextFile(text.replace("\n", ending))
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1):
            assert file.replaced([(start, end)], text[start:end]) == file.text
