"""Many processes write to and read from one mailbox and are killed at random: nothing lost, nothing read twice.

    .venv/bin/python benchmarks/mailbox_race.py [--letters 20000] [--writers 8] [--readers 4] [--seconds 90]

Every process keeps a log of what it is about to do and what was done, which survives its death; a new
process takes the place of a dead one. Writers' clocks are up to two minutes off. In the end all
readers are killed at once, what is left in the box is read, and the logs are held against each other.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from report import publish

from reverie.errors import StorageError
from reverie.subagents.letters import Letter, Sent
from reverie.subagents.mail_store import Post, new_reader

BOX = "lead"
TEAM = "project/session"
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Skewed:
    off: float = 0.0

    def now(self) -> float:
        return time.time() + self.off


class Log:
    """One line a step, each one write: a killed process tore none of them."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def say(self, word: str, sender: str, number: int) -> None:
        os.write(self._file, f"{time.monotonic_ns()} {word} {sender} {number}\n".encode())


@dataclass(frozen=True, order=True)
class Step:
    at: int
    word: str
    sender: str
    number: int


def steps(path: Path) -> list[Step]:
    lines = path.read_text().splitlines() if path.exists() else []
    fields = (line.split() for line in lines)
    return [Step(int(at), word, sender, int(number)) for at, word, sender, number in fields]


def numbered(letter: Letter) -> tuple[str, int]:
    return letter.sender, int(letter.id.rpartition("-")[2])


def write(team: Path, path: Path, sender: str, wanted: int) -> None:
    """Send until so many were accepted; after a death, go on behind the last one tried."""
    log = Log(path)
    chance = random.Random(os.getpid())
    post = Post(team, TEAM, Skewed())
    past = steps(path)
    done = sum(step.word == "sent" for step in past)
    number = max((step.number for step in past), default=0)
    while done < wanted:
        number += 1
        at = time.time() + chance.uniform(-120, 120)
        text = "x" * chance.randrange(1, 2_000)
        letter = Letter(sender, BOX, text, "progress", "message", at, f"{sender}-{number}")
        log.say("try", sender, number)
        while not _sent(post, letter):
            # The box is full, or busy for longer than a sender waits: let it be read.
            time.sleep(chance.uniform(1, 2))
        log.say("sent", sender, number)
        done += 1


def _sent(post: Post, letter: Letter) -> bool:
    try:
        return isinstance(post.send(letter), Sent)
    except StorageError:
        return False


def read(team: Path, path: Path) -> None:
    """Take up to three letters, then acknowledge them in their order, for ever."""
    log = Log(path)
    chance = random.Random(os.getpid())
    clock = Skewed()
    box, reader = Post(team, TEAM, clock).open(BOX), new_reader(clock)
    while True:
        held = []
        for _ in range(chance.randint(1, 3)):
            letter = box.take(reader)
            if letter is None:
                break
            log.say("got", *numbered(letter))
            held.append(letter)
        for letter in held:
            log.say("acknowledging", *numbered(letter))
            assert box.acknowledge(letter, reader), f"{letter.id} was taken from a living reader"
            log.say("acknowledged", *numbered(letter))
        if not held:
            time.sleep(0.002)


@dataclass
class Crowd:
    """The processes, with a log for each life of a reader and for all lives of a writer."""

    folder: Path
    writers: int
    readers: int
    letters: int
    killed_writers: int = 0
    killed_readers: int = 0
    lives: int = 0
    running: dict[str, BaseProcess] = field(default_factory=dict)

    @property
    def team(self) -> Path:
        return self.folder / "team"

    def start(self, name: str) -> None:
        if name.startswith("writer"):
            each = self.letters // self.writers
            work = partial(write, self.team, self.folder / f"{name}.log", name, each)
        else:
            self.lives += 1
            work = partial(read, self.team, self.folder / f"reader.{self.lives}.log")
        process = _FORK.Process(target=work, daemon=True)
        process.start()
        self.running[name] = process

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.join()
        struck = process.exitcode == -signal.SIGKILL
        assert struck or (name.startswith("writer") and process.exitcode == 0), f"{name} failed"
        self.killed_writers += struck and name.startswith("writer")
        self.killed_readers += struck and name.startswith("reader")

    def race(self, seconds: float, chance: random.Random) -> bool:
        """Until every writer is done; False when time was up before."""
        for number in range(self.writers):
            self.start(f"writer-{number}")
        for number in range(self.readers):
            self.start(f"reader-{number}")
        end = time.monotonic() + seconds
        while any(name.startswith("writer") for name in self.running):
            time.sleep(chance.uniform(0.03, 0.25))
            self._bury()
            if time.monotonic() > end:
                return False
            if self.running:
                victim = chance.choice(sorted(self.running))
                self.kill(victim)
                self.start(victim)
        return True

    def _bury(self) -> None:
        """Writers that are done; a reader that ended by itself found something wrong."""
        for name, process in list(self.running.items()):
            if not process.is_alive():
                assert name.startswith("writer"), f"{name} ended by itself"
                assert process.exitcode == 0, f"{name} failed"
                del self.running[name]

    def stop(self) -> None:
        for name in list(self.running):
            self.kill(name)


