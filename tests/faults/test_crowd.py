"""Many processes write to one memory directory while a person edits it: nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import pygit2
import pytest
from tests.faults.crowd import SHARED, begin, shared_file
from tests.faults.stories import store_at
from tests.faults.trial import files_in, problems_of

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("processes", "writes"),
    [
        pytest.param(4, 40, id="small"),
        pytest.param(16, 1_000, id="16 x 1000", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_lost(folder: Path, processes: int, writes: int) -> None:
    names = [f"writer-{n}" for n in range(processes)]
    begin(folder, names)
    began = perf_counter()
    run(folder, names, writes)
    taken = perf_counter() - began
    store_at(folder).notice_hand_edits()

    history = History(folder)
    notes = {name: read_notes(folder, name) for name in names}
    acknowledged = [note for found in notes.values() for note in found[:-1]]
    assert len(acknowledged) == processes * writes
    assert [note for note in acknowledged if not history.holds(note)] == []
    assert history.dropped == []

    edits = read_notes(folder, "editor")
    lost = [edit for edit in edits if edit["text"] not in history.lines]
    # A save in place that our rename overtook before it was over went into a file without a name.
    assert [edit for edit in lost if edit["kept"]] == []

    own = {file for found in notes.values() for file in found[-1]["own"]}
    expected = own | {shared_file(number) for number in range(SHARED)}
    assert files_in(folder).keys() == expected | {"MEMORY.md"}
    pointers = Counter(pointer.file for pointer in store_at(folder).index().pointers)
    assert pointers == Counter(expected)
    assert list(problems_of(folder)) == []
    assert history.newest == files_in(folder)
    conflicts = sum(found[-1]["conflicts"] for found in notes.values())
    print(
        f"{processes} x {writes} writes in {taken:.0f} s, {len(edits)} hand edits, {conflicts} "
        f"conflicts, {len(history.trees)} revisions; overtaken and lost: {len(lost)}"
    )


def run(folder: Path, names: list[str], writes: int) -> None:
    reading, pace = os.pipe()
    arguments = [sys.executable, "-m", "tests.faults.crowd"]
    writers = [
        subprocess.Popen(
            [*arguments, "writer", str(folder), name, str(writes), str(pace)],
            cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[pace],
        )
        for name in names
    ]  # fmt: skip
    os.close(pace)
    editor = subprocess.Popen(
        [*arguments, "editor", str(folder), "4", str(reading)], cwd=REPOSITORY, pass_fds=[reading]
    )
    os.close(reading)
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for process in (*writers, editor):
        process.communicate(timeout=3_000)
        assert process.returncode == 0


def read_notes(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


class History:
    """All that history holds, read without our own code."""

    def __init__(self, folder: Path) -> None:
        self.repo = pygit2.Repository(str(folder / "history.git"))
        commit = self.repo.references["refs/heads/main"].peel(pygit2.Commit)
        self.newest = {item.name: item.data.decode("latin-1") for item in commit.tree}
        self.trees: dict[str, pygit2.Oid] = {}
        self.dropped: list[str] = []
        self.lines: set[str] = set()
        after = self._shared(commit)
        while True:
            assert len(commit.parents) <= 1, "history is not linear"
            self.trees[str(commit.id)] = commit.tree_id
            if not commit.parents:
                break
            before = self._shared(commit.parents[0])
            self._compare(before, after, by_person=commit.author.name == "user")
            commit, after = commit.parents[0], before

    def _shared(self, commit: pygit2.Commit) -> dict[str, pygit2.Oid]:
        return {item.name: item.id for item in commit.tree if item.name.startswith("shared")}

    def _compare(
        self, before: dict[str, pygit2.Oid], after: dict[str, pygit2.Oid], *, by_person: bool
    ) -> None:
        """What others had added and a writer's change took away: a person may, a writer never."""
        for name in before:
            if before[name] == after.get(name):
                continue
            was, now = self._read(before[name]), self._read(after[name])
            self.lines |= was | now
            if not by_person:
                gone = [line for line in was - now if " added " in line or "by hand" in line]
                self.dropped += gone

    def _read(self, blob: pygit2.Oid) -> set[str]:
        return set(self.repo[blob].data.decode().splitlines())

    def holds(self, note: dict[str, Any]) -> bool:
        """Is an acknowledged write in the revision it was told, and that revision in history?"""
        if note["revision"] is None:
            # Two pinned the same file at once: the second had nothing to do.
            return note["text"] is None
        tree = self.trees.get(note["revision"])
        if tree is None:
            return False
        found = self.repo[tree]
        if note["text"] is None and "writer" in note["file"]:
            return note["file"] not in found
        return (note["text"] or "") in found[note["file"]].data.decode()
