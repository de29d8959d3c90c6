"""What may happen to the index file, and what a person sees: an answer, or nothing; never an error."""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recall.shelf import NOW, HashedWords, files, fill, memory, shelf

from reverie.recall import index as index_module
from reverie.recall.index import RecallIndex

DOCS = [memory(f"{i}.md", f"note number{i} about heron") for i in range(20)]


def damage(path: Path, how: str) -> None:
    match how:
        case "not a database":
            path.write_bytes(b"this was never SQLite" * 100)
        case "torn":
            data = bytearray(path.read_bytes())
            data[4096:40960] = b"\xff" * (40960 - 4096)
            path.write_bytes(data)
        case "empty":
            path.write_bytes(b"")
        case "older":
            with sqlite3.connect(path) as connection:
                connection.execute("UPDATE meta SET value = '0/old' WHERE key = 'format'")
            connection.close()
        case "foreign":
            path.unlink()
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE somebody_elses (x)")
            connection.close()


@pytest.mark.parametrize("how", ["not a database", "torn", "empty", "older", "foreign"])
@pytest.mark.parametrize("embedder", [None, HashedWords()], ids=["words", "vectors"])
def test_a_broken_index_is_built_again(tmp_path, how, embedder):
    shelf(tmp_path, *DOCS, embedder=embedder).close()
    for ending in ("-wal", "-shm"):
        (tmp_path / f"recall.db{ending}").unlink(missing_ok=True)
    damage(tmp_path / "recall.db", how)
    index = RecallIndex.open(tmp_path / "recall.db", embedder)
    # A question on the broken file is answered with what there is: nothing, without an error.
    assert isinstance(files(index, "heron number3"), list)
    assert fill(index, *DOCS).problem is None
    assert files(index, "number3")[0] == "3.md"
    index.close()


def test_deleted_between_two_questions(tmp_path):
    index = shelf(tmp_path, *DOCS)
    for path in tmp_path.glob("recall.db*"):
        path.unlink()
    assert files(index, "number3") == []
    fill(index, *DOCS)
    assert files(index, "number3") == ["3.md"]


def test_deleted_during_a_question(tmp_path, monkeypatch):
    index = shelf(tmp_path, *DOCS)
    ranked = index_module.ranked

    def vanish(*given):
        shutil.rmtree(tmp_path)
        return ranked(*given)

    monkeypatch.setattr(index_module, "ranked", vanish)
    results = index.search("number3", now=NOW)
    assert [hit.key for hit in results.hits] in ([], ["3.md"])
    monkeypatch.undo()
    assert files(index, "number3") == []


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    index = RecallIndex.open(tmp_path / "file" / "recall.db")
    assert fill(index, *DOCS).problem
    results = index.search("heron", now=NOW)
    assert (results.hits, len(results.notes)) == ((), 1)
    assert (index.files(), index.sessions()) == ({}, {})


def test_another_writer_is_waited_for_then_reported(tmp_path):
    shelf(tmp_path, *DOCS).close()
    other = sqlite3.connect(tmp_path / "recall.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    index = RecallIndex.open(tmp_path / "recall.db", busy_seconds=0.05)
    assert "locked" in (fill(index, memory("new.md", "new")).problem or "")
    assert files(index, "number3") == ["3.md"]
    other.execute("ROLLBACK")
    other.close()
    assert fill(index, memory("new.md", "new")).problem is None


def test_disk_full_while_indexing(tmp_path):
    """A child that may not write past 300 kB says so, goes on answering, and leaves a sound file."""
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(tmp_path / "recall.db")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.splitlines() == ["first: None", "second: stopped", "found: 3.md"], (
        done.stderr
    )
    index = RecallIndex.open(tmp_path / "recall.db")
    assert files(index, "number3") == ["3.md"]
    assert fill(index, *DOCS).problem is None


_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, ".")
from tests.recall.shelf import NOW, fill, memory
from reverie.recall.index import RecallIndex
docs = [memory(f"{i}.md", f"note number{i} about heron") for i in range(20)]
index = RecallIndex.open(Path(sys.argv[1]))
print("first:", fill(index, *docs).problem)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
big = [memory(f"big{i}.md", " ".join(f"w{i}x{j}" for j in range(2000))) for i in range(60)]
print("second:", "stopped" if fill(index, *docs, *big).problem else "went through")
print("found:", index.search("number3", now=NOW).hits[0].key)
"""


def test_readers_and_a_writer_in_several_processes(tmp_path):
    shelf(tmp_path, *DOCS).close()
    context = multiprocessing.get_context("spawn")
    with context.Pool(3) as pool:
        writing = pool.apply_async(_write, (str(tmp_path / "recall.db"),))
        reading = [pool.apply_async(_read, (str(tmp_path / "recall.db"),)) for _ in range(2)]
        assert writing.get(60) == 0
        assert [result.get(60) for result in reading] == [0, 0]


def _write(path: str) -> int:
    index = RecallIndex.open(Path(path), busy_seconds=10)
    problems = 0
    for round_ in range(15):
        docs = [*DOCS, *(memory(f"r{round_}-{i}.md", f"round {round_}") for i in range(20))]
        problems += fill(index, *docs).problem is not None
    return problems


def _read(path: str) -> int:
    """How often an answer was not the one that is there all the time."""
    index = RecallIndex.open(Path(path))
    return sum(files(index, "number3")[:1] != ["3.md"] for _ in range(60))