@dataclass
class Tally:
    sent: int = 0
    unsure: int = 0
    read: int = 0
    left: int = 0
    again: int = 0
    lost: int = 0
    twice: int = 0
    disorder: int = 0


def judge(folder: Path, left: list[tuple[str, int]]) -> Tally:
    """Hold what was sent against what was read, and the order of both."""
    tried: set[tuple[str, int]] = set()
    sent: set[tuple[str, int]] = set()
    for path in folder.glob("writer-*.log"):
        for step in steps(path):
            (sent if step.word == "sent" else tried).add((step.sender, step.number))
    lives = [steps(path) for path in folder.glob("reader.*.log")]
    happened = sorted(step for life in lives for step in life)
    over = {_key(step) for step in happened if step.word == "acknowledged"}
    # Its reader was killed on the way: it may be over, or still be there.
    between = {_key(step) for step in happened if step.word == "acknowledging"} - over
    gone = over | (between - set(left))
    tally = Tally(sent=len(sent), unsure=len(tried - sent), read=len(gone), left=len(left))
    tally.lost = len(sent - gone - set(left))
    tally.twice = len(over & set(left)) + len(left) - len(set(left)) + _after_the_end(happened)
    tally.again = sum(step.word == "got" for step in happened) - len(
        {_key(step) for step in happened if step.word == "got"}
    )
    tally.disorder = _disorder(happened, left) + len((gone | set(left)) - tried)
    return tally


def _key(step: Step) -> tuple[str, int]:
    return step.sender, step.number


def _after_the_end(happened: list[Step]) -> int:
    """Letters handed out or acknowledged once more after they were acknowledged."""
    over: set[tuple[str, int]] = set()
    wrong = 0
    for step in happened:
        wrong += _key(step) in over
        if step.word == "acknowledged":
            over.add(_key(step))
    return wrong


def _disorder(happened: list[Step], left: list[tuple[str, int]]) -> int:
    """Letters handed out, or left, after a later one of their sender was over."""
    latest: dict[str, int] = defaultdict(int)
    wrong = 0
    for step in happened:
        if step.word == "got":
            wrong += step.number <= latest[step.sender]
        elif step.word == "acknowledged":
            latest[step.sender] = max(latest[step.sender], step.number)
    for sender, number in left:
        wrong += number <= latest[sender]
        latest[sender] = number
    return wrong


def rest(team: Path) -> Iterator[tuple[str, int]]:
    clock = Skewed()
    box, reader = Post(team, TEAM, clock).open(BOX), new_reader(clock)
    while (letter := box.take(reader)) is not None:
        yield numbered(letter)
        box.acknowledge(letter, reader)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--letters", type=int, default=20_000)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=90)
    asked = parser.parse_args()
    os.nice(10)
    with tempfile.TemporaryDirectory() as name:
        crowd = Crowd(Path(name), asked.writers, asked.readers, asked.letters)
        post = Post(crowd.team, TEAM, Skewed())
        post.open(BOX)
        # SQLite does not survive a fork: no connection is open when the processes start.
        post.close()
        began = time.monotonic()
        try:
            finished = crowd.race(asked.seconds, random.Random(7))
        finally:
            crowd.stop()
        seconds = time.monotonic() - began
        tally = judge(crowd.folder, list(rest(crowd.team)))
    publish(
        "mailbox_race",
        ["writers", "readers", "sent", "unsure", "read", "still unread", "lost", "read twice",
         "out of order", "handed out again", "writers killed", "readers killed", "all sent", "seconds"],
        [[asked.writers, asked.readers, tally.sent, tally.unsure, tally.read, tally.left, tally.lost,
          tally.twice, tally.disorder, tally.again, crowd.killed_writers, crowd.killed_readers,
          "yes" if finished else "no", round(seconds, 1)]],
    )  # fmt: skip


if __name__ == "__main__":
    main()
