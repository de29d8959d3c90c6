"""Processes killed at every step of sending, taking and acknowledging: no letter is lost or read twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.place import FixedClock
from tests.subagents.mailing import dies_at, drained, fill, folder, letter, opened

from reverie.subagents.mailbox import Mailbox, new_reader

REPOSITORY = Path(__file__).parents[2]
STEPS = range(1, 200)


def assert_clean(box: Mailbox, team: Path) -> None:
    """Whatever died, nothing of it is left over."""
    box.recover()
    assert list(folder(team, "drafts").iterdir()) == []
    assert [token.name for token in folder(team, "refused").iterdir()] == []


def take_one(box: Mailbox) -> None:
    box.take(new_reader(FixedClock()))


def test_a_writer_killed_at_any_step_put_in_all_or_nothing(tmp_path: Path) -> None:
    arrived = set()
    for step in STEPS:
        team = tmp_path / str(step)
        box = opened(team)
        fill(box, 1)
        killed = dies_at(step, partial(box.send, letter(2)))
        box.send(letter(3))
        assert_clean(box, team)
        found = drained(box)
        assert found in (["worker-1", "worker-3"], ["worker-1", "worker-2", "worker-3"])
        arrived.add(len(found))
        if not killed:
            assert len(found) == 3
            break
    assert arrived == {2, 3}
    assert step > 8


def test_a_letter_a_writer_sends_again_is_there_once(tmp_path: Path) -> None:
    for step in STEPS:
        box = opened(tmp_path / str(step))
        killed = dies_at(step, partial(box.send, letter(1)))
        box.send(letter(1))
        assert drained(box) == ["worker-1"]
        if not killed:
            break


def test_a_reader_killed_at_any_step_of_taking_has_read_nothing(tmp_path: Path) -> None:
    for step in STEPS:
        team = tmp_path / str(step)
        box = opened(team)
        fill(box, 2)
        killed = dies_at(step, partial(take_one, box))
        assert box.unread() == 2
        assert_clean(box, team)
        assert list(folder(team, "claimed").iterdir()) == []
        assert drained(box) == ["worker-1", "worker-2"]
        if not killed:
            break
    assert step > 8


def test_a_reader_killed_at_any_step_of_acknowledging_read_it_or_not(tmp_path: Path) -> None:
    left = set()
    for step in STEPS:
        team = tmp_path / str(step)
        box = opened(team)
        fill(box, 2)

        def read(box: Mailbox = box) -> None:
            reader = new_reader(FixedClock())
            taken = box.take(reader)
            assert taken is not None
            box.acknowledge(taken, reader)

        killed = dies_at(step, read)
        assert_clean(box, team)
        found = drained(box)
        assert found in (["worker-1", "worker-2"], ["worker-2"])
        left.add(len(found))
        if not killed:
            assert found == ["worker-2"]
            break
    assert left == {1, 2}


def test_who_recovers_may_be_killed_too(tmp_path: Path) -> None:
    for step in STEPS:
        box = opened(tmp_path / str(step))
        fill(box, 3)

        def take_two(box: Mailbox = box) -> None:
            reader = new_reader(FixedClock())
            box.take(reader)
            box.take(reader)

        dies_at(10_000, take_two)
        killed = dies_at(step, box.recover)
        assert drained(box) == ["worker-1", "worker-2", "worker-3"]
        if not killed:
            break
    assert step > 8


@pytest.mark.parametrize("after", [1, 7, 23])
def test_writers_and_readers_killed_in_the_middle(tmp_path: Path, after: int) -> None:
    """Whole processes at moments nobody chose; what they said they did, they did."""
    box = opened(tmp_path)
    writer = _started(tmp_path, "write")
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


def _started(team: Path, part: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.subagents.mail_worker", str(team), part]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)


def _lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


def _killed(process: subprocess.Popen[str]) -> list[str]:
    os.kill(process.pid, signal.SIGKILL)
    assert process.stdout is not None
    with process.stdout:
        rest = process.stdout.read()
    process.wait()
    # The last line may be torn.
    return rest.split("\n")[:-1]
