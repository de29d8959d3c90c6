"""Scans: every memory is found, nothing is read twice, and nothing crashes them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reverie.memory.directory import Directory
from reverie.memory.watcher import Scanner

NOON = 1_750_000_000


def memory(name: str) -> bytes:
    return f"---\nname: {name}\ndescription: about {name}\ntype: project\n---\nbody\n".encode()


class Counting(Directory):
    """The real directory, which records what was opened."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opened: list[str] = []

    def read(self, name: str, most: int | None = None) -> bytes | None:
        self.opened.append(name)
        return super().read(name, most)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "memory"
    made.mkdir()
    for number, name in enumerate(("one", "two", "three")):
        path = made / f"{name}.md"
        path.write_bytes(memory(name))
        os.utime(path, (NOON + number, NOON + number))
    return made


@pytest.fixture
def directory(root: Path) -> Counting:
    return Counting(root)


@pytest.fixture
def scanner(directory: Counting) -> Scanner:
    return Scanner(directory)


def files(scanner: Scanner) -> list[str]:
    return [entry.file for entry in scanner.entries()]


def test_newest_first_without_the_index_and_hidden_files(scanner: Scanner, root: Path) -> None:
    (root / "MEMORY.md").write_bytes(b"- [one](one.md)\n")
    (root / ".hidden.md").write_bytes(b"no")
    (root / "notes.txt").write_bytes(b"no")
    (root / "team").mkdir()
    (root / "team" / "MEMORY.md").write_bytes(b"no")
    (root / "team" / "shared.md").write_bytes(memory("shared"))
    os.utime(root / "team" / "shared.md", (NOON - 5, NOON - 5))
    assert files(scanner) == ["three.md", "two.md", "one.md", "team/shared.md"]
    newest = scanner.entries()[0]
    assert (newest.name, newest.description, newest.type) == ("three", "about three", "project")
    assert newest.mtime == datetime.fromtimestamp(NOON + 2, UTC)


def test_folders_kept_apart_are_not_looked_into(directory: Counting, root: Path) -> None:
    for name in ("team", "logs", "other", "other/team", "other/logs"):
        (root / name).mkdir()
        (root / name / "a.md").write_bytes(memory("a"))
    found = files(Scanner(directory, frozenset({"team", "logs"})))
    assert {name for name in found if "/" in name} == {
        "other/a.md",
        "other/team/a.md",
        "other/logs/a.md",
    }


# --- nothing is read twice ---


def test_only_what_changed_is_read(scanner: Scanner, directory: Counting, root: Path) -> None:
    scanner.entries()
    assert sorted(directory.opened) == ["one.md", "three.md", "two.md"]
    directory.opened.clear()
    assert scanner.entries() is scanner.entries()
    assert directory.opened == []
    (root / "two.md").write_bytes(memory("changed"))
    (root / "new.md").write_bytes(memory("new"))
    (root / "one.md").unlink()
    assert {entry.name for entry in scanner.entries()} == {"changed", "new", "three"}
    assert sorted(directory.opened) == ["new.md", "two.md"]


def test_a_look_by_a_writer_is_seen_by_the_next_listing(scanner: Scanner, root: Path) -> None:
    scanner.entries()
    (root / "new.md").write_bytes(memory("new"))
    scanner.refresh()
    assert "new.md" in files(scanner)


