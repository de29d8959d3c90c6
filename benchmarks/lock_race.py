"""Many processes want the dream's lock at once: exactly one gets it, whoever dies and whatever the clocks say.

    .venv/bin/python benchmarks/lock_race.py [--processes 32] [--rounds 1000]

Each process has a clock of its own, up to two minutes off. In every fourth round the winner is killed
while it holds the lock, so that the next round begins with a lock of the dead; in every tenth, some
process is killed at a moment nobody chose. A last table times the gate on a turn that does not dream.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter

from report import median, publish

from reverie.learning.dreaming.gates import FILE, ConsolidateLock, Gates, Held

START = 1_800_000_000.0
_FORK = multiprocessing.get_context("fork")


@dataclass
class Skewed:
    """A clock that is off by as much in every round."""

    off: float
    at: float = START

    def now(self) -> float:
        return self.at + self.off


def contender(path: Path, off: float, pipe: Connection) -> None:
    """Wait for a round, try once, say how it went; hold until told how it ends."""
    clock = Skewed(off)
    lock = ConsolidateLock(path, clock)
    while True:
        clock.at = pipe.recv()
        taken = lock.acquire()
        pipe.send("won" if isinstance(taken, Held) else "lost")
        end = pipe.recv()
        if isinstance(taken, Held):
            taken.release(end)
            pipe.send("released")


class Crowd:
    """The processes, and one pipe to each; the dead are replaced."""

    def __init__(self, path: Path, number: int, chance: random.Random) -> None:
        self.path = path
        self.chance = chance
        self.members = [self._started() for _ in range(number)]
        # Those that were started in this round, and do not take part in it.
        self.fresh: set[int] = set()

    def _started(self) -> tuple[multiprocessing.process.BaseProcess, Connection]:
        ours, theirs = _FORK.Pipe()
        off = self.chance.uniform(-120, 120)
        process = _FORK.Process(target=contender, args=(self.path, off, theirs), daemon=True)
        process.start()
        theirs.close()
        return process, ours

    def kill(self, at: int) -> None:
        process, pipe = self.members[at]
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        pipe.close()
        self.members[at] = self._started()
        self.fresh.add(at)

    def round(self, at: float, victim: int | None) -> list[int]:
        """Start all at once; the winners. A victim is killed while they race."""
        self.fresh.clear()
        for _, pipe in self.members:
            pipe.send(at)
        struck = None if victim is None else self.members[victim][0].pid
        if struck is not None:
            os.kill(struck, signal.SIGKILL)
        said: dict[int, str] = {}
        for number, (_, pipe) in enumerate(self.members):
            try:
                said[number] = pipe.recv()
            except (EOFError, OSError):
                said[number] = "died"
        return [number for number, word in said.items() if word == "won"]

    def end(self, winners: list[int], how: str) -> None:
        for number, (_, pipe) in enumerate(self.members):
            if number not in self.fresh:
                pipe.send(how)
                if number in winners:
                    pipe.recv()

    def close(self) -> None:
        for process, _ in self.members:
            process.kill()
            process.join()


@dataclass
class Tally:
    one: int = 0
    none: int = 0
    many: int = 0
    held_by_dead: int = 0
    struck: int = 0
    wrong_time: int = 0


def race(processes: int, rounds: int, folder: Path) -> Tally:
    chance = random.Random(3)
    path = folder / FILE
    crowd = Crowd(path, processes, chance)
    tally = Tally()
    last = 0.0
    try:
        for number in range(1, rounds + 1):
            at = START + number * 7_200
            victim = chance.randrange(processes) if number % 10 == 0 else None
            winners = crowd.round(at, victim)
            tally.struck += victim is not None
            # Who is killed may have won before; then another one may win after it, or nobody.
            winners = [winner for winner in winners if winner != victim]
            allowed = not winners and victim is not None
            tally.one += len(winners) == 1 or allowed
            tally.none += not winners and not allowed
            tally.many += len(winners) > 1
            if victim is not None:
                crowd.kill(victim)
            how = ("completed", "failed", "killed")[number % 3]
            if winners and number % 4 == 0:
                crowd.kill(winners[0])
                tally.held_by_dead += 1
                winners, how = [], "failed"
            crowd.end(winners, how)
            seen = path.stat().st_mtime
            if winners and how == "completed":
                tally.wrong_time += abs(seen - at) > 121
                last = seen
            else:
                tally.wrong_time += seen != last
    finally:
        crowd.close()
    return tally


def gate_microseconds(folder: Path) -> tuple[float, float]:
    """A turn on which a dream is not due, and the bare stat it cannot do without."""
    clock = Skewed(0.0)
    lock = ConsolidateLock(folder / "gate" / FILE, clock)
    taken = lock.acquire()
    assert isinstance(taken, Held)
    taken.release("completed")
    clock.at += 3_600
    gates = Gates(lock.last_dream, lambda moment: 0, clock)
    return _each(gates.due), _each(lambda: os.stat(lock.path))  # noqa: PTH116


def _each(work: object) -> float:
    taken = []
    for _ in range(200):
        began = perf_counter()
        for _ in range(100):
            work()  # type: ignore[operator]
        taken.append((perf_counter() - began) / 100)
    return median(taken) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=1_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        began = perf_counter()
        tally = race(asked.processes, asked.rounds, Path(name))
        seconds = perf_counter() - began
        gate, stat = gate_microseconds(Path(name))
    publish(
        "lock_race",
        ["processes", "rounds", "one winner", "none", "several", "winner killed",
         "struck while racing", "wrong time after", "seconds"],
        [[asked.processes, asked.rounds, tally.one, tally.none, tally.many, tally.held_by_dead,
          tally.struck, tally.wrong_time, round(seconds, 1)]],
    )  # fmt: skip
    publish(
        "dream_gate",
        ["a turn that does not dream", "µs", "bar"],
        [["gate", round(gate, 2), 50], ["of which one stat", round(stat, 2), ""]],
    )


if __name__ == "__main__":
    main()
