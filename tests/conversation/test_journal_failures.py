"""A full disk, a read-only folder, a process that dies: what was written stays, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conversation.build import BIG, RECORDS

from reverie.conversation.journal import Journal, Recorder, load
from reverie.errors import StorageError
from reverie.events import Event, TroubleNoted

REPOSITORY = Path(__file__).parents[2]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_writers_killed_at_any_moment_lose_nothing_they_reported(tmp_path: Path) -> None:
    done = run("-m", "tests.conversation.crash", tmp_path, "40")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("reported, all there\n")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB, where this machine lets us make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting is not allowed here; the limit on file sizes covers the same")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_changes_nothing_and_is_got_over(small_disk: Path) -> None:
    path = small_disk / "s.jsonl"
    with Journal(path) as journal:
        journal.append(*RECORDS)
        before = path.read_bytes()
        for _ in range(2):
            with pytest.raises(StorageError, match=r"cannot write to the transcript .*free some"):
                journal.append(RECORDS[0], BIG)
            assert path.read_bytes() == before
        journal.append(RECORDS[0])
    assert load(path).records == (*RECORDS, RECORDS[0])


def test_a_full_disk_leaves_a_torn_line_as_torn_as_it_was(small_disk: Path) -> None:
    path = small_disk / "s.jsonl"
    path.write_bytes(b'{"type":"da')
    with Journal(path) as journal:
        with pytest.raises(StorageError):
            journal.append(BIG)
        journal.append(RECORDS[0])
    assert load(path).records == (RECORDS[0],)


# The limit falls inside the second record: a part of it fits, and must be taken back.
LIMITED = """
import resource, sys
from pathlib import Path
from tests.conversation.build import BIG, RECORDS
from reverie.errors import StorageError
from reverie.conversation.journal import Journal, load

path = Path(sys.argv[1])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
with Journal(path) as journal:
    journal.append(*RECORDS)
    before = path.read_bytes()
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, hard))
    try:
        journal.append(BIG)
    except StorageError as error:
        print(error)
    assert path.read_bytes() == before
    journal.append(RECORDS[0])
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    journal.append(BIG)
assert load(path).records == (*RECORDS, RECORDS[0], BIG)
"""


def test_a_limit_on_file_sizes_is_like_a_full_disk(tmp_path: Path) -> None:
    done = run("-c", LIMITED, tmp_path / "s.jsonl")
    assert done.returncode == 0, done.stderr
    assert "only 1000 of" in done.stdout
    assert "nothing was lost" in done.stdout


def test_an_outage_is_told_once_and_its_records_wait(tmp_path: Path) -> None:
    heard: list[Event] = []
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no device that is always full")
    path = tmp_path / "s.jsonl"
    path.symlink_to(full)
    with Journal(path) as journal:
        recorder = Recorder(journal, heard.append)
        for record in RECORDS[:3]:
            recorder.append(record)
        assert recorder.behind == 3
    [told] = heard
    assert isinstance(told, TroubleNoted)
    assert told.what.endswith("1 records wait")


def test_a_device_that_takes_nothing(tmp_path: Path) -> None:
    """`/dev/full` cannot be cut back either: the next line would start on its own."""
    path = tmp_path / "s.jsonl"
    path.symlink_to("/dev/full")
    with Journal(path) as journal:
        for _ in range(2):
            with pytest.raises(StorageError, match="No space left on device"):
                journal.append(RECORDS[0])


def test_a_read_only_disk(small_disk: Path) -> None:
    path = small_disk / "s.jsonl"
    with Journal(path) as journal:
        journal.append(*RECORDS)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StorageError, match=r"cannot open the transcript .*: Read-only file system"):
        Journal(path)
    assert load(path).records == RECORDS


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere: see the read-only disk")
def test_a_read_only_folder(tmp_path: Path) -> None:
    folder = tmp_path / "sealed"
    folder.mkdir(mode=0o500)
    with pytest.raises(StorageError, match="Permission denied"):
        Journal(folder / "s.jsonl")
    folder.chmod(0o700)