def test_an_edit_that_hides_is_found(scanner: Scanner, root: Path) -> None:
    """Same size and old modification time: only the inode's change time differs."""
    scanner.entries()
    before = (root / "one.md").stat()
    (root / "one.md").write_bytes(memory("eno"))
    os.utime(root / "one.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    after = (root / "one.md").stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert "eno" in {entry.name for entry in scanner.entries()}


def test_another_file_under_the_same_name_is_found(scanner: Scanner, root: Path) -> None:
    scanner.entries()
    before = (root / "one.md").stat()
    (root / "draft").write_bytes(memory("eno"))
    os.utime(root / "draft", ns=(before.st_atime_ns, before.st_mtime_ns))
    (root / "draft").replace(root / "one.md")
    assert "eno" in {entry.name for entry in scanner.entries()}


def test_only_the_head_of_a_large_file_is_read(scanner: Scanner, root: Path) -> None:
    with (root / "large.md").open("wb") as file:
        file.write(memory("large"))
        file.truncate(1024 * 1024 * 1024)
    assert "large" in {entry.name for entry in scanner.entries()}


# --- what is not a memory is named, with its reason ---


def test_odd_things_are_skipped_with_their_reason(scanner: Scanner, root: Path) -> None:
    (root.parent / "secret.md").write_bytes(b"secret")
    (root / "out.md").symlink_to("../secret.md")
    (root / "dangling.md").symlink_to("nowhere.md")
    (root / "folder.md").mkdir()
    os.mkfifo(root / "pipe.md")
    (root / "con.md").write_bytes(b"")
    (root / os.fsdecode(b"caf\xe9.md")).write_bytes(b"")
    linked = root / "linked"
    linked.symlink_to("..")
    assert len(files(scanner)) == 3
    reasons = {skipped.file: skipped.reason for skipped in scanner.skipped}
    assert "leads out" in reasons["out.md"]
    assert "leads nowhere" in reasons["dangling.md"]
    assert "not a plain file" in reasons["folder.md"]
    assert "not a plain file" in reasons["pipe.md"]
    assert "device" in reasons["con.md"]
    assert "UTF-8" in reasons[os.fsdecode(b"caf\xe9.md")]
    assert len(reasons) == 6


def test_international_names(scanner: Scanner, root: Path) -> None:
    for name in ("emoji_🦊.md", "שלום.md", "日本語.md", "Ünïcode.md"):
        (root / name).write_bytes(memory("x"))
    assert {"emoji_🦊.md", "שלום.md", "日本語.md", "Ünïcode.md"} < set(files(scanner))
    assert scanner.skipped == ()


def test_no_folder_is_no_memory(tmp_path: Path) -> None:
    scanner = Scanner(Directory(tmp_path / "nothing"))
    assert scanner.entries() == ()
    assert scanner.skipped == ()


def test_a_folder_that_cannot_be_looked_into_is_named(scanner: Scanner, root: Path) -> None:
    (root / "closed").mkdir()
    opened = os.open

    def refusing(path: str, *rest: int, **more: int) -> int:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *rest, **more)

    with mock.patch("os.open", refusing):
        assert len(files(scanner)) == 3
    assert [(found.file, "Permission denied" in found.reason) for found in scanner.skipped] == [
        ("closed/", True)
    ]


def test_a_file_deleted_while_it_is_looked_at(root: Path) -> None:
    class Vanishing(Directory):
        def read(self, name: str, most: int | None = None) -> bytes | None:
            (self.root / name).unlink()
            return super().read(name, most)

    scanner = Scanner(Vanishing(root))
    assert scanner.entries() == ()
    assert scanner.skipped == ()


def test_a_file_deleted_between_the_listing_and_the_look(scanner: Scanner, root: Path) -> None:
    """The kernel returns the whole listing at once; the files are read afterwards."""
    really = os.scandir

    class Listing:
        def __init__(self, folder: int) -> None:
            self.items = list(really(folder))

        def __enter__(self) -> Iterator[os.DirEntry[str]]:
            (root / "two.md").unlink()
            return iter(self.items)

        def __exit__(self, *_: object) -> None: ...

    with mock.patch("os.scandir", Listing):
        assert files(scanner) == ["three.md", "one.md"]
    (root / "two.md").write_bytes(memory("two"))
    assert len(files(scanner)) == 3
    with mock.patch("os.scandir", Listing):
        assert files(scanner) == ["three.md", "one.md"]


@given(st.binary(max_size=400))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_memory(root: Path, data: bytes) -> None:
    (root / "any.md").write_bytes(data)
    found = {entry.file for entry in Scanner(Directory(root)).entries()}
    assert found == {"any.md", "one.md", "two.md", "three.md"}


@given(st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=40))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_name_is_listed_or_skipped(root: Path, name: str) -> None:
    path = f"{root}/{name}.md"
    try:
        with Path(path).open("xb") as file:
            file.write(memory("x"))
    except (OSError, ValueError):
        return
    scanner = Scanner(Directory(root))
    found = {entry.file for entry in scanner.entries()} | {odd.file for odd in scanner.skipped}
    Path(path).unlink()
    assert name.startswith(".") or name == "MEMORY" or f"{name}.md" in found
