"""A large memory directory: the catalog follows our writes and others', and is never trusted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.place import FixedClock

from reverie.errors import WriteConflict
from reverie.memory import catalog, reading
from reverie.memory import store as files
from reverie.memory import watcher as lookout
from reverie.memory.changes.undo import undoable
from reverie.memory.format.revisions import Author, Drop, Put
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore

ME = Author("main")
WORDS = ["apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel"]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (catalog, lookout):
        monkeypatch.setattr(place, "LARGE", 4)


def memory(about: str, body: str = "text") -> bytes:
    return (
        f"---\nname: {about}\ndescription: all about {about}\ntype: project\n---\n{body}\n".encode()
    )


def opened(folder: Path) -> FileStore:
    history = GitHistory(folder / "history.git", FixedClock())
    return FileStore(folder / "memory", history, apart=["team"], catalog=folder / "manifest.sqlite")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "memory" / "sub").mkdir(parents=True)
    for word in WORDS[:-1]:
        (tmp_path / "memory" / f"{word}.md").write_bytes(memory(word))
    (tmp_path / "memory" / "sub" / "hazel.md").write_bytes(memory("hazel"))
    (tmp_path / "memory" / "MEMORY.md").write_bytes(b"- [apple](apple.md)\n")
    (tmp_path / "memory" / "team").mkdir()
    (tmp_path / "memory" / "team" / "iris.md").write_bytes(memory("iris"))
    return tmp_path


@pytest.fixture
def store(folder: Path) -> FileStore:
    return opened(folder)


def found(store: FileStore, text: str) -> list[str]:
    return [entry.file for entry in store.alike(text)]


def age(path: Path) -> None:
    """A folder that was changed a while ago: times of the last second are not reliable."""
    os.utime(path, (1_000_000_000, 1_000_000_000))


def test_a_small_directory_has_none(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "a.md").write_bytes(memory("apple"))
    store = opened(tmp_path)
    assert not store.large
    assert found(store, "an apple a day") == ["a.md"]
    assert store.has("A.md")
    assert [entry.file for entry in store.some(["a.md", "b.md"])] == ["a.md"]
    assert store.changes("", 10) is None
    assert not (tmp_path / "manifest.sqlite").exists()


def test_a_large_one_is_asked_by_words_names_and_age(store: FileStore) -> None:
    assert store.large
    assert found(store, "where is the cherry") == ["cherry.md"]
    assert found(store, "hazel") == ["sub/hazel.md"]
    assert found(store, "iris") == []
    assert store.has("CHERRY.md")
    assert not store.has("zucchini.md")
    os.utime(store.root / "fig.md", (2_000_000_000, 2_000_000_000))
    store.alike("fig")
    newest = store.some(["apple.md"], newest=1)
    assert [entry.file for entry in newest] == ["apple.md", "fig.md"]


def test_it_lists_the_same_as_a_scan(store: FileStore, folder: Path) -> None:
    store.alike("apple")
    plain = FileStore(store.root, store.history, apart=["team"])
    assert opened(folder).entries() == plain.entries()
    assert opened(folder).listing() == plain.listing()


def test_our_writes_are_noted_for_all_processes(store: FileStore, folder: Path) -> None:
    other = opened(folder)
    assert found(other, "kiwi") == []
    store.apply((Put("kiwi.md", memory("kiwi")),), ME, "kiwi")
    assert found(other, "kiwi") == ["kiwi.md"]
    stored = store.read("kiwi.md")
    assert stored is not None
    store.apply((Put("kiwi.md", memory("lime"), stored.version),), ME, "lime")
    assert (found(other, "kiwi"), found(other, "lime")) == ([], ["kiwi.md"])
    again = store.read("kiwi.md")
    assert again is not None
    store.apply((Drop("kiwi.md", again.version),), ME, "gone")
    assert found(other, "lime") == []
    assert not other.has("kiwi.md")


def test_our_own_write_is_no_reason_to_look_through_the_folder(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(store.root / "sub")
    age(store.root)
    store.alike("apple")
    scans: list[str] = []
    listed = lookout.FolderWatcher._listed
    monkeypatch.setattr(
        lookout.FolderWatcher,
        "_listed",
        lambda self, path: scans.append(path) or listed(self, path),
    )
    store.apply((Put("kiwi.md", memory("kiwi")),), ME, "kiwi")
    assert found(store, "kiwi") == ["kiwi.md"]
    assert scans == []
    (store.root / "plum.md").write_bytes(memory("plum"))
    assert found(store, "plum") == ["plum.md"]
    assert scans == [""]


def test_what_others_do_to_folders_is_noticed_at_once(store: FileStore) -> None:
    store.alike("apple")
    (store.root / "plum.md").write_bytes(memory("plum"))
    (store.root / "fig.md").unlink()
    fresh = store.root / "new"
    fresh.write_bytes(memory("quince"))
    fresh.rename(store.root / "apple.md")
    (store.root / "deep").mkdir()
    (store.root / "deep" / "melon.md").write_bytes(memory("melon"))
    assert found(store, "plum") == ["plum.md"]
    assert found(store, "fig") == []
    assert (found(store, "apple"), found(store, "quince")) == ([], ["apple.md"])
    assert found(store, "melon") == ["deep/melon.md"]
    (store.root / "deep" / "melon.md").unlink()
    (store.root / "deep").rmdir()
    assert found(store, "melon") == []


def test_a_change_in_place_is_noticed_by_going_round(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(store.root)
    store.alike("apple")
    monkeypatch.setattr(catalog.Catalog.next_to_sweep, "__defaults__", (2,))
    with (store.root / "grape.md").open("r+b") as file:
        file.truncate()
        file.write(memory("papaya"))
    age(store.root)
    # The file itself is shown, whether or not its change was noticed.
    stored = store.read("grape.md")
    assert stored is not None
    assert stored.topic.name == "papaya"
    looks = next(n for n in range(1, 10) if found(store, "papaya") == ["grape.md"])
    assert 1 <= looks <= len(WORDS) // 2 + 1


def test_a_full_scan_notices_it_at_once(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.alike("apple")
    monkeypatch.setattr(catalog.Catalog.next_to_sweep, "__defaults__", (0,))
    with (store.root / "grape.md").open("r+b") as file:
        file.write(memory("papaya"))
    assert found(store, "papaya") == []
    assert "papaya" in {entry.name for entry in store.entries()}
    assert found(store, "papaya") == ["grape.md"]


def test_an_edit_that_was_not_noticed_is_never_overwritten(
    store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = store.read("grape.md")
    assert stored is not None
    store.alike("apple")
    monkeypatch.setattr(catalog.Catalog.next_to_sweep, "__defaults__", (0,))
    (store.root / "grape.md").write_bytes(memory("papaya", "by hand"))
    with pytest.raises(WriteConflict):
        store.apply((Put("grape.md", memory("melon", "ours"), stored.version),), ME, "ours")
    assert (store.root / "grape.md").read_bytes() == memory("papaya", "by hand")


def test_changes_are_told_once_and_in_order(store: FileStore) -> None:
    first = store.changes("", 3)
    assert first is not None
    assert (len(first.changed), first.more, first.afresh) == (3, True, True)
    rest = store.changes(first.upto, 100)
    assert rest is not None
    assert (len(rest.changed), rest.more, rest.afresh) == (len(WORDS) - 3, False, False)
    assert not first.changed.keys() & rest.changed.keys()
    (store.root / "fig.md").unlink()
    after = store.changes(rest.upto, 100)
    assert after is not None
    assert (after.gone, dict(after.changed)) == (("fig.md",), {})


def test_how_long_a_memory_holds_is_known_without_reading_it(folder: Path) -> None:
    dated = memory("kiwi").replace(
        b"type:", b"valid_from: 2026-01-01\nvalid_until: 2026-02-01\ntype:"
    )
    (folder / "memory" / "kiwi.md").write_bytes(dated)
    opened(folder).alike("kiwi")
    (entry,) = opened(folder).some(["kiwi.md"])
    assert (entry.valid_from, entry.valid_until) == ("2026-01-01", "2026-02-01")
    assert entry == opened(folder).entries()[0]


def test_the_first_write_records_what_it_touches_and_the_rest_follows_in_steps(
    store: FileStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "RECORD", 3)
    assert not store.record_on()
    assert store.history.is_empty
    before = store.read("fig.md")
    assert before is not None
    store.apply((Put("fig.md", memory("figs"), before.version),), ME, "more figs")
    assert set(store.history.files()) == {"fig.md", "MEMORY.md"}
    other = opened(folder)
    steps = 1
    while other.record_on():
        steps += 1
    assert steps == 3
    history = opened(folder).history
    assert set(history.files()) == {*store.listing(), "MEMORY.md"}
    summaries = [revision.summary for revision in history.log()]
    assert summaries == [
        "found 1 file",
        "found 3 files",
        "found 3 files",
        "more figs",
        "found 2 files",
    ]
    assert [revision.summary for revision in undoable(history)] == ["more figs"]


def test_what_is_not_recorded_yet_is_no_edit_that_an_undo_would_take_back(store: FileStore) -> None:
    store.apply((Put("kiwi.md", memory("kiwi")),), ME, "kiwi")
    (store.root / "kiwi.md").write_bytes(memory("lime"))
    store.notice_hand_edits()
    assert [one.summary for one in undoable(store.history)] == ["edited by hand: kiwi.md", "kiwi"]
    assert (store.root / "apple.md").exists()


def test_so_many_at_once_are_read_little_by_little_and_found_by_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookout, "READ_AT_ONCE", 2)
    monkeypatch.setattr(lookout.FolderWatcher.read_on, "__defaults__", (1,))
    monkeypatch.setattr(reading, "CATCH_UP", 3)
    store = opened(folder)
    assert found(store, "what about the grape") == ["grape.md"]
    changes = store.changes("", 100)
    assert changes is not None
    assert changes.unread
    while store.read_on():
        pass
    changes = store.changes("", 100)
    assert changes is not None
    assert (len(changes.changed), changes.unread) == (len(WORDS), False)


@pytest.mark.parametrize("damage", [b"", b"not a database" * 100])
def test_a_damaged_catalog_is_made_again(store: FileStore, folder: Path, damage: bytes) -> None:
    assert found(store, "cherry") == ["cherry.md"]
    (folder / "manifest.sqlite").write_bytes(damage)
    assert found(opened(folder), "cherry") == ["cherry.md"]


def test_a_catalog_that_cannot_be_used_fails_nothing(store: FileStore, folder: Path) -> None:
    (folder / "manifest.sqlite").mkdir()
    store = opened(folder)
    assert found(store, "cherry") == ["cherry.md"]
    assert store.apply((Put("kiwi.md", memory("kiwi")),), ME, "kiwi") is not None
    assert found(store, "kiwi") == ["kiwi.md"]
