"""The store: each change is a transaction, no edit is overwritten, and the history has everything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.memory.saving import LINES, ME, memory, pointing, save, store_at, summaries

from reverie.errors import InputError, WriteConflict
from reverie.memory.format.revisions import Drop, Put, version
from reverie.memory.store import FileStore

if TYPE_CHECKING:
    from tests.place import FixedClock


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> FileStore:
    return store_at(tmp_path, clock)


@pytest.fixture
def one(store: FileStore) -> FileStore:
    save(store, "one.md", memory("one"))
    return store


# --- saving ---


def test_a_memory_and_its_pointer_are_one_change(store: FileStore) -> None:
    made = save(store, "one.md", memory("one"))
    assert made is not None
    assert sorted(made.files) == ["MEMORY.md", "one.md"]
    assert (made.author, made.summary) == (ME, "save one.md")
    stored = store.read("one.md")
    assert stored is not None
    assert (stored.topic.name, stored.version) == ("one", version(memory("one")))
    assert [pointer.file for pointer in store.index().pointers] == ["one.md"]
    assert [entry.file for entry in store.entries()] == ["one.md"]


def test_what_changes_nothing_is_no_change(one: FileStore) -> None:
    assert save(one, "one.md", memory("one")) is None
    # Not even if it is based on another version: the content is the same.
    assert one.apply((Put("one.md", memory("one"), "0" * 40),), ME, "again") is None
    assert len(summaries(one)) == 1


def test_the_index_is_left_alone_when_nothing_points(one: FileStore) -> None:
    index = (one.root / "MEMORY.md").read_bytes()
    stored = one.read("one.md")
    assert stored is not None
    made = one.apply((Put("one.md", memory("one", "new\n"), stored.version),), ME, "change")
    assert made is not None
    assert made.files == ("one.md",)
    assert (one.root / "MEMORY.md").read_bytes() == index


def test_too_large_is_refused_before_anything(one: FileStore) -> None:
    with pytest.raises(InputError, match=r"big\.md would be .* at most 65,536"):
        save(one, "big.md", memory("big", "x" * 70_000))
    assert not (one.root / "big.md").exists()


@pytest.mark.parametrize("file", ["../out.md", "/etc/x.md", "a\0.md", ".hidden.md", "x.txt"])
def test_names_are_checked(one: FileStore, file: str) -> None:
    with pytest.raises(InputError, match="refused"):
        one.apply((Put(file, b"x"),), ME, "no")
    assert len(summaries(one)) == 1


# --- compare and swap ---


def test_a_stale_write_is_refused_with_both_versions(one: FileStore) -> None:
    old = one.read("one.md")
    assert old is not None
    save(one, "one.md", memory("one", "theirs\n"))
    with pytest.raises(WriteConflict, match="nothing was written") as refused:
        one.apply((Put("one.md", memory("one", "ours\n"), old.version),), ME, "late")
    assert refused.value.current == memory("one", "theirs\n")
    assert refused.value.proposed == memory("one", "ours\n")
    assert one.current("one.md") == memory("one", "theirs\n")


def test_a_stale_write_that_merges_is_merged(one: FileStore) -> None:
    old = one.read("one.md")
    assert old is not None
    save(one, "one.md", memory("one", LINES.replace("line 0", "theirs")))
    ours = memory("one", LINES.replace("line 8", "ours"))
    assert one.apply((Put("one.md", ours, old.version),), ME, "late") is not None
    both = LINES.replace("line 0", "theirs").replace("line 8", "ours")
    assert one.current("one.md") == memory("one", both)


CONFLICTS = {
    "new, but another writer was faster": (Put("one.md", b"mine"), True),
    "an unknown version": (Put("one.md", b"mine", "f" * 40), True),
    "removed meanwhile": (Put("gone.md", b"mine", "f" * 40), False),
    "dropped an unknown version": (Drop("one.md", "f" * 40), True),
}


@pytest.mark.parametrize(("change", "there"), CONFLICTS.values(), ids=CONFLICTS)
def test_conflicts(one: FileStore, change: Put | Drop, there: bool) -> None:
    other = Put("other.md", memory("other"))
    with pytest.raises(WriteConflict, match="changed since" if there else "was removed since"):
        one.apply((other, change), ME, "no", pointing("other.md"))
    # All or none.
    assert one.current("other.md") is None
    assert [pointer.file for pointer in one.index().pointers] == ["one.md"]


def test_deleting(one: FileStore) -> None:
    stored = one.read("one.md")
    assert stored is not None
    drop = Drop("one.md", stored.version)
    one.apply((drop,), ME, "forget", lambda index: index.without("one.md"))
    assert one.entries() == ()
    assert one.index().pointers == ()
    assert one.history.read("one.md", "HEAD~1") == memory("one")


# --- large, odd and unreadable ---


def test_a_megabyte_by_hand_is_kept_out_of_history_until_we_touch_it(one: FileStore) -> None:
    large = os.urandom(1024 * 1024 + 1)
    (one.root / "large.md").write_bytes(large)
    assert one.notice_hand_edits() is None
    stored = one.read("large.md")
    assert stored is not None
    one.apply((Drop("large.md", stored.version),), ME, "forget")
    # Deleted by us, so kept by us.
    assert one.history.read("large.md", "HEAD~1") == large


@pytest.mark.parametrize("name", ["emoji_🦊.md", "שלום.md", "日本語.md"])
def test_international_names(store: FileStore, name: str) -> None:
    save(store, name, memory("x"))
    assert [entry.file for entry in store.entries()] == [name]
    assert [pointer.file for pointer in store.index().pointers] == [name]
    assert next(store.history.log(name)).files == ("MEMORY.md", name)
