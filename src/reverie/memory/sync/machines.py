"""Synchronise one memory, or one inbox, with a branch: fetch, merge, push, again if another won."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from reverie.errors import StorageError
from reverie.files.locks import exclusive
from reverie.memory.git_trees import explained
from reverie.memory.sync.branches import Branch, PlainBranch, SealedBranch, SyncKey
from reverie.memory.sync.merging import ATTEMPTS, MergeReport
from reverie.memory.team.accepting import Refusal
from reverie.memory.team.merge import Conflict
from reverie.memory.team.remote import Remote


class Part(Protocol):
    """Something with a git history that can be merged with another copy of it."""

    @property
    def git_dir(self) -> Path: ...

    @property
    def ours(self) -> str: ...

    def begin(self) -> None: ...

    def contains(self, newer: str, older: str) -> bool: ...

    def merge(self, theirs: str, source: str) -> MergeReport: ...


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


def sync(part: Part, branch: Branch, name: str) -> PartReport:
    """Bring a part and its branch to the same state; killed anywhere, the next sync goes on."""
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
                return PartReport(name, report.pulled, True, report.conflicts, report.refused)  # noqa: FBT003
    raise StorageError(
        f"other machines pushed {ATTEMPTS} times while this one synchronised with {branch.name}; "
        "nothing was lost: sync again in a moment"
    )


def _with(report: PartReport, merged: MergeReport) -> PartReport:
    return PartReport(
        report.part,
        tuple(sorted({*report.pulled, *merged.pulled})),
        report.pushed,
        tuple(dict.fromkeys((*report.conflicts, *merged.conflicts))),
        merged.refused,
    )
