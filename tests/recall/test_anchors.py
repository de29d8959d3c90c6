"""A memory that names a file is checked against the working tree."""

from pathlib import Path

import pytest

from reverie.recall.attachment import check, content_hash


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "loop.py").write_text("class Loop:\n    def run(self): ...\n")
    (tmp_path / "big.bin").write_bytes(b"x" * 1_100_000)
    return tmp_path


def seen(tree: Path, name: str = "src/loop.py") -> str:
    return content_hash((tree / name).read_bytes())


def test_what_is_there_and_unchanged_needs_no_word(tree: Path):
    anchors = [
        "src/loop.py",
        f"src/loop.py@{seen(tree)}",
        "src/loop.py::Loop.run",
        "src",
        "big.bin",
    ]
    assert check(anchors, tree) == ()


def test_what_is_gone_is_said(tree: Path):
    assert check(["src/old.py"], tree) == ("src/old.py, which it names, no longer exists.",)


def test_what_changed_is_said(tree: Path):
    anchor = f"src/loop.py@{seen(tree)}"
    (tree / "src" / "loop.py").write_text("class Loop: ...\n")
    assert check([anchor], tree) == ("src/loop.py changed since this was saved.",)


def test_a_hash_is_compared_by_its_first_twelve_letters(tree: Path):
    known = seen(tree)
    assert len(known) == 12
    for mark in (f"sha256:{known}", f"{known}0000", known):
        assert check([f"src/loop.py@{mark}"], tree) == ()
    other = known[:11] + ("0" if known[11] != "0" else "1")
    assert check([f"src/loop.py@{other}"], tree) == ("src/loop.py changed since this was saved.",)


@pytest.mark.parametrize(("size", "read"), [(1_000_000, True), (1_000_001, False)])
def test_a_large_file_is_not_read(tree: Path, size: int, read: bool):
    (tree / "log.txt").write_bytes(b"x" * size)
    notes = ("log.txt changed since this was saved.",) if read else ()
    assert check([f"log.txt@{'0' * 12}"], tree) == notes


def test_a_symbol_that_went_away(tree: Path):
    assert check(["src/loop.py::Loop.stop"], tree) == ("Loop.stop is no longer in src/loop.py.",)


@pytest.mark.parametrize("anchor", ["../../etc/passwd", "/etc/passwd", "src/../../x"])
def test_nothing_outside_the_project_is_looked_at(tree: Path, anchor: str):
    assert check([anchor], tree) == ()


def test_a_file_nobody_may_read_is_left_alone(tree: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert check([f"src/loop.py@{'0' * 12}"], tree) == ()
