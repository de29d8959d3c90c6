"""Packing loose objects loses nothing and does not bring back forgotten content."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pygit2
import pytest
from tests.memory.recording import ME, history, record, three
from tests.place import FixedClock

from reverie.errors import StorageError
from reverie.files.locks import is_held
from reverie.memory import packing
from reverie.memory.format.revisions import Put, Revision, version
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore

__all__ = ["history", "three"]


def loose(history: GitHistory) -> int:
    return len(list(packing.loose_objects(history.git_dir)))


def packs(history: GitHistory) -> list[Path]:
    return sorted((history.git_dir / "objects" / "pack").glob("*.pack"))


def objects(history: GitHistory) -> dict[str, bytes]:
    repo = pygit2.Repository(str(history.git_dir))
    return {str(id_): repo.read(id_)[1] for id_ in repo}


def test_everything_is_there_afterwards(history: GitHistory, three: list[Revision]) -> None:
    before = objects(history)
    assert packing.pack(history.git_dir) == len(before)
    assert (loose(history), len(packs(history))) == (0, 1)
    assert objects(history) == before
    # The same object as before, and one that never saw the loose files.
    for one in (history, GitHistory(history.git_dir, FixedClock())):
        assert list(one.log()) == three[::-1]
        assert one.read("a.md", three[0].id) == b"one\ntwo\n"
    record(history, "goes on", a="x")
    assert history.read("a.md") == b"x"


def test_it_is_due_only_with_many(history: GitHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not packing.due(history.git_dir)
    record(history, "few", a="1")
    assert not packing.due(history.git_dir)
    assert not history.pack_if_due()
    history.record({f"{n}.md": b"%d" % n for n in range(3_000)}, ME, "many")
    assert packing.due(history.git_dir)


def test_a_write_begins_it_and_does_not_wait(
    tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(tmp_path / "memory", GitHistory(tmp_path / "history.git", clock))
    monkeypatch.setattr(packing, "MOST_LOOSE", -1)
    store.apply((Put("a.md", b"one\n"),), ME, "write")
    (begun,) = packing._processes
    assert begun.wait() == 0
    assert store.history.read("a.md") == b"one\n"


def test_the_process_packs_when_it_is_due(history: GitHistory) -> None:
    history.record({f"{n}.md": b"%d" % n for n in range(3_000)}, ME, "many")
    before = history.files()
    command = [sys.executable, "-P", "-m", "reverie.memory.packing", str(history.git_dir)]
    subprocess.run(command, check=True)
    assert (loose(history), len(packs(history))) == (0, 1)
    assert history.files() == before


def test_what_a_killed_run_packed_is_only_removed(
    history: GitHistory, three: list[Revision], tmp_path: Path
) -> None:
    subprocess.run(["cp", "-r", str(history.git_dir / "objects"), str(tmp_path / "o")], check=True)
    packing.pack(history.git_dir)
    subprocess.run(["cp", "-r", f"{tmp_path}/o/.", str(history.git_dir / "objects")], check=True)
    (history.git_dir / packing._MAKING / "pack").mkdir(parents=True)
    (history.git_dir / packing._MAKING / "pack" / "half").write_bytes(b"PACK")
    assert packing.pack(history.git_dir)
    assert (loose(history), len(packs(history))) == (0, 1)
    assert not (history.git_dir / packing._MAKING).exists()
    assert list(history.log()) == three[::-1]


def test_many_packs_become_one(history: GitHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_PACKS", 3)
    stale = GitHistory(history.git_dir, FixedClock())
    for number in range(4):
        record(history, f"{number}", a=f"{number}\n")
        packing.pack(history.git_dir)
    # It has opened these packs and does not know that they are removed.
    assert stale.read("a.md") == b"3\n"
    before = objects(history)
    assert len(packs(history)) == 4
    record(history, "last", a="last\n")
    packing.pack(history.git_dir)
    assert (loose(history), len(packs(history))) == (0, 1)
    assert objects(history).items() >= before.items()
    assert [found.summary for found in stale.log()] == ["last", "3", "2", "1", "0"]


def test_a_damaged_object_stays_where_it_is(history: GitHistory, three: list[Revision]) -> None:
    wanted = version(b"bee\n")
    path = history.git_dir / "objects" / wanted[:2] / wanted[2:]
    path.chmod(0o600)
    path.write_bytes(b"damaged")
    before = loose(history)
    with pytest.raises(StorageError, match="nothing was lost"):
        packing.pack(history.git_dir)
    assert (loose(history), packs(history)) == (before, [])


def test_forgetting_waits_for_packing_and_leaves_nothing_of_it(
    history: GitHistory, three: list[Revision]
) -> None:
    record(history, "a secret", d="swordfish\n")
    record(history, "gone", d=None)
    done: list[int] = []

    def forget() -> None:
        one = GitHistory(history.git_dir, FixedClock())
        done.append(one.rewrite(lambda n, d: None if n == "d.md" else d, lambda said: said))

    with packing.locked(history.git_dir) as ours:
        assert ours
        thread = threading.Thread(target=forget)
        thread.start()
        # The new history may be complete, but it cannot replace the old one yet.
        packing._pack(history.git_dir)
        assert not done
    thread.join()
    assert done == [1]
    assert not any(b"swordfish" in data for data in objects(history).values())
    assert not is_held(history.git_dir)


def test_a_history_that_was_replaced_while_we_waited_is_left_alone(
    history: GitHistory, three: list[Revision], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is on the opened folder, which has been renamed meanwhile."""

    def replaced(opened: int, how: int) -> None:
        history.git_dir.rename(f"{history.git_dir}.old")
        pygit2.init_repository(str(history.git_dir), bare=True)

    monkeypatch.setattr(packing.fcntl, "flock", replaced)
    assert packing.pack(history.git_dir) == 0
    assert not list(Path(f"{history.git_dir}.old").glob("objects/pack/*"))


def test_two_at_once_are_one(history: GitHistory, three: list[Revision]) -> None:
    with packing.locked(history.git_dir):
        assert packing.pack(history.git_dir, wait=False) == 0
    assert packing.pack(history.git_dir, wait=False) > 0


def test_writers_and_readers_go_on_meanwhile(tmp_path: Path, clock: FixedClock) -> None:
    store = FileStore(tmp_path / "memory", GitHistory(tmp_path / "history.git", clock))
    over = threading.Event()
    troubles: list[StorageError] = []

    def pack() -> None:
        try:
            while not over.is_set():
                packing.pack(store.history.git_dir)
        except StorageError as error:
            troubles.append(error)

    store.apply((Put("0.md", b"0\n"),), ME, "0")
    thread = threading.Thread(target=pack)
    thread.start()
    for number in range(1, 40):
        store.apply((Put(f"{number}.md", b"%d\n" % number),), ME, f"{number}")
        assert store.history.read(f"{number - 1}.md") == b"%d\n" % (number - 1)
    over.set()
    thread.join()
    assert not troubles
    assert [found.summary for found in store.history.log()] == [f"{n}" for n in range(39, -1, -1)]
