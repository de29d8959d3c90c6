"""What a power cut would see: nothing is named before it is on the disk, and nothing out of turn.

A killed process leaves all it wrote with the kernel; a power cut does not. So the order of a
write's system calls is checked: flush before rename, folder after rename, history before files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.stories import STORIES, store_at
from tests.faults.tracing import Call, Fate, traced, why_not
from tests.faults.trial import in_fork

REPOSITORY = Path(__file__).parents[2]
WROTE = {"write", "pwrite64", "writev"}
NAMED = {"rename", "renameat", "renameat2", "link", "linkat"}


def calls_of(story: str, folder: Path) -> list[Call]:
    command = [sys.executable, "-m", "tests.faults.test_order", story, str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    found = [(name, f"{path}/") for name, path in json.loads(done.stdout)]
    return [Call(name, path.replace(f"{folder}/", "").rstrip("/") or ".") for name, path in found]


def places(calls: list[Call], names: set[str], path: str) -> list[int]:
    return [n for n, call in enumerate(calls) if call.name in names and call.path == path]


def unflushed(calls: list[Call]) -> list[str]:
    """Files that got their name before their bytes were safe, and folders never flushed after."""
    wrong = []
    for at, call in enumerate(calls):
        if call.name not in NAMED or " -> " not in call.path:
            continue
        source, _, target = call.path.partition(" -> ")
        if target.startswith("history.git.new/"):
            # A repository that is being made has no name yet: it is flushed before it gets one.
            continue
        written = [n for n in places(calls, WROTE, source) if n < at]
        flushed = [n for n in places(calls, {"fsync", "fdatasync"}, source) if n < at]
        if written and (not flushed or flushed[-1] < written[-1]):
            wrong.append(f"{target} was named before it was flushed")
        folder = str(Path(target).parent)
        if not [n for n in places(calls, {"fsync"}, folder) if n > at]:
            wrong.append(f"{folder} was not flushed after {target} got its name")
    return wrong


def unflushed_folders(calls: list[Call]) -> list[str]:
    """New folders of the memory directory whose parent was never flushed."""
    made = [(n, call.path) for n, call in enumerate(calls) if call.name in {"mkdir", "mkdirat"}]
    inside = [(n, path) for n, path in made if path.startswith("memory/")]
    return [
        path
        for at, path in inside
        if not [n for n in places(calls, {"fsync"}, str(Path(path).parent)) if n > at]
    ]


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
@pytest.mark.parametrize("story", ["remember", "update", "supersede", "nested", "first use"])
def test_a_power_cut_finds_no_name_without_its_bytes(story: str, folder: Path) -> None:
    calls = calls_of(story, folder)
    assert unflushed(calls) == []
    assert unflushed_folders(calls) == []
    named = [
        (n, call.path.partition(" -> ")[2]) for n, call in enumerate(calls) if call.name in NAMED
    ]
    objects = [n for n, target in named if "/objects/" in target]
    pending = next(n for n, target in named if target.endswith("refs/reverie/pending"))
    files = [n for n, target in named if target.startswith("memory/")]
    main = max(n for n, target in named if target.endswith("refs/heads/main"))
    # Objects, then the promise, then the files, then `main`: each safe before the next begins.
    assert max(objects) < pending < min(files)
    assert max(files) < main
    promised = places(calls, {"fsync"}, "history.git/refs/reverie")
    assert pending < promised[0] < min(files)
    safe = [n for n, call in enumerate(calls) if call.name == "fsync" and call.path == "memory"]
    assert max(files) < max(safe) < main or "nested" in story


@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_a_new_history_is_on_the_disk_before_it_is_there(folder: Path) -> None:
    calls = calls_of("first use", folder)
    there = places(calls, NAMED, "history.git.new -> history.git")[0]
    for name in ("HEAD", "config", "objects", "refs", "refs/heads"):
        path = f"history.git.new/{name}"
        written = [n for n in places(calls, WROTE, path) if n < there]
        flushed = [n for n in places(calls, {"fsync"}, path) if n < there]
        assert flushed
        assert max(written, default=0) < flushed[-1]


if __name__ == "__main__":
    chosen, root = STORIES[sys.argv[1]], Path(sys.argv[2])
    in_fork(lambda: chosen.before(store_at(root)))
    ran = traced(lambda: chosen.act(store_at(root)), Fate(0))
    print(json.dumps([(call.name, call.path) for call in ran.calls]))
