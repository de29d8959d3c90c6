"""Writing, scanning and listing memory: what a durable write with history costs, and on top of what.

A write is measured turn by turn with the least that durability costs anyway: the same bytes,
flushed and renamed into place. A scan is measured against looking at every file and no more.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from report import median, milliseconds, publish

from reverie.memory import packing
from reverie.memory.directory import Directory
from reverie.memory.format.index import Index, Pointer, more_line
from reverie.memory.format.revisions import Author, Put
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore
from reverie.memory.watcher import Scanner

WRITES = 41
WRITE_BAR = 15.0
SCAN_BARS = {200: 5.0, 10_000: 30.0}
COLUMNS = ["what", "memories", "median ms", "p95 ms", "bar ms", "× baseline", "note"]
BODY = "The deploy needs a second pair of eyes.\n\n**Why:** it went wrong in March.\n" * 4


class SteadyClock:
    def now(self) -> float:
        return 1_750_000_000.0


class CountingDirectory(Directory):
    """The real directory, counting what is read."""

    reads = 0

    def read(self, name: str, most: int | None = None) -> bytes | None:
        self.reads += 1
        return super().read(name, most)


def memory(number: int) -> bytes:
    head = (
        f"name: Memory {number}\ndescription: what was learned the {number}th time\ntype: project"
    )
    return f"---\n{head}\n---\n{BODY}".encode()


def fill(root: Path, count: int) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (root / f"project_something_learned_{number:06}.md").write_bytes(memory(number))


def store_at(base: Path, count: int) -> FileStore:
    """A memory of this size with an index of 150 lines and a history."""
    fill(base / "memory", count)
    lines = [f"- [Memory {n}](project_something_learned_{n:06}.md) — a hook\n" for n in range(150)]
    (base / "memory" / "MEMORY.md").write_text("".join(lines))
    store = FileStore(base / "memory", GitHistory(base / "history.git", SteadyClock()))
    store.notice_hand_edits()
    return store


def write(store: FileStore, number: int) -> None:
    file = f"feedback_new_{number}.md"
    store.apply(
        (Put(file, memory(number)),),
        Author("main", session="s"),
        f"remember {number}",
        lambda index: index.with_pointer(Pointer(f"New {number}", file, "a hook")),
    )


def bare_write(folder: Path, files: dict[str, bytes]) -> None:
    """The same files, flushed and renamed into place, and nothing else."""
    for name, data in files.items():
        with (folder / "temporary").open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        (folder / "temporary").rename(folder / name)
        opened = os.open(folder, os.O_RDONLY)
        os.fsync(opened)
        os.close(opened)


def writes(base: Path, count: int) -> list[list[Any]]:
    store = store_at(base, count)
    bare = base / "bare"
    bare.mkdir()
    before = _size(base / "history.git")
    taken: list[float] = []
    least: list[float] = []
    for number in range(WRITES):
        taken += milliseconds(lambda n=number: write(store, n), 1)  # type: ignore[misc]
        index = (store.root / "MEMORY.md").read_bytes()
        files = {f"{number}.md": memory(number), "MEMORY.md": index}
        least += milliseconds(lambda f=files: bare_write(bare, f), 1)  # type: ignore[misc]
    grown = (_size(base / "history.git") - before) / WRITES / 1024
    note = f"history grows by {grown:,.0f} kB a write"
    return [
        ["same bytes, flushed and renamed", count, median(least), p95(least), "", 1.0, ""],
        [
            "one durable write with history",
            count,
            median(taken),
            p95(taken),
            WRITE_BAR,
            median(taken) / median(least),
            note,
        ],
    ]


def many_writes(base: Path, count: int, steps: int = 5) -> Iterator[list[Any]]:
    """So many writes one after another, packed in the background: time and size must stay flat."""
    base.mkdir()
    store = FileStore(base / "memory", GitHistory(base / "history.git", SteadyClock()))
    size = count // steps
    for step in range(steps):
        taken: list[float] = []
        for number in range(step * size, (step + 1) * size):
            taken += milliseconds(lambda n=number: write_unlisted(store, n), 1)  # type: ignore[misc]
        packing.pack(base / "history.git")
        files = sum(1 for path in (base / "history.git").rglob("*") if path.is_file())
        held = _size(base / "history.git") / 1e6
        note = f"history {held:.1f} MB in {files} files, memories {_size(store.root) / 1e6:.1f} MB"
        done = (step + 1) * size
        yield ["write, one of many", done, median(taken), p95(taken), WRITE_BAR, "", note]


def write_unlisted(store: FileStore, number: int) -> None:
    """A memory that a full index counts instead of listing it, as the keeper does."""
    file = f"feedback_new_{number}.md"

    def counted(index: Index) -> Index:
        if number < 150:
            return index.with_pointer(Pointer(f"New {number}", file, "a hook"))
        lines = [line for line in index.lines if not Index((line,)).more]
        return Index((*lines, more_line(number - 149)))

    store.apply((Put(file, memory(number)),), Author("main"), f"remember {number}", counted)


def scans(base: Path, count: int) -> list[list[Any]]:
    fill(base, count)
    directory = CountingDirectory(base)
    scanner = Scanner(directory)
    scanner.entries()
    directory.reads = 0
    taken: list[float] = []
    least: list[float] = []
    for _ in range(21):
        taken += milliseconds(scanner.entries, 1)
        least += milliseconds(lambda: [item.stat() for item in os.scandir(base)], 1)
    return [
        ["list and stat, no more", count, median(least), p95(least), "", 1.0, ""],
        [
            "scan, nothing changed",
            count,
            median(taken),
            p95(taken),
            SCAN_BARS.get(count, ""),
            median(taken) / median(least),
            f"{directory.reads} files read",
        ],
    ]


def listings(base: Path, count: int) -> Iterator[list[Any]]:
    fill(base, count)
    directory = CountingDirectory(base)
    scanner = Scanner(directory)
    for what in ("listed for the first time", "listed again"):
        directory.reads = 0
        (taken,) = milliseconds(scanner.entries, 1)
        yield [what, count, taken, taken, "", "", f"{directory.reads} files read"]


def commits(base: Path) -> Iterator[list[Any]]:
    """The same commit (one file of 200 changed) by each library, flushed to the disk by both."""
    history = GitHistory(base / "one" / "history.git", SteadyClock())
    history.record({f"{n}.md": memory(n) for n in range(200)}, Author(), "begin")
    numbers = iter(range(1_000))
    ours = milliseconds(lambda: history.record({"0.md": b"%d" % next(numbers)}, Author(), "x"), 41)
    note = f"import {imported('pygit2'):.0f} ms"
    yield ["commit by pygit2 (flushed)", 200, median(ours), p95(ours), "", 1.0, note]
    if find_spec("dulwich") is None:
        return
    theirs = milliseconds(dulwich_commit(base / "dulwich"), 41)
    note = f"import {imported('dulwich.repo'):.0f} ms"
    ratio = median(theirs) / median(ours)
    yield ["commit by dulwich (flushed)", 200, median(theirs), p95(theirs), "", ratio, note]


def dulwich_commit(base: Path) -> Callable[[], None]:
    objects: Any = importlib.import_module("dulwich.objects")
    repo: Any = importlib.import_module("dulwich.repo").Repo.init_bare(str(base), mkdir=True)
    repo.object_store.fsync_object_files = True
    tree = objects.Tree()
    for number in range(200):
        blob = objects.Blob.from_string(memory(number))
        repo.object_store.add_object(blob)
        tree.add(b"%d.md" % number, 0o100644, blob.id)
    numbers = iter(range(1_000))

    def commit() -> None:
        blob = objects.Blob.from_string(b"%d" % next(numbers))
        tree[b"0.md"] = (0o100644, blob.id)
        made = objects.Commit()
        made.tree = tree.id
        made.parents = [repo.refs[b"refs/heads/main"]] if b"refs/heads/main" in repo.refs else []
        made.author = made.committer = b"user <reverie@localhost>"
        made.author_time = made.commit_time = 1_750_000_000
        made.author_timezone = made.commit_timezone = 0
        made.message = b"x"
        for item in (blob, tree, made):
            repo.object_store.add_object(item)
        repo.refs[b"refs/heads/main"] = made.id

    return commit


def imported(module: str) -> float:
    """How long an import takes, over an empty Python."""

    def run(code: str) -> float:
        command = [sys.executable, "-c", code]
        return median(milliseconds(lambda: subprocess.run(command, check=True), 9))

    return run(f"import {module}") - run("pass")


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory(prefix="reverie-bench-") as scratch:
        base = Path(scratch)
        for count in (200, 2_000, 10_000):
            rows += writes(base / f"writes-{count}", count)
        for count in (200, 10_000):
            rows += scans(base / f"scans-{count}", count)
        rows += listings(base / "listing", 100_000)
        rows += many_writes(base / "many", 5_000)
        rows += commits(base)
    publish("memory_writes", COLUMNS, rows)
    print(f"load when it ended: {', '.join(f'{load:.1f}' for load in os.getloadavg())}")
    if find_spec("dulwich") is None:
        print("dulwich is not installed, so it was not measured: pip install dulwich")


if __name__ == "__main__":
    main()
