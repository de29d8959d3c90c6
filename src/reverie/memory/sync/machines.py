"""Synchronise one memory, or one inbox, with a branch: fetch, merge, push, again if another machine was first.

A proposal that was decided on one machine is decided on all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.errors import InputError, StorageError
from reverie.files import atomic
from reverie.files.atomic import make_private
from reverie.files.locks import exclusive
from reverie.memory.format.revisions import Author, render_message
from reverie.memory.git_trees import explained, open_repository, tree_of
from reverie.memory.history import MAIN, GitHistory
from reverie.memory.inbox import LARGEST_ITEM, REJECTED, is_item
from reverie.memory.sync.accepting import Refusal
from reverie.memory.sync.copies import ATTEMPTS, MergeReport, Part
from reverie.memory.sync.merge import Conflict
from reverie.memory.sync.remote import SEALED, Branch, PlainBranch, Remote, SealedBranch, SyncKey
from reverie.ports import Clock

_PERSON = Author("user")
# The branch of the memory about the person, which every machine has.
PERSON = "person"


class InboxMerge(Part):
    """The inbox of a project, with a small history that only sync uses."""

    def __init__(self, folder: Path, git_dir: Path, clock: Clock) -> None:
        self._folder = folder
        self._rejected = folder.with_name(REJECTED)
        self.history = GitHistory(git_dir, clock, flat=True)
        super().__init__(self.history.git_dir, clock)

    def begin(self) -> None:
        with exclusive(self.git_dir.with_suffix(".lock")):
            found = self._on_disk()
            known = self.history.files()
            gone: dict[str, bytes | None] = {name: None for name in known if name not in found}
            new = {n: d for n, d in found.items() if self.history.read(n) != d}
            if new or gone or self.history.is_empty:
                self.history.record({**gone, **new}, _PERSON, "the inbox")
        self.repo = open_repository(self.git_dir)

    def merge(self, theirs: str, source: str) -> MergeReport:
        before = self.ours
        if self.contains(before, theirs):
            return MergeReport()
        ours, there, base = self.files(before), self.files(theirs), self.base(theirs)
        merged = {
            name: data
            for name in {*ours, *there}
            if (data := _chosen(base.get(name), ours.get(name), there.get(name))) is not None
        }
        self._write(ours, merged)
        if merged == there and self.contains(theirs, before):
            self.repo.references.create(MAIN, theirs, force=True)
        else:
            message = render_message(f"the inbox, with {source}", _PERSON)
            self.commit(message, tree_of(self.repo, None, merged), [before, theirs])
        return MergeReport(tuple(sorted(n for n in merged if merged[n] != ours.get(n))))

    def _write(self, ours: dict[str, bytes], merged: dict[str, bytes]) -> None:
        make_private(self._folder)
        for name, data in merged.items():
            if ours.get(name) != data:
                atomic.replace(self._path(name), data, mode=0o600)
        for name in ours.keys() - merged.keys():
            with suppress(FileNotFoundError):
                self._path(name).unlink()

    def _path(self, name: str) -> Path:
        return self._rejected if name == REJECTED else self._folder / name

    def _on_disk(self) -> dict[str, bytes]:
        paths = [p for p in self._folder.glob("*.json") if is_item(p.name)]
        paths += [self._rejected] if self._rejected.is_file() else []
        return {path.name: path.read_bytes() for path in paths if not path.is_symlink()}

    def files(self, commit: str) -> dict[str, bytes]:
        return {
            name: data
            for name, data in super().files(commit).items()
            if (is_item(name) or name == REJECTED) and len(data) <= LARGEST_ITEM
        }


def _chosen(was: bytes | None, here: bytes | None, there: bytes | None) -> bytes | None:
    """The side that changed; if both did, ours, or the union of two lists."""
    if here == was:
        return there
    if there == was:
        return here
    if here is None or there is None:
        return here or there
    return _union(here, there) or here


def _union(here: bytes, there: bytes) -> bytes | None:
    try:
        one, other = json.loads(here), json.loads(there)
    except (ValueError, RecursionError):
        return None
    if not isinstance(one, list) or not isinstance(other, list):
        return None
    return json.dumps([*one, *(item for item in other if item not in one)]).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class PartReport:
    """The result of one part's sync. `pushed`: the remote has something new from here."""

    part: str
    pulled: tuple[str, ...] = ()
    pushed: bool = False
    conflicts: tuple[Conflict, ...] = ()
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncAddress:
    """A git remote of the person's own, and the key that seals what is there."""

    url: str
    key: SyncKey | None = None

    def branch(self, name: str, environment: Mapping[str, str]) -> Branch:
        """The branch of a part; sealed if there is a key."""
        if self.key is None:
            return PlainBranch(Remote(self.url, environment, name))
        return SealedBranch(Remote(self.url, environment, self.key.branch(name)), self.key)

    def mixed(self, git_dir: Path, environment: Mapping[str, str]) -> str:
        """A warning about branches of machines with another key or none; readable memories never join sealed ones."""
        remote = Remote(self.url, environment)
        branches = remote.branches(git_dir)
        sealed = [name for name in branches if name.startswith(SEALED)]
        if self.key is None:
            if sealed:
                raise InputError(
                    f"{remote.name} holds encrypted memories, and sync.key is not set: what this machine "
                    "sends could be read there. Copy the key from your other machine and set sync.key"
                )
            return ""
        if sealed and self.key.branch(PERSON) not in sealed:
            return (
                "memories there are encrypted with another key, and stay apart from yours; "
                "to have them here, copy the key of the machine that sent them"
            )
        plain = [n for n in branches if n == PERSON or n.startswith(("memory/", "inbox/"))]
        if not plain:
            return ""
        return (
            f"memories sent before sync.key was set can still be read there ({', '.join(plain)}); "
            "once every machine has the key, delete them: git push REMOTE --delete BRANCH"
        )


def sync(part: Part, branch: Branch, name: str) -> PartReport:
    """Bring a part and its branch to the same state; if killed at any point, the next sync continues."""
    report = PartReport(name)
    with exclusive(part.git_dir.with_suffix(".sync.lock")), explained(part.git_dir):
        for _ in range(ATTEMPTS):
            part.begin()
            theirs = branch.fetch(part.git_dir)
            merged = MergeReport() if theirs is None else part.merge(theirs, branch.name)
            report = _with(report, merged)
            ours = part.ours
            if theirs is not None and part.contains(theirs, ours):
                return report
            if branch.push(part.git_dir, ours, theirs):
                return replace(report, pushed=True)
    raise StorageError(
        f"other machines pushed {ATTEMPTS} times while this one synchronised with {branch.name}; "
        "nothing was lost: sync again in a moment"
    )


def _with(report: PartReport, merged: MergeReport) -> PartReport:
    return replace(
        report,
        pulled=tuple(sorted({*report.pulled, *merged.pulled})),
        conflicts=tuple(dict.fromkeys((*report.conflicts, *merged.conflicts))),
        refused=merged.refused,
    )
