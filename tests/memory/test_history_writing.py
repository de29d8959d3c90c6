"""Writing the history: ahead of the files, after killed writers, and rewriting to forget."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pygit2
import pytest
from tests.memory.recording import ME, history, record, three

from reverie.errors import StorageError
from reverie.memory.format.revisions import Revision, version
from reverie.memory.history import PENDING, GitHistory

if TYPE_CHECKING:
    from tests.place import FixedClock

__all__ = ["history", "three"]


# --- writing ahead ---


def test_a_change_is_pending_until_it_is_finished(
    history: GitHistory, three: list[Revision]
) -> None:
    begun = history.begin({"a.md": b"four\n", "c.md": None}, ME, "fourth")
    assert history.pending() == begun
    assert begun.before == {"a.md": b"one\ntwo\nthree\n", "c.md": b"sea\n"}
    assert history.read("a.md") == b"one\ntwo\nthree\n"
    made = history.finish(begun)
    assert history.pending() is None
    assert next(history.log()) == made
    assert history.files().keys() == {"a.md"}
    history.begin({"a.md": b"five\n"}, ME, "fifth")
    history.abandon()
    history.abandon()
    assert history.pending() is None
    assert history.read("a.md") == b"four\n"


def test_a_pending_name_that_came_back_does_not_turn_history_back(
    history: GitHistory, three: list[Revision]
) -> None:
    """A power cut may restore the reference of a change that was finished long ago."""
    begun = history.begin({"a.md": b"four\n"}, ME, "fourth")
    history.finish(begun)
    record(history, "by hand", a="five\n")
    repo = pygit2.Repository(str(history.git_dir))
    repo.references.create(PENDING, begun.id)
    assert history.pending() is None
    assert next(history.log()).summary == "by hand"
    assert repo.references.get(PENDING) is None


@pytest.mark.parametrize("state", ["old only", "old and new", "both", "locks"])
def test_what_a_dead_writer_left_is_put_right(
    history: GitHistory, three: list[Revision], clock: FixedClock, state: str
) -> None:
    place = history.git_dir
    if state == "locks":
        for name in ("refs/heads/main.lock", "refs/reverie/pending.lock"):
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_bytes(b"")
    else:
        place.rename(f"{place}.old")
    if state == "old and new":
        pygit2.init_repository(f"{place}.new", bare=True)
    if state == "both":
        subprocess.run(["cp", "-r", f"{place}.old", str(place)], check=True)
    again = GitHistory(place, clock)
    again.mend()
    assert list(again.log()) == three[::-1]
    record(again, "goes on", a="x")
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_a_history_that_cannot_be_read_is_said_so(history: GitHistory, clock: FixedClock) -> None:
    record(history, "first", a="1")
    (history.git_dir / "objects").rename(history.git_dir / "gone")
    with pytest.raises(StorageError, match="cannot use the history"):
        record(GitHistory(history.git_dir, clock), "second", a="2")


def test_many_files_at_once(history: GitHistory) -> None:
    history.record({f"folder/{n % 7}/{n}.md": b"%d" % n for n in range(300)}, ME, "import")
    assert len(history.files()) == 300
    assert history.read("folder/3/10.md") == b"10"
    fsck = ["git", "--git-dir", str(history.git_dir), "fsck", "--strict"]
    try:
        done = subprocess.run(fsck, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    assert done.returncode == 0, done.stderr


# --- forgetting ---


def test_rewriting_leaves_no_trace(history: GitHistory, three: list[Revision]) -> None:
    begun = history.begin({"d.md": b"swordfish\n"}, ME, "a secret")
    history.finish(begun)
    record(history, "gone", d=None)

    def change(name: str, data: bytes) -> bytes | None:
        return None if name == "d.md" else data

    assert history.rewrite(change, lambda said: said.replace("a secret", "(forgotten)")) == 1
    assert [found.summary for found in history.log()] == [
        "gone",
        "(forgotten)",
        "third",
        "second",
        "first",
    ]
    assert history.content(version(b"swordfish\n")) is None
    repo = pygit2.Repository(str(history.git_dir))
    assert not any(b"swordfish" in repo.read(id_)[1] for id_ in repo)
    # Authors and times stay, and unchanged revisions keep their ids.
    assert list(history.log())[2:] == three[::-1]
    assert [path.name for path in history.git_dir.parent.iterdir()] == [history.git_dir.name]
    record(history, "and on", a="x")
