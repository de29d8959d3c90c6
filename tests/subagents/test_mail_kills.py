"""Processes killed at every step of sending, taking and acknowledging: no letter is lost or read twice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.place import FixedClock
from tests.subagents.mailing import BOX, dies_at, drained, fill, letter, post_in, rows

from reverie.subagents.letters import Letter
from reverie.subagents.mail_store import Post, new_reader

REPOSITORY = Path(__file__).parents[2]
STEPS = range(1, 400)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One file for all: every step has a team of its own in it."""
    post_in(tmp_path).open(BOX)
    return tmp_path


def filled(folder: Path, step: int, count: int) -> Callable[[], Post]:
    """A way to open the team of a step, with so many letters in its box; no connection stays open."""
    post = post_in(folder, f"project/{step}")
    post.open(BOX)
    fill(post, count)
    post.close()
    return lambda: post_in(folder, f"project/{step}")


def send(team: Callable[[], Post], sent: Letter) -> None:
    team().send(sent)


def take(team: Callable[[], Post], count: int = 1) -> None:
    box, reader = team().open(BOX), new_reader(FixedClock())
    for _ in range(count):
        box.take(reader)


def acknowledge(team: Callable[[], Post]) -> None:
    box, reader = team().open(BOX), new_reader(FixedClock())
    taken = box.take(reader)
    assert taken is not None
    box.acknowledge(taken, reader)


def recover(team: Callable[[], Post]) -> None:
    team().open(BOX).recover()


def make(folder: Path) -> None:
    post_in(folder).open(BOX)


def assert_whole(folder: Path) -> None:
    assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    assert not list(folder.glob("mail-*.sqlite"))


def test_a_writer_killed_at_any_step_put_in_all_or_nothing(folder: Path) -> None:
    arrived = set()
    for step in STEPS:
        team = filled(folder, step, 1)
        killed = dies_at(step, partial(send, team, letter(2)))
        post = team()
        post.send(letter(3))
        found = drained(post.open(BOX))
        assert found in (["worker-1", "worker-3"], ["worker-1", "worker-2", "worker-3"])
        arrived.add(len(found))
        post.close()
        if not killed:
            assert len(found) == 3
            break
    assert arrived == {2, 3}
    assert step > 20
    assert_whole(folder)


def test_a_letter_a_writer_sends_again_is_there_once(folder: Path) -> None:
    for step in STEPS:
        team = filled(folder, step, 0)
        killed = dies_at(step, partial(send, team, letter(1)))
        post = team()
        post.send(letter(1))
        assert drained(post.open(BOX)) == ["worker-1"]
        post.close()
        if not killed:
            break


def test_a_reader_killed_at_any_step_of_taking_has_read_nothing(folder: Path) -> None:
    for step in STEPS:
        team = filled(folder, step, 2)
        killed = dies_at(step, partial(take, team))
        post = team()
        box = post.open(BOX)
        assert box.unread() == 2
        assert drained(box) == ["worker-1", "worker-2"]
        post.close()
        if not killed:
            break
    assert step > 20
    assert_whole(folder)


def test_a_reader_killed_at_any_step_of_acknowledging_read_it_or_not(folder: Path) -> None:
    left = set()
    for step in STEPS:
        team = filled(folder, step, 2)
        killed = dies_at(step, partial(acknowledge, team))
        post = team()
        found = drained(post.open(BOX))
        assert found in (["worker-1", "worker-2"], ["worker-2"])
        left.add(len(found))
        post.close()
        if not killed:
            assert found == ["worker-2"]
            break
    assert left == {1, 2}
    assert_whole(folder)


def test_a_process_that_recovers_may_be_killed_too(folder: Path) -> None:
    for step in STEPS:
        team = filled(folder, step, 3)
        dies_at(10_000, partial(take, team, 2))
        killed = dies_at(step, partial(recover, team))
        post = team()
        assert drained(post.open(BOX)) == ["worker-1", "worker-2", "worker-3"]
        post.close()
        if not killed:
            break
    assert step > 20


