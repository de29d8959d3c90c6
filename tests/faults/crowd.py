"""Many writers and an editor on one memory directory, each a process of its own.

`python -m tests.faults.crowd writer FOLDER NAME COUNT PACE` makes COUNT acknowledged writes; each
is noted, with what it must have left in history, and answered with a byte into the pipe PACE.
`python -m tests.faults.crowd editor FOLDER EVERY PACE` saves a file in place, as an editor does,
whenever EVERY bytes came out of that pipe, until nobody writes any more.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

from tests.faults.stories import memory, pointing, store_at

from reverie.errors import WriteConflict
from reverie.memory.format import topic as topics
from reverie.memory.format.revisions import Author, Drop, Put, Revision

SHARED = 6
# One writer keeps losing a race only while others win it: far more tries than there are others.
TRIES = 500


def shared_file(number: int) -> str:
    return f"shared_{number}.md"


def begin(folder: Path, names: list[str]) -> None:
    """Shared files with a line for each writer, apart enough for changes to merge."""
    store = store_at(folder)
    for number in range(SHARED):
        lines = "".join(f"\n## {name}\n\n{name}: nothing yet\n\n" for name in names)
        file = shared_file(number)
        put = Put(file, memory(f"shared {number}", f"{lines}\n## Everybody\n"))
        store.apply((put,), Author("main"), "begin", lambda index, file=file: pointing(index, file))


class Writer:
    def __init__(self, folder: Path, name: str, pace: int) -> None:
        self.store = store_at(folder)
        self.name = name
        self.pace = pace
        self.chance = random.Random(name)
        self.own: list[str] = []
        self.notes = (folder / f"{name}.jsonl").open("w")
        self.conflicts = 0

    def run(self, count: int) -> None:
        kinds = [self.create, self.drop, self.append, self.set_line, self.pin]
        for number in range(count):
            kind = self.chance.choices(kinds, [30, 28, 12, 20, 10])[0]
            (kind if self.own or kind != self.drop else self.create)(number)
            os.write(self.pace, b".")
        self.notes.write(json.dumps({"own": self.own, "conflicts": self.conflicts}) + "\n")
        self.notes.close()

    def create(self, number: int) -> None:
        file = f"{self.name}_{number}.md"
        put = Put(file, memory(file, f"{self.name} said {number}"))
        made = self.store.apply((put,), self._author(), "new", lambda i: pointing(i, file))
        self.own.append(file)
        self._note(made, file, f"{self.name} said {number}")

    def drop(self, number: int) -> None:
        file = self.own.pop(self.chance.randrange(len(self.own)))
        stored = self.store.read(file)
        assert stored is not None
        change = Drop(file, stored.version)
        made = self.store.apply((change,), self._author(), "drop", lambda i: i.without(file))
        self._note(made, file, None)

    def append(self, number: int) -> None:
        """Everybody adds at the end: such changes conflict, and are made again."""
        line = f"{self.name} added {number}"
        self._change(lambda text: f"{text}{line}\n", line)

    def set_line(self, number: int) -> None:
        """Everybody has a line of their own: such changes merge."""
        line = f"{self.name}: now {number}"

        def edit(text: str) -> str:
            lines = text.splitlines(keepends=True)
            return "".join(
                f"{line}\n" if old.startswith(f"{self.name}: ") else old for old in lines
            )

        self._change(edit, line)

    def pin(self, number: int) -> None:
        self._change(lambda text: text, None)

    def _change(self, edit: Callable[[str], str], line: str | None) -> None:
        file = shared_file(self.chance.randrange(SHARED))
        for _ in range(TRIES):
            stored = self.store.read(file)
            assert stored is not None
            if not stored.topic.body:
                # The editor has emptied it and is about to fill it: look again.
                continue
            changed = stored.topic.with_(body=edit(stored.topic.body))
            if line is None:
                changed = changed.with_(pinned=None if stored.topic.pinned else True)
            put = Put(file, topics.render(changed), stored.version)
            try:
                made = self.store.apply((put,), self._author(), "change")
            except WriteConflict:
                self.conflicts += 1
                continue
            self._note(made, file, line)
            return
        sys.exit(f"{self.name} could not change {file} in {TRIES} tries")

    def _author(self) -> Author:
        return Author("extract", session=self.name)

    def _note(self, made: Revision | None, file: str, text: str | None) -> None:
        id_ = None if made is None else made.id
        self.notes.write(json.dumps({"revision": id_, "file": file, "text": text}) + "\n")


def edit(folder: Path, every: int, pace: int) -> None:
    """Append a line to a shared file, in place; `kept` says it stood there when the save was over."""
    chance = random.Random("editor")
    number = 0
    with (folder / "editor.jsonl").open("w") as notes:
        while len(os.read(pace, every)) > 0:
            number += 1
            path = folder / "memory" / shared_file(chance.randrange(SHARED))
            text = f"by hand {number}."
            before = path.read_bytes()
            # In place: the same file is emptied, then filled.
            file = os.open(path, os.O_WRONLY | os.O_TRUNC)
            os.write(file, before + f"{text}\n".encode())
            kept = os.fstat(file).st_ino == path.stat().st_ino
            os.close(file)
            notes.write(json.dumps({"text": text, "kept": kept}) + "\n")


if __name__ == "__main__":
    role, folder = sys.argv[1], Path(sys.argv[2])
    if role == "editor":
        edit(folder, int(sys.argv[3]), int(sys.argv[4]))
    else:
        print("ready", flush=True)
        sys.stdin.readline()
        Writer(folder, sys.argv[3], int(sys.argv[5])).run(int(sys.argv[4]))
