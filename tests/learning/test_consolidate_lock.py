"""One dream at a time: when the lock can be taken, and its mtime afterwards."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.place import NOON, FixedClock

from reverie.errors import StorageError
from reverie.files.locks import STALE_AFTER, Holder, gone, started
from reverie.learning.dreaming.gates import FILE, Busy, ConsolidateLock, Held

HERE = socket.gethostname()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def lock(tmp_path: Path, clock: FixedClock) -> ConsolidateLock:
    return ConsolidateLock(tmp_path / "memory" / FILE, clock)


def held(lock: ConsolidateLock) -> Held:
    taken = lock.acquire()
    assert isinstance(taken, Held)
    return taken


def test_before_the_first_dream_there_is_no_time(lock: ConsolidateLock) -> None:
    assert lock.last_dream() is None
    held(lock)
    assert lock.last_dream() is None


def test_the_body_begins_with_the_process_that_dreams(lock: ConsolidateLock) -> None:
    held(lock)
    lines = lock.path.read_text().splitlines()
    assert lines[:3] == [str(os.getpid()), HERE, started(os.getpid())]


def test_the_body_ends_with_when_and_a_token_of_its_own(
    lock: ConsolidateLock, clock: FixedClock
) -> None:
    clock.advance(0.12345)
    taken = held(lock)
    lines = lock.path.read_text().splitlines()
    assert lines[3] == f"{NOON + 0.123:.3f}"
    assert len(lines[4]) == 16
    assert taken.is_ours
    taken.release("failed")
    assert not taken.is_ours
    assert held(lock).holder.token != lines[4]


def test_the_file_is_locked_while_it_is_replaced_and_no_descriptor_stays_open(
    lock: ConsolidateLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    held(lock).release("completed")
    really, taken = fcntl.flock, []

    def replaced_at_first(file: int, operation: int) -> None:
        taken.append(operation)
        if len(taken) == 1:
            other = lock.path.with_name("other")
            other.write_bytes(lock.path.read_bytes())
            other.replace(lock.path)
        if len(taken) == 3:
            raise KeyboardInterrupt
        really(file, operation)

    monkeypatch.setattr(fcntl, "flock", replaced_at_first)
    opened = len(list(Path("/dev/fd").iterdir()))
    assert isinstance(lock.acquire(), Held)
    assert taken == [fcntl.LOCK_EX, fcntl.LOCK_EX]
    assert len(list(Path("/dev/fd").iterdir())) == opened
    with pytest.raises(KeyboardInterrupt):
        lock.acquire()
    assert len(list(Path("/dev/fd").iterdir())) == opened


def test_drafts_of_processes_that_ended_are_removed(lock: ConsolidateLock) -> None:
    held(lock).release("failed")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = {
        f"{FILE}.{HERE}.{gone.pid}.ab": False,
        f"{FILE}.{HERE}.{os.getpid()}.ab": True,
        f"{FILE}.{HERE}.x{gone.pid}.ab": True,
        f"{FILE}.another host.{gone.pid}.ab": True,
    }
    for name in names:
        lock.path.with_name(name).write_text("")
    held(lock)
    assert {name: lock.path.with_name(name).exists() for name in names} == names


def test_while_it_is_held_nobody_else_gets_it(lock: ConsolidateLock) -> None:
    held(lock)
    second = lock.acquire()
    assert isinstance(second, Busy)
    assert second.reason == f"process {os.getpid()} is dreaming"


def test_a_completed_dream_leaves_the_time_at_now(lock: ConsolidateLock, clock: FixedClock) -> None:
    taken = held(lock)
    clock.advance(60)
    assert taken.release("completed")
    assert lock.last_dream() == NOON + 60
    assert isinstance(lock.acquire(), Held)


@pytest.mark.parametrize("end", ["failed", "killed"])
def test_any_other_end_leaves_the_time_as_it_was(
    lock: ConsolidateLock, clock: FixedClock, end: str
) -> None:
    held(lock).release("completed")
    clock.advance(100_000)
    again = held(lock)
    assert lock.last_dream() == NOON
    again.release(end)  # type: ignore[arg-type]
    assert lock.last_dream() == NOON


def test_it_is_released_once(lock: ConsolidateLock, clock: FixedClock) -> None:
    taken = held(lock)
    assert taken.release("failed")
    assert not taken.release("completed")
    assert lock.last_dream() is None
    other = held(lock)
    assert not taken.release("completed")
    assert other.is_ours


def dead() -> int:
    """The id of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


