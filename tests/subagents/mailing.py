"""A team's post for tests, and processes that die at an exact step of what they do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.place import NOON, FixedClock

from reverie.subagents.letters import Letter
from reverie.subagents.mailbox import INBOX, Mailbox, Post, Sent, new_reader

BOX = "lead"
_FORK = multiprocessing.get_context("fork")
# Between two of these, nothing that others can see is changed.
_STEPS = frozenset(
    {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.utime", "fcntl.flock"}
)


def letter(number: int, sender: str = "worker", text: str = "done", at: float = NOON) -> Letter:
    return Letter(sender, BOX, text, f"number {number}", "message", at, f"{sender}-{number}")


def opened(team: Path) -> Mailbox:
    return Post(team, FixedClock()).open(BOX)


def folder(team: Path, part: str) -> Path:
    return team / BOX / INBOX / part


def fill(box: Mailbox, count: int, sender: str = "worker") -> None:
    for number in range(1, count + 1):
        assert isinstance(box.send(letter(number, sender)), Sent)


def drained(box: Mailbox) -> list[str]:
    """Everything there is to read, read by somebody new."""
    reader = new_reader(FixedClock())
    found = []
    while (taken := box.take(reader)) is not None:
        found.append(taken.id)
        assert box.acknowledge(taken, reader)
    return found


def dies_at(step: int, work: Callable[[], object]) -> bool:
    """Do it in a process that is killed before that step; False when it was done by then."""
    process = _FORK.Process(target=_doomed, args=(step, work))
    process.start()
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0


def _doomed(step: int, work: Callable[[], object]) -> None:
    steps = 0

    def count(event: str, _: object) -> None:
        nonlocal steps
        if event in _STEPS:
            steps += 1
            if steps == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    work()
    os._exit(0)
