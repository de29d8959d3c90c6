"""What every store of memories and its history promise: files, PostgreSQL, and a service."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.place import FixedClock
from tests.postgres.running import Fleet
from tests.postgres.serving import Running

from reverie.errors import InputError, WriteConflict
from reverie.memory.changes import undo as undoing
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.changes.keeper import Keeper
from reverie.memory.format.index import Pointer
from reverie.memory.format.revisions import Author, Drop, Put, version
from reverie.memory.history import GitHistory
from reverie.memory.secrets.scrubber import SecretScrubber
from reverie.memory.service.connection import ServiceConnection
from reverie.memory.service.opening import Service
from reverie.memory.store import FileStore

ADA = Author("user")
AGENT = Author("main", session="s1", messages=("m1", "m2"), model="opus", dream="")


def memory(text: str, name: str = "A memory") -> bytes:
    return f"---\nname: {name}\ndescription: {text}\ntype: project\n---\n{text}\n".encode()


@dataclass
class Kept:
    """A store under test, its history, and its clock."""

    store: Any
    clock: FixedClock
    folder: Path

    @property
    def history(self) -> Any:
        return self.store.history

    def keeper(self) -> Keeper:
        return Keeper(self.store, self.clock, SecretScrubber(self.folder / "allowed"))

    def put(self, file: str, text: str, author: Author = ADA) -> Any:
        self.clock.advance(60)
        known = self.store.current(file)
        base = None if known is None else version(known)
        return self.store.apply([Put(file, memory(text), base)], author, f"write {file}")


@pytest.fixture(params=["files", "postgres", "service"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    clock = FixedClock()
    if request.param == "files":
        history = GitHistory(tmp_path / "history.git", clock)
        yield Kept(FileStore(tmp_path / "memory", history), clock, tmp_path)
        return
    fleet = Fleet()
    tenant = fleet.tenant("acme")
    tenant.clock = clock
    if request.param == "postgres":
        yield Kept(tenant.store(), clock, tmp_path)
    else:
        running = Running(fleet, tmp_path / "server", clock)
        connection = ServiceConnection(running.url, tenant.admin)
        service = Service(connection, "shop", tmp_path / "home", clock)
        yield Kept(service.store("project")[1], clock, tmp_path)
        connection.close()
        running.close()
    fleet.close()


def test_bytes_come_back(kept: Kept):
    data = memory("we ship on Fridays").replace(b"\n", b"\r\n") + b"\xff\xfe no newline"
    made = kept.store.apply([Put("ship.md", data)], AGENT, "ship it")
    assert kept.store.current("ship.md") == data
    assert kept.store.read("ship.md").version == version(data)
    assert made.author == AGENT
    assert made.files == ("ship.md",)
    assert kept.store.read("none.md") is None
    assert kept.store.apply([Put("ship.md", data, version(data))], ADA, "again") is None


def test_entries_and_listing(kept: Kept):
    kept.put("a.md", "alpha is first")
    kept.put("folder/b.md", "beta is second")
    assert {entry.file for entry in kept.store.entries()} == {"a.md", "folder/b.md"}
    assert set(kept.store.listing()) == {"a.md", "folder/b.md"}
    before = kept.store.listing()["a.md"]
    kept.put("a.md", "alpha is first of all")
    assert kept.store.listing()["a.md"] != before
    assert kept.store.has("A.MD")
    assert not kept.store.has("c.md")
    assert [entry.file for entry in kept.store.some(["a.md", "zzz.md"])] == ["a.md"]
    assert [entry.file for entry in kept.store.alike("what is beta")] == ["folder/b.md"]


def test_the_index_changes_with_its_memories(kept: Kept):
    pointer = Pointer("Ship", "ship.md", "when")
    kept.store.apply(
        [Put("ship.md", memory("x"))], ADA, "one", lambda index: index.with_pointer(pointer)
    )
    assert kept.store.index().pointers == (pointer,)
    assert [entry.file for entry in kept.store.entries()] == ["ship.md"]
    assert "MEMORY.md" not in kept.store.listing()


def test_a_write_is_based_on_a_version(kept: Kept):
    kept.put("a.md", "one\n\ntwo\n\nthree\n\nfour")
    base = kept.store.read("a.md").version
    data = kept.store.current("a.md")
    kept.store.apply([Put("a.md", data.replace(b"\none\n", b"\n1\n"), base)], ADA, "first line")
    # Another writer, who read the first version, changed another line: both are kept.
    merged = data.replace(b"\nfour\n", b"\n4\n")
    kept.store.apply([Put("a.md", merged, base)], ADA, "last line")
    assert b"\n1\n" in kept.store.current("a.md")
    assert b"\n4\n" in kept.store.current("a.md")
    with pytest.raises(WriteConflict):
        kept.store.apply([Put("a.md", data.replace(b"\none\n", b"\nI\n"), base)], ADA, "clash")
    with pytest.raises(WriteConflict):
        kept.store.apply([Put("a.md", memory("mine"))], ADA, "the name is taken")
    with pytest.raises(WriteConflict):
        kept.store.apply([Drop("a.md", base)], ADA, "it changed")
    kept.store.apply([Drop("a.md", kept.store.read("a.md").version)], ADA, "gone")
    assert kept.store.current("a.md") is None


def test_all_changes_or_none(kept: Kept):
    kept.put("a.md", "here")
    with pytest.raises(WriteConflict):
        kept.store.apply([Put("new.md", memory("new")), Put("a.md", memory("taken"))], ADA, "both")
    assert kept.store.current("new.md") is None
    assert len(list(kept.history.log())) == 1


def test_too_large_is_refused(kept: Kept):
    with pytest.raises(InputError, match="a memory holds at most"):
        kept.store.apply([Put("a.md", b"x" * 2_000_000)], ADA, "huge")


def test_history(kept: Kept):
    assert kept.history.is_empty
    first = kept.put("a.md", "one")
    noted = kept.clock.now()
    second = kept.put("a.md", "two", AGENT)
    third = kept.put("b.md", "other")
    assert [found.id for found in kept.history.log()] == [third.id, second.id, first.id]
    assert [found.id for found in kept.history.log("a.md")] == [second.id, first.id]
    found = kept.history.revision(second.id[:10])
    assert (found.summary, found.author, found.files) == ("write a.md", AGENT, ("a.md",))
    assert kept.history.revision("HEAD~1").id == second.id
    assert kept.history.parent(second) == first.id
    assert kept.history.read("a.md", first.id) == memory("one")
    assert kept.history.read("b.md", second.id) is None
    assert kept.history.files(second.id) == {"a.md": version(memory("two"))}
    assert kept.history.content(version(memory("one"))) == memory("one")
    assert kept.history.as_of(datetime.fromtimestamp(noted, UTC)).id == first.id
    with pytest.raises(InputError, match="no revision"):
        kept.history.revision("abcdef1234")


def test_diff_and_blame(kept: Kept):
    first = kept.put("a.md", "one")
    data = kept.store.current("a.md") + b"another line\n"
    second = kept.store.apply([Put("a.md", data, version(memory("one")))], AGENT, "a line")
    assert kept.history.diff(first.id).splitlines() == [
        "diff --git a/a.md b/a.md",
        *[line for line in kept.history.diff(first.id).splitlines() if line.startswith("index ")],
        "--- a/a.md",
        "+++ b/a.md",
        *[line for line in kept.history.diff(first.id).splitlines() if line.startswith("@@")],
        " type: project",
        " ---",
        " one",
        "+another line",
    ]
    lines = kept.history.blame("a.md")
    assert [line.revision.id for line in lines] == [first.id] * 6 + [second.id]
    with pytest.raises(InputError, match="not in the history"):
        kept.history.blame("none.md")


def test_undo_and_redo(kept: Kept):
    kept.put("a.md", "one")
    second = kept.put("a.md", "two")
    kept.put("b.md", "kept")
    undoing.undo(kept.store, kept.history, [second], ADA)
    assert kept.store.current("a.md") == memory("one")
    assert kept.store.current("b.md") == memory("kept")
    [undone] = [found for found in kept.history.log() if found.author.undoes]
    assert undone.author.undoes == (second.id,)


def test_the_keeper_works_on_it(kept: Kept):
    keeper = kept.keeper()
    made = keeper.remember(NewMemory("We deploy the shop with make ship every Friday."), ADA)
    assert isinstance(made, Remembered)
    again = keeper.remember(NewMemory("We deploy the shop with make ship every Friday."), ADA)
    assert not isinstance(again, Remembered)
    newer = keeper.remember(
        NewMemory("We deploy the shop with make ship every Monday.", supersedes=made.topic.file),
        ADA,
    )
    assert isinstance(newer, Remembered)
    assert kept.store.read(made.topic.file).topic.superseded_by == newer.topic.file
    keeper.forget(newer.topic.file, ADA)
    assert kept.store.read(newer.topic.file) is None


def test_sixteen_writers_lose_nothing(kept: Kept):
    kept.put("shared.md", "start")

    def write(number: int) -> int:
        kept.store.apply([Put(f"own_{number}.md", memory(f"own {number}"))], ADA, "own")
        for _ in range(100 if number % 4 == 0 else 0):
            data = kept.store.current("shared.md")
            try:
                fresh = data + f"line {number}\n".encode()
                kept.store.apply([Put("shared.md", fresh, version(data))], ADA, f"by {number}")
            except WriteConflict:
                continue
            return 1
        return 0

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(write, range(16))) == 4
    text = kept.store.current("shared.md").decode()
    assert sorted(line for line in text.splitlines() if line.startswith("line ")) == sorted(
        f"line {number}" for number in range(0, 16, 4)
    )
    assert len(kept.store.entries()) == 17
    assert len(list(kept.history.log())) == 1 + 16 + 4