ME = Holder(os.getpid(), HERE, started(os.getpid()) or "", NOON, "token")

HOLDERS = {
    "alive": (ME, 0, False),
    "alive, an hour": (ME, STALE_AFTER, False),
    "alive, for too long": (ME, STALE_AFTER + 1, True),
    "alive, our clock went back": (ME, -10 * STALE_AFTER, False),
    "another process of that number": (replace(ME, started="boot:1"), 0, True),
    "alive, start time unknown": (replace(ME, started=""), 0, False),
    "only a number": (Holder(os.getpid(), "", "", NOON, ""), 0, False),
    "another host": (replace(ME, host="elsewhere", pid=2**22), 10, False),
    "another host, for too long": (replace(ME, host="elsewhere"), STALE_AFTER + 1, True),
    "another host, whose clock is a little ahead": (replace(ME, host="elsewhere"), -300, False),
    "another host, whose clock is nonsense": (
        replace(ME, host="elsewhere"),
        -STALE_AFTER * 2,
        True,
    ),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_who_can_be_passed_over(name: str) -> None:
    holder, age, expected = HOLDERS[name]
    assert gone(holder, NOON + age) is expected


def test_a_dead_holder_can_be_passed_over() -> None:
    assert gone(replace(ME, pid=dead(), started=""), NOON)


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="only Linux tells a zombie")
def test_a_zombie_can_be_passed_over() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert gone(replace(ME, pid=child.pid, started=""), NOON)
    finally:
        child.wait()


def test_who_was_too_slow_learns_that_it_is_not_his_any_more(
    lock: ConsolidateLock, clock: FixedClock
) -> None:
    slow = held(lock)
    clock.advance(STALE_AFTER + 1)
    quick = held(lock)
    assert not slow.is_ours
    assert not slow.release("completed")
    assert quick.is_ours


def test_a_killed_holder_leaves_it_to_the_next_and_the_time_as_it_was(
    lock: ConsolidateLock,
) -> None:
    held(lock).release("completed")
    program = (
        "import sys; from pathlib import Path; from tests.place import FixedClock\n"
        "from reverie.learning.dreaming.gates import ConsolidateLock\n"
        "lock = ConsolidateLock(Path(sys.argv[1]), FixedClock())\n"
        "print(type(lock.acquire()).__name__, flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(lock.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        text=True,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "Held\n"
        assert isinstance(lock.acquire(), Busy)
        child.send_signal(signal.SIGKILL)
    assert lock.last_dream() == NOON
    held(lock).release("killed")
    assert lock.last_dream() == NOON


@pytest.mark.parametrize("body", [b"", b"\n", b"nonsense", b"\xff\xfe", b"12x\n"])
def test_a_body_that_names_nobody_holds_nothing(lock: ConsolidateLock, body: bytes) -> None:
    lock.path.parent.mkdir()
    lock.path.write_bytes(body)
    assert isinstance(lock.acquire(), Held)


def test_nothing_is_left_beside_it(lock: ConsolidateLock) -> None:
    (lock.path.parent).mkdir()
    left = lock.path.with_name(f"{FILE}.{HERE}.{dead()}.abcd")
    left.write_bytes(b"")
    held(lock).release("completed")
    assert [path.name for path in lock.path.parent.iterdir()] == [FILE]


def test_a_link_in_its_place_is_not_followed(lock: ConsolidateLock, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    lock.path.parent.mkdir()
    lock.path.symlink_to(victim)
    with pytest.raises(StorageError, match="cannot take the lock"):
        lock.acquire()
    assert victim.read_text() == "mine"
