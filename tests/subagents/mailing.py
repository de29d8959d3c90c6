"""A team's post for tests, and processes that die at an exact step of what they do."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.place import NOON, FixedClock

from reverie.subagents.letters import Letter, Refused, Sent
from reverie.subagents.mail_store import Mailbox, Post, new_reader

BOX = "lead"
TEAM = "project/session"
_FORK = multiprocessing.get_context("fork")
_STEPS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "sqlite3.connect"})
# A step of SQLite is so many instructions of its machine, or the begin of a statement.
_INSTRUCTIONS = 5


def letter(number: int, sender: str = "worker", text: str = "done", at: float = NOON) -> Letter:
    return Letter(sender, BOX, text, f"number {number}", "message", at, f"{sender}-{number}")


def post_in(folder: Path, team: str = TEAM) -> Post:
    return Post(folder, team, FixedClock())


def fill(post: Post, count: int, sender: str = "worker") -> None:
    for number in range(1, count + 1):
        assert isinstance(post.send(letter(number, sender)), Sent)


def drained(box: Mailbox) -> list[str]:
    """Everything there is to read, read by a new reader."""
    reader = new_reader(FixedClock())
    found = []
    while (taken := box.take(reader)) is not None:
        found.append(taken.id)
        assert box.acknowledge(taken, reader)
    return found


def reason(outcome: Sent | Refused) -> str:
    assert isinstance(outcome, Refused)
    return outcome.reason


def rows(folder: Path, sql: str, *values: object) -> list[Any]:
    """As another program sees the file, or changes it."""
    with closing(sqlite3.connect(folder / "mail.sqlite")) as connection, connection:
        return connection.execute(sql, values).fetchall()


def dies_at(step: int, work: Callable[[], object]) -> bool:
    """Do it in a process that is killed before that step; False when it was done by then.

    No connection may be open here: SQLite does not survive a fork.
    """
    process = _FORK.Process(target=_doomed, args=(step, work))
    process.start()
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0


def _doomed(step: int, work: Callable[[], object]) -> None:
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1
        if steps == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, _: object) -> None:
        if event in _STEPS:
            count()

    connect = sqlite3.connect

    def watched(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*args, **kwargs)
        made.set_progress_handler(count, _INSTRUCTIONS)
        made.set_trace_callback(count)
        return made

    sys.addaudithook(audit)
    sqlite3.connect = watched  # type: ignore[assignment]
    work()
    os._exit(0)