def test_a_file_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    for step in STEPS:
        folder = tmp_path / str(step)
        killed = dies_at(step, partial(make, folder))
        notes: list[str] = []
        post = Post(folder, "project/other", FixedClock(), notes.append)
        box = post.open(BOX)
        fill(post, 1)
        assert drained(box) == ["worker-1"]
        post.close()
        assert notes == []
        assert [path.name for path in folder.glob("mail*")] == ["mail.sqlite"]
        if not killed:
            break
    assert step > 20


def test_a_journal_torn_at_any_byte_loses_no_letter_before_it(tmp_path: Path) -> None:
    post = post_in(tmp_path / "whole")
    post.open(BOX)
    fill(post, 6)
    journal = tmp_path / "whole" / "mail.sqlite-wal"
    size = journal.stat().st_size
    before = 0
    for kept in (*range(0, size, 1_031), size):
        torn = tmp_path / str(kept)
        torn.mkdir(0o700)
        shutil.copy(tmp_path / "whole" / "mail.sqlite", torn)
        (torn / "mail.sqlite-wal").write_bytes(journal.read_bytes()[:kept])
        notes: list[str] = []
        again = Post(torn, "project/session", FixedClock(), notes.append)
        found = drained(again.open(BOX))
        again.close()
        assert found == [f"worker-{number}" for number in range(1, len(found) + 1)]
        assert before <= len(found)
        assert notes == []
        before = len(found)
    assert before == 6


@pytest.mark.parametrize("after", [1, 7, 23])
def test_writers_and_readers_killed_in_the_middle(tmp_path: Path, after: int) -> None:
    """Whole processes at moments no test chose; what they said they did, they did."""
    post = post_in(tmp_path)
    box = post.open(BOX)
    writer = _started(tmp_path, "write:worker")
    sent = _lines(writer, after * 2)
    reader = _started(tmp_path, "read")
    read = _lines(reader, after)
    sent += _killed(writer)
    read += _killed(reader)
    left = drained(box)

    # What was acknowledged right before the end may not have been said any more: one letter.
    assert read == sent[: len(read)] or sent == read[: len(sent)]
    assert not set(read) & set(left)
    numbers = [int(found.rpartition("-")[2]) for found in (*read, *left)]
    missing = set(range(1, max(numbers) + 1)) - set(numbers)
    assert missing <= {len(read) + 1}
    assert numbers == sorted(numbers)
    assert set(sent) <= {*read, *left, *(f"worker-{number}" for number in missing)}


def test_two_writers_and_three_readers_share_every_letter_once(tmp_path: Path) -> None:
    post = post_in(tmp_path)
    post.open(BOX)
    writers = [_started(tmp_path, f"write:{name}") for name in ("ada", "ben")]
    sent = [line for writer in writers for line in _lines(writer, 30)]
    sent += [line for writer in writers for line in _killed(writer)]
    readers = [_started(tmp_path, "read all") for _ in range(3)]
    read = [reader.communicate()[0].split() for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0, 0]
    # A letter that was put in while its writer was killed was not said to be sent.
    found = sorted(line for lines in read for line in lines)
    assert len(found) == len(set(found))
    assert set(sent) <= set(found)
    assert len(found) <= len(sent) + 2
    for lines in read:
        for name in ("ada", "ben"):
            numbers = [int(line.rpartition("-")[2]) for line in lines if line.startswith(name)]
            assert numbers == sorted(numbers)


def _started(folder: Path, part: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.subagents.mail_worker", str(folder), part]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)


def _lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """The first lines of a process; fewer if it ended, since a writer stops when the box is full."""
    assert process.stdout is not None
    lines = (process.stdout.readline().strip() for _ in range(count))
    return [line for line in lines if line]


def _killed(process: subprocess.Popen[str]) -> list[str]:
    os.kill(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    with process.stdout:
        rest = process.stdout.read()
    process.wait()
    # The last line may be torn.
    return rest.split("\n")[:-1]
