"""One story under one fate, for every n: `python -m tests.faults.trial STORY FATE FOLDER [FIRST LAST]`.

Prints a JSON object: how many calls were tried, and every n after which something was wrong.
Nothing in this process ever opens a repository: each step is a fork that starts clean.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pygit2
from tests.faults.stories import FORGOTTEN, STORIES, Story, go_on, store_at
from tests.faults.tracing import Fate, Ran, traced

from reverie.errors import ReverieError
from reverie.files.atomic import TEMPORARY

FATES = {
    "killed": Fate(0),
    "ENOSPC": Fate(0, errno.ENOSPC),
    "EIO": Fate(0, errno.EIO, reads=True),
    "EIO, same process": Fate(0, errno.EIO, reads=True),
}
TOLD = 3
GIT = shutil.which("git")


def in_fork(work: Callable[[], Any]) -> Any:
    """The JSON of what `work` returns in a process of its own; an error there is an error here."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(readable)
            os.write(writable, json.dumps(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError("a step failed, see above")
    return json.loads(said)


Files = dict[str, str]


def files_in(folder: Path) -> Files:
    """Every file of the memory directory, hidden ones too."""
    root = folder / "memory"
    return {
        str(path.relative_to(root)): path.read_bytes().decode("latin-1")
        for path in sorted(root.rglob("*"))
        if path.is_file() or path.is_symlink()
    }


def revisions(folder: Path) -> list[list[Any]]:
    """Every revision, oldest first: its message and its files, read without our own code."""
    if not (folder / "history.git" / "HEAD").is_file():
        return []
    repo = pygit2.Repository(str(folder / "history.git"))
    main = repo.references.get("refs/heads/main")
    commit = None if main is None else main.peel(pygit2.Commit)
    found: list[list[Any]] = []
    while commit is not None:
        assert len(commit.parents) <= 1, "history is not linear"
        found.append([commit.message, dict(_blobs(commit.tree))])
        commit = commit.parents[0] if commit.parents else None
    return found[::-1]


def _blobs(tree: pygit2.Tree, prefix: str = "") -> Iterator[tuple[str, str]]:
    for item in tree:
        if isinstance(item, pygit2.Tree):
            # Where there are many files, they are spread over subfolders.
            spread = not prefix and (item.name or "").startswith(".")
            yield from _blobs(item, "" if spread else f"{prefix}{item.name}/")
        elif isinstance(item, pygit2.Blob):
            yield f"{prefix}{item.name}", item.data.decode("latin-1")


@dataclass(frozen=True)
class Expected:
    """The two states a story may end in, now and after the next command."""

    old: Files
    new: Files
    old_then: Files
    new_then: Files
    old_history: list[list[Any]]
    new_history: list[list[Any]]


class Trial:
    def __init__(self, story: Story, folder: Path, *, same_process: bool) -> None:
        self.story = story
        self.folder = folder
        self.same_process = same_process
        self.template = folder / "template"
        self.template.mkdir(parents=True)
        in_fork(lambda: story.before(store_at(self.template)))
        self.expected = self._expected()

    def _expected(self) -> Expected:
        old, new = self._copy("old"), self._copy("new")
        in_fork(lambda: self.story.act(store_at(new)))
        states = [files_in(old), files_in(new)]
        histories = [in_fork(lambda: revisions(old)), in_fork(lambda: revisions(new))]
        for folder in (old, new):
            in_fork(lambda folder=folder: self._next(folder))
        return Expected(*states, files_in(old), files_in(new), *histories)

    def _copy(self, name: str) -> Path:
        made = self.folder / name
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(self.template, made, symlinks=True)
        return made

    def _next(self, folder: Path) -> None:
        store = store_at(folder)
        go_on(store)
        self.story.then(store)

    def run(self, fate: Fate) -> tuple[Ran, list[str]]:
        folder = self._copy("trial")
        ran = traced(lambda: self._act(folder), fate)
        problems = list(self._problems(folder, ran))
        return ran, problems

    def _act(self, folder: Path) -> None:
        store = store_at(folder)
        try:
            self.story.act(store)
        except ReverieError:
            if self.same_process:
                go_on(store)
            sys.exit(TOLD)

    def _problems(self, folder: Path, ran: Ran) -> Iterator[str]:
        if ran.end == "exited" and ran.code not in {0, TOLD}:
            yield "it ended in an error that is not ours (above)"
        gone_on = self.same_process and ran.code == TOLD
        if not gone_on:
            yield from self._torn(
                files_in(folder), acknowledged=ran.end == "exited" and ran.code == 0
            )
        try:
            # A process that went on by itself has saved `next.md`; to save it again is nothing.
            in_fork(lambda: self._next(folder))
            yield from in_fork(lambda: list(self._mended(folder)))
        except RuntimeError:
            yield "the next command failed (above)"

    def _torn(self, found: Files, *, acknowledged: bool) -> Iterator[str]:
        """Right after the end: each file is whole, old or new."""
        old, new = self.expected.old, self.expected.new
        if acknowledged and found != new:
            yield f"it said it was done, but: {_difference(found, new)}"
        for name in {*found, *old, *new}:
            if TEMPORARY not in name and found.get(name) not in (old.get(name), new.get(name)):
                yield f"{name} is neither old nor new"

    def _mended(self, folder: Path) -> Iterator[str]:
        """After the next command: all old or all new, with a history that says so."""
        found, expected = files_in(folder), self.expected
        if found not in (expected.old_then, expected.new_then):
            yield f"a third state: {_difference(found, expected.new_then)}"
        history = revisions(folder)
        if history[-1][1] != found:
            yield f"history ends in another state: {_difference(history[-1][1], found)}"
        yield from self._untrue(folder, history)
        yield from problems_of(folder)

    def _untrue(self, folder: Path, history: list[list[Any]]) -> Iterator[str]:
        old, new = self.expected.old_history, self.expected.new_history
        known = {(name, text) for _, files in history for name, text in files.items()}
        if self.story.rewrites:
            if history[:-1] not in (old, new):
                yield "history is neither the old one nor the new one"
            if history[:-1] == new and any(FORGOTTEN in text for text in _objects(folder)):
                yield "what was forgotten can still be found"
        elif history[: len(old)] != old:
            yield "history lost what it had"
        unseen = {name for name, text in self.expected.old.items() if (name, text) not in known}
        if missing := [name for name in unseen if TEMPORARY not in name]:
            yield f"history never saw {', '.join(sorted(missing))}"
        if len(history) > len(new) + 2:
            yield f"history grew by {len(history) - len(old)} revisions"


def _objects(folder: Path) -> Iterator[str]:
    repo = pygit2.Repository(str(folder / "history.git"))
    for id_ in repo:
        yield repo.read(id_)[1].decode("latin-1")


def problems_of(folder: Path) -> Iterator[str]:
    """What no memory directory may have, whatever happened to it."""
    yield from _debris(folder)
    yield from _fsck(folder)


def _debris(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        if TEMPORARY in path.name or path.name.endswith(".lock"):
            yield f"left behind: {path.relative_to(folder)}"
        if len(inside) == 1 and inside[0].startswith("history.git."):
            yield f"left behind: {inside[0]}"
    if (folder / "history.git" / "refs" / "reverie" / "pending").exists():
        yield "a pending change is left"


def _fsck(folder: Path) -> Iterator[str]:
    if GIT is None:
        return
    command = [GIT, "--git-dir", str(folder / "history.git"), "fsck", "--strict", "--no-dangling"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip()
    if done.returncode or said:
        yield f"git fsck: {said}"


def _difference(found: Files, wanted: Files) -> str:
    names = sorted(n for n in {*found, *wanted} if found.get(n) != wanted.get(n))
    return ", ".join(
        f"{n} ({'is missing' if n not in found else 'is extra' if n not in wanted else 'differs'})"
        for n in names
    )


def main(story: str, fate_name: str, folder: Path, first: int, last: int) -> dict[str, Any]:
    fate = FATES[fate_name]
    trial = Trial(STORIES[story], folder, same_process="same process" in fate_name)
    wrong: list[str] = []
    calls = told = 0
    for n in range(first, last):
        ran, problems = trial.run(replace(fate, at=n))
        wrong += [f"{fate_name} at call {n}, {ran.at(n)}: {problem}" for problem in problems]
        if len(ran.calls) < n:
            break
        calls = n
        told += ran.code == TOLD
    return {"calls": calls, "told": told, "wrong": wrong}


if __name__ == "__main__":
    logging.disable()
    bounds = [int(text) for text in sys.argv[4:]] or [1, 10_000]
    print(json.dumps(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *bounds)))
