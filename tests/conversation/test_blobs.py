"""Long texts kept in a folder, under names that a provider chose."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.conversation.journal import FolderBlobs, safe_name
from reverie.errors import StorageError
from reverie.ports import BlobStore


@pytest.fixture
def blobs(tmp_path: Path) -> FolderBlobs:
    return FolderBlobs(tmp_path / "session" / "tool-results")


def test_a_text_is_kept_whole_for_the_owner_alone(blobs: FolderBlobs) -> None:
    store: BlobStore = blobs
    path = Path(store.put("toolu_01.txt", "à la carte\r\n\n"))
    assert path == blobs.folder / "toolu_01.txt"
    assert path.read_bytes() == "à la carte\r\n\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(blobs.folder.stat().st_mode) == 0o700


def test_the_same_text_is_kept_once(blobs: FolderBlobs) -> None:
    path = Path(blobs.put("a.txt", "same"))
    before = path.stat()
    assert blobs.put("a.txt", "same") == str(path)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(blobs.folder.iterdir()) == [path]


def test_another_text_under_the_same_name_overwrites_nothing(blobs: FolderBlobs) -> None:
    """Some servers number the calls of every response from nought."""
    first, second = blobs.put("call_0.json", "[1]"), blobs.put("call_0.json", "[2]")
    assert [Path(path).read_text() for path in (first, second)] == ["[1]", "[2]"]
    assert second.endswith(".json")
    assert blobs.put("call_0.json", "[2]") == second


def test_a_link_in_the_folder_is_not_followed(blobs: FolderBlobs, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    blobs.folder.mkdir(parents=True)
    (blobs.folder / "a.txt").symlink_to(outside)
    paths = [Path(blobs.put("a.txt", text)) for text in ("theirs", "mine")]
    assert outside.read_text() == "mine"
    assert [path.read_text() for path in paths] == ["theirs", "mine"]
    assert not any(path.is_symlink() for path in paths)


def test_torn_characters_leave_a_file_that_can_be_read(blobs: FolderBlobs) -> None:
    assert Path(blobs.put("a.txt", "x\ud800y")).read_text() == "x\ufffdy"


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"cannot keep a tool result in .*a\.txt"):
        FolderBlobs(tmp_path / "file" / "results").put("a.txt", "text")


def test_nothing_is_left_behind_when_the_name_cannot_be_taken(blobs: FolderBlobs) -> None:
    blobs.put("a.txt", "one")
    taken = Path(blobs.put("a.txt", "two"))
    taken.unlink()
    taken.mkdir()
    with pytest.raises(StorageError):
        blobs.put("a.txt", "two")
    assert sorted(path.name for path in blobs.folder.iterdir()) == sorted(["a.txt", taken.name])


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "/etc/passwd", "", ".", "..", "a/b.txt", "a\0b.txt", "x" * 500 + ".txt"],
)
def test_names_stay_one_short_plain_component(name: str) -> None:
    safe = safe_name(name)
    assert safe not in ("", ".", "..")
    assert "/" not in safe
    assert safe.isprintable()
    assert len(safe) < 140


@given(st.text(max_size=30), st.text(max_size=30))
def test_different_names_stay_different(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)
