"""Writers that are killed while they write: run as a program, apart from the tests' own threads.

`python -m tests.conversation.crash FOLDER ROUNDS` forks a writer a round. It reports each record once
it is written; after a random number of reports it is killed. What it reported must be there.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

from tests.conversation.build import user

from reverie.conversation.journal import Journal, load
from reverie.conversation.records import Said


def write_for_ever(path: Path, report: int) -> None:
    with Journal(path) as journal:
        number = 0
        while True:
            journal.append(Said(user(f"{number} " + "x" * (number * 997 % 20_000))))
            os.write(report, b".")
            number += 1


def killed_writer(path: Path, reports: int) -> int:
    """How many records it said were written before it died."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        write_for_ever(path, write)
    os.close(write)
    heard = 0
    while heard < reports:
        heard += len(os.read(read, reports - heard))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(read, 1000):
        heard += len(more)
    os.close(read)
    return heard


def main(folder: Path, rounds: int) -> None:
    path = folder / "s.jsonl"
    expected = 0
    for seed in range(rounds):
        before = len(load(path).records) if path.exists() else 0
        heard = killed_writer(path, random.Random(seed).randrange(1, 30))
        loaded = load(path)
        numbers = [
            int(r.message.text.split()[0]) for r in loaded.records[before:] if isinstance(r, Said)
        ]
        if numbers != list(range(len(numbers))) or len(numbers) < heard:
            sys.exit(f"round {seed}: {heard} were reported, {numbers} are there")
        expected += heard
    print(f"{expected} reported, all there")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
