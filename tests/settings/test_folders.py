"""The home is private to its owner, whichever command creates it."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.place import Place

from reverie import Memory
from reverie.clients.install.plan import Clients
from reverie.conversation.journal import FolderBlobs, Journal
from reverie.files.atomic import make_private, write_json
from reverie.files.locks import exclusive
from reverie.recall.index import RecallIndex


@pytest.fixture(autouse=True)
def lenient() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_all_that_was_missing_is_private_and_nothing_else(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    make_private(there / "a" / "b" / "c")
    make_private(there / "a" / "b" / "c")
    assert [mode(there / name) for name in (".", "a", "a/b", "a/b/c")] == [0o755, *[0o700] * 3]


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in ("file", "file/inside", "file/far/inside"):
        with pytest.raises(OSError, match=r"File exists|Not a directory"):
            make_private(tmp_path / path)


def _lock(home: Path) -> None:
    with exclusive(home / "locks" / "one"):
        pass


MAKERS: dict[str, Callable[[Path], object]] = {
    "a transcript": lambda home: Journal(home / "projects" / "p" / "sessions" / "s.jsonl").close(),
    "a lock": _lock,
    "a note": lambda home: write_json(home / "state" / "note.json", {}),
    "a result": lambda home: FolderBlobs(home / "projects" / "p" / "results").put("a.txt", "text"),
    "an index": lambda home: RecallIndex.open(home / "p" / "index.sqlite").add_episodes("s", ()),
    "clients": lambda home: Clients(home).write_down([{"client": "x"}]),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_whoever_makes_the_home_makes_it_private(maker: str, tmp_path: Path) -> None:
    home = tmp_path / ".reverie"
    MAKERS[maker](home)
    folders = (path for path in home.rglob("*") if path.is_dir())
    assert {mode(path) for path in (home, *folders)} == {0o700}


def test_a_memory_makes_it_private(place: Place) -> None:
    assert not place.home.exists()
    Memory.open(place.root).remember("Deploys freeze on 2026-12-20", type="project")
    assert mode(place.home) == 0o700
