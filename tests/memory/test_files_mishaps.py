"""The store with concurrent hand edits, full disks and writers that die."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.saving import LINES, ME, memory, pointing, save, store_at, summaries
from tests.place import FixedClock

from reverie.errors import InputError, StorageError
from reverie.files.atomic import TEMPORARY
from reverie.memory.directory import Directory
from reverie.memory.format.revisions import Author, Put
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> FileStore:
    return store_at(tmp_path, clock)


@pytest.fixture
def one(store: FileStore) -> FileStore:
    save(store, "one.md", memory("one"))
    return store


# --- hand edits ---


def test_a_directory_that_was_there_is_recorded_as_found(store: FileStore) -> None:
    store.root.mkdir()
    theirs = {
        "theirs.md": b"\xef\xbb\xbf---\r\nname: Theirs\r\nodd: [1\r\n---\r\nbody\r\n",
        "latin.md": b"caf\xe9",
        "empty.md": b"",
        "MEMORY.md": b"# Mine\r\n- [Theirs](theirs.md)\r\n",
        "notes.txt": b"not a memory",
    }
    for name, data in theirs.items():
        (store.root / name).write_bytes(data)
    save(store, "new.md", memory("new"))
    assert summaries(store) == [("extract", "save new.md"), ("user", "found 4 files")]
    assert store.history.read("latin.md", "HEAD~1") == b"caf\xe9"
    for name in ("theirs.md", "latin.md", "empty.md", "notes.txt"):
        assert (store.root / name).read_bytes() == theirs[name]
    assert (store.root / "MEMORY.md").read_bytes().startswith(theirs["MEMORY.md"])


def test_hand_edits_are_noticed_before_ours(one: FileStore) -> None:
    stored = one.read("one.md")
    assert stored is not None
    by_hand = memory("one", LINES.replace("line 0", "by hand"))
    (one.root / "one.md").write_bytes(by_hand)
    ours = memory("one", LINES.replace("line 8", "ours"))
    one.apply((Put("one.md", ours, stored.version),), ME, "ours")
    assert summaries(one)[:2] == [("extract", "ours"), ("user", "edited by hand: one.md")]
    assert one.history.read("one.md", "HEAD~1") == by_hand
    assert one.current("one.md") == memory(
        "one", LINES.replace("line 0", "by hand").replace("line 8", "ours")
    )


def test_everything_edited_by_hand_is_noticed(one: FileStore) -> None:
    for name in ("a", "b", "c", "d"):
        (one.root / f"{name}.md").write_bytes(memory(name))
    (one.root / "one.md").unlink()
    made = one.notice_hand_edits()
    assert made is not None
    assert made.author == Author("user")
    assert made.summary == "edited by hand: a.md, b.md, c.md …"
    assert sorted(made.files) == ["a.md", "b.md", "c.md", "d.md", "one.md"]
    assert one.notice_hand_edits() is None


def test_a_memory_that_became_a_link_out_is_gone(one: FileStore) -> None:
    (one.root.parent / "secret.md").write_bytes(b"secret")
    (one.root / "one.md").unlink()
    (one.root / "one.md").symlink_to("../secret.md")
    made = one.notice_hand_edits()
    assert made is not None
    assert one.history.read("one.md") is None
    assert one.history.read("one.md", "HEAD~1") == memory("one")
    with pytest.raises(InputError, match="leads out"):
        one.read("one.md")


class Interfering(Directory):
    """The real directory; right before a file is replaced, an editor saves it."""

    saves: dict[str, bytes]

    def replace(self, name: str, data: bytes) -> None:
        late = self.saves.pop(name, None)
        if late is not None:
            # In place, as editors do: the same inode gets the new bytes.
            (self.root / name).write_bytes(late)
        super().replace(name, data)


def interfering(store: FileStore, **saves: bytes) -> FileStore:
    directory = Interfering(store.root)
    directory.saves = {f"{name}.md": data for name, data in saves.items()}
    store._directory = directory
    return store


def test_a_save_at_the_last_moment_is_merged(one: FileStore) -> None:
    by_hand = memory("one", LINES.replace("line 0", "by hand"))
    made = save(
        interfering(one, one=by_hand), "one.md", memory("one", LINES.replace("line 8", "ours"))
    )
    assert made is not None
    both = memory("one", LINES.replace("line 0", "by hand").replace("line 8", "ours"))
    assert one.current("one.md") == both
    assert summaries(one)[:2] == [
        ("user", "edited by hand meanwhile: one.md"),
        ("extract", "save one.md"),
    ]
    assert one.notice_hand_edits() is None


def test_a_save_at_the_last_moment_that_does_not_merge_stays(one: FileStore) -> None:
    by_hand = memory("one", "by hand\n")
    save(interfering(one, one=by_hand), "one.md", memory("one", "ours\n"))
    assert one.current("one.md") == by_hand
    assert one.history.read("one.md", "HEAD~1") == memory("one", "ours\n")
    assert one.notice_hand_edits() is None


# --- full disks and killed writers ---


class Failing(Directory):
    """The real directory on a disk that fills up at a certain file."""

    def replace(self, name: str, data: bytes) -> None:
        if name == "MEMORY.md":
            raise StorageError("cannot write: the disk is full")
        super().replace(name, data)


@pytest.mark.parametrize("file", ["one.md", "new.md"])
def test_a_disk_that_is_full_half_way_takes_everything_back(one: FileStore, file: str) -> None:
    before = {path.name: path.read_bytes() for path in one.root.iterdir()}
    one._directory = Failing(one.root)
    stored = one.read(file)
    put = Put(file, memory("changed"), stored.version if stored else None)
    with pytest.raises(StorageError, match="the disk is full"):
        one.apply((put,), ME, "no", pointing("other.md"))
    assert {path.name: path.read_bytes() for path in one.root.iterdir()} == before
    assert one.history.pending() is None
    assert len(summaries(one)) == 1
    one._directory = Directory(one.root)
    assert one.notice_hand_edits() is None


def dead_writer(store: FileStore, files: dict[str, bytes | None], placed: str = "") -> None:
    """A writer that wrote its change ahead, put one file into place, and died."""
    store.history.begin(files, ME, "interrupted")
    data = files.get(placed)
    if data is not None:
        (store.root / placed).write_bytes(data)
    (store.root / f"{TEMPORARY}dead").write_bytes(b"half")


RECOVERIES = {
    "no edit": (None, "line 8", "ours"),
    "merges": (("line 0", "by hand"), "line 8", "ours"),
    "conflicts": (("line 8", "by hand"), "line 8", "ours"),
}


@pytest.mark.parametrize(("edit", "line", "new"), RECOVERIES.values(), ids=RECOVERIES)
def test_the_next_command_completes_a_dead_writers_change(
    one: FileStore, edit: tuple[str, str] | None, line: str, new: str
) -> None:
    ours = memory("one", LINES.replace(line, new))
    dead_writer(one, {"one.md": ours, "new.md": memory("new")}, placed="new.md")
    theirs = memory("one", LINES.replace(*edit)) if edit else ours
    if edit:
        (one.root / "one.md").write_bytes(theirs)
    one.notice_hand_edits()
    expected = (
        theirs
        if edit and edit[0] == line
        else memory("one", theirs.decode().split("---\n")[2].replace(line, new))
    )
    assert one.current("one.md") == expected
    assert one.current("new.md") == memory("new")
    known = {one.history.read("one.md", found.id) for found in one.history.log("one.md")}
    # The history has the old content, ours, and the result.
    assert known >= {memory("one"), ours, expected}
    assert not [path for path in one.root.iterdir() if TEMPORARY in path.name]


def test_recovery_keeps_a_file_that_a_person_removed_removed(one: FileStore) -> None:
    dead_writer(one, {"one.md": memory("one", "ours\n")})
    (one.root / "one.md").unlink()
    one.notice_hand_edits()
    assert one.current("one.md") is None
    assert one.history.read("one.md") is None
    assert one.history.read("one.md", "HEAD~1") == memory("one", "ours\n")


def test_recovery_keeps_what_a_person_wrote_where_we_deleted(one: FileStore) -> None:
    dead_writer(one, {"one.md": None})
    (one.root / "one.md").write_bytes(b"by hand")
    one.notice_hand_edits()
    assert one.current("one.md") == b"by hand"


def test_history_that_was_deleted_begins_again(one: FileStore) -> None:
    """`history.git` can be deleted: the files are authoritative."""
    for path in sorted(one.history.git_dir.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    one.history.git_dir.rmdir()
    fresh = FileStore(one.root, GitHistory(one.history.git_dir, FixedClock()))
    save(fresh, "new.md", memory("new"))
    assert summaries(fresh) == [("extract", "save new.md"), ("user", "found 2 files")]


def test_a_clock_that_goes_backwards(one: FileStore, clock: FixedClock) -> None:
    clock.advance(-86_400)
    save(one, "one.md", memory("one", "earlier\n"))
    assert [found.summary for found in one.history.log()] == ["save one.md", "save one.md"]
    assert one.history.read("one.md") == memory("one", "earlier\n")


def test_restoring(one: FileStore) -> None:
    save(one, "one.md", memory("one", "new\n"))
    (one.root / "one.md").write_bytes(memory("one", "by hand\n"))
    made = one.restore(lambda: {"one.md": memory("one"), "gone.md": None}, ME, "undo")
    assert made is not None
    assert one.current("one.md") == memory("one")
    assert one.history.read("one.md", "HEAD~1") == memory("one", "by hand\n")
