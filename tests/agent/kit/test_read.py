"""Files as lines, pictures and documents; and what is said when there is none to read."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from tests.agent.workplaces import call, workplace

from reverie.agent.kit.editing import LARGEST_DOCUMENT, LARGEST_IMAGE
from reverie.agent.tools import Workplace
from reverie.core.messages import Document, Image

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def read(desk: Workplace, path: str, **arguments: int) -> str:
    return (await call(desk, "Read", path=path, **arguments)).text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"one\ntwo\n", "1\tone\n2\ttwo"),
        (b"one\n\ntwo", "1\tone\n2\t\n3\ttwo"),
        (b"\n", "1\t"),
        (b"", "[the file is empty]"),
        ("grüße 🌍\n".encode(), "1\tgrüße 🌍"),
        (b"a\x0bb\x0cc\xe2\x80\xa8d\n", "1\ta\x0bb\x0cc\u2028d"),
        (b"a\r\nb\r\n", "1\ta\n2\tb\n[lines end in CRLF; edits keep that]"),
        (b"a\r\nb\n", "1\ta\n2\tb\n[some lines end in CRLF, some in LF; edits keep each as it is]"),
        (b"\xef\xbb\xbfa\n", "1\ta\n[UTF-8 with a byte order mark; edits keep it]"),
        (
            "\ufeffä\n".encode("utf-16-le"),
            "1\tä\n[UTF-16-LE with a byte order mark; edits keep it]",
        ),
        (b"caf\xe9\n", "1\tcaf�\n[bytes that are not UTF-8 are shown as �; edits keep them]"),
        (b'{"cells": []}', '1\t{"cells": []}'),
    ],
)
async def test_text_comes_with_numbers_and_what_cannot_be_seen(
    desk: Workplace, data: bytes, expected: str
) -> None:
    (desk.root / "file").write_bytes(data)
    assert await read(desk, "file") == expected


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ({"limit": 2}, "1\tl1\n2\tl2\n[lines 1–2 of 5; continue with offset 3]"),
        ({"offset": 4}, "4\tl4\n5\tl5\n[lines 4–5 of 5]"),
        ({"offset": 2, "limit": 1}, "2\tl2\n[lines 2–2 of 5; continue with offset 3]"),
        ({"offset": 9}, "[the file has 5 lines: there is nothing from line 9 on]"),
        ({"offset": 1, "limit": 99}, "1\tl1\n2\tl2\n3\tl3\n4\tl4\n5\tl5"),
    ],
)
async def test_part_of_a_file(desk: Workplace, window: dict[str, int], expected: str) -> None:
    (desk.root / "file").write_text("l1\nl2\nl3\nl4\nl5\n")
    assert await read(desk, "file", **window) == expected


async def test_a_long_file_stops_at_two_thousand_lines(desk: Workplace) -> None:
    (desk.root / "file").write_text("x\n" * 3_000)
    text = await read(desk, "file")
    assert text.endswith("2000\tx\n[lines 1–2,000 of 3,000; continue with offset 2001]")


async def test_a_heavy_file_stops_when_it_is_heavy(desk: Workplace) -> None:
    (desk.root / "file").write_text(("y" * 1_990 + "\n") * 1_000)
    text = await read(desk, "file")
    assert 250_000 < len(text) < 257_000
    last = int(text.rsplit("offset ", 1)[1].rstrip("]"))
    assert text.count("\n") == last - 1


async def test_a_long_line_is_cut_and_says_so(desk: Workplace) -> None:
    (desk.root / "file").write_text("z" * 12_345)
    assert await read(desk, "file") == "1\t" + "z" * 2_000 + "… [10,345 more characters]"


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
async def test_an_image_is_shown_whatever_its_name(
    desk: Workplace, head: bytes, media_type: str
) -> None:
    (desk.root / "picture.txt").write_bytes(head)
    result = await call(desk, "Read", path="picture.txt")
    assert result.content == (Image(media_type, base64.b64encode(head).decode()),)


async def test_a_pdf_is_a_document(desk: Workplace) -> None:
    (desk.root / "a.pdf").write_bytes(b"%PDF-1.7 ...")
    result = await call(desk, "Read", path="a.pdf")
    data = base64.b64encode(b"%PDF-1.7 ...").decode()
    assert result.content == (Document("application/pdf", data, title="a.pdf"),)


@pytest.mark.parametrize(("head", "most"), [(PNG, LARGEST_IMAGE), (b"%PDF-", LARGEST_DOCUMENT)])
async def test_a_huge_picture_is_refused(desk: Workplace, head: bytes, most: int) -> None:
    (desk.root / "big").write_bytes(head + bytes(most))
    result = await call(desk, "Read", path="big")
    assert result.is_error
    assert "too large to show" in result.text
    assert "make a smaller copy" in result.text


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"a\0b", b"\xff\xfe\x00\xd8a"])
async def test_a_binary_file_is_refused_clearly(desk: Workplace, data: bytes) -> None:
    (desk.root / "file").write_bytes(data)
    result = await call(desk, "Read", path="file")
    assert result.is_error
    assert "binary file" in result.text
    assert not desk.reads.recent()


async def test_a_giant_is_refused_unread(desk: Workplace) -> None:
    with (desk.root / "giant").open("wb") as file:
        file.truncate(65_000_000)
    result = await call(desk, "Read", path="giant")
    assert result.is_error
    assert "too large" in result.text
    assert "Grep" in result.text


async def test_a_folder_gives_its_names(desk: Workplace) -> None:
    (desk.root / "src" / "inner").mkdir(parents=True)
    (desk.root / "src" / "a.py").touch()
    assert await read(desk, "src") == "src is a folder with 2 entries:\na.py\ninner/"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("readme.md", "There is no file readme.md. Did you mean README.md?"),
        ("src/app.ts", "There is no file src/app.ts. Did you mean src/app.py?"),
        ("src/apq.py", "There is no file src/apq.py. Did you mean src/app.py?"),
        ("zzzzz", "There is no file zzzzz."),
        ("no/where/x", "There is no file no/where/x. The nearest folder that exists is ."),
    ],
)
async def test_a_missing_file_is_answered_with_near_names(
    desk: Workplace, asked: str, said: str
) -> None:
    (desk.root / "README.md").touch()
    (desk.root / "src").mkdir()
    (desk.root / "src" / "app.py").touch()
    result = await call(desk, "Read", path=asked)
    assert (result.is_error, result.text.rstrip(".")) == (True, said.rstrip("."))


async def test_pipes_and_devices_are_refused_at_once(desk: Workplace) -> None:
    os.mkfifo(desk.root / "pipe")
    for path in ("pipe", "/dev/zero"):
        result = await call(desk, "Read", path=path)
        assert result.is_error
        assert "not a plain file" in result.text


async def test_paths_start_at_the_root_or_at_home(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "note").write_text("home")
    desk = workplace(tmp_path / "root", HOME=str(tmp_path))
    assert await read(desk, "~/note") == "1\thome"
    assert await read(desk, "../note") == "1\thome"
    assert await read(desk, str(tmp_path / "note")) == "1\thome"


@pytest.mark.parametrize("path", ["", "a\0b"])
async def test_what_is_no_path_is_refused(desk: Workplace, path: str) -> None:
    result = await call(desk, "Read", path=path)
    assert (result.is_error, result.text) == (True, f"{path!r} is not a path")


async def test_a_read_is_remembered_past_links(desk: Workplace) -> None:
    (desk.root / "file").write_text("x")
    (desk.root / "link").symlink_to("file")
    await read(desk, "link")
    assert desk.reads.recent() == (desk.root / "file",)


async def test_a_link_to_itself_is_an_error_in_words(desk: Workplace) -> None:
    (desk.root / "loop").symlink_to("loop")
    result = await call(desk, "Read", path="loop")
    assert result.is_error
    assert "loop" in result.text
