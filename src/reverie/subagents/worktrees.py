"""Git worktrees for isolated agents: each has its own branch and folder, never removed with work in it.

They are made with the installed git and the person's configuration, but without hooks. Nothing is
forced: only an unchanged folder is removed, and only a branch without new commits is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reverie.errors import InputError, ReverieError, StorageError
from reverie.files.git import PLAIN_DIFF, Git, NoGit, TooSlow, unknown_settings, without_another
from reverie.subagents.letters import name_problem

PREFIX = "reverie/"
SECONDS = 120.0

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "gc.auto": "0",
    "maintenance.auto": "false",
    # Git's own check before it removes a folder must see new files, whatever the person's setting.
    "status.showUntrackedFiles": "all",
    "advice.detachedHead": "false",
}


@dataclass(frozen=True, slots=True)
class Worktree:
    """A folder with a checkout of `branch`, created at the commit `base`."""

    repository: Path
    name: str
    folder: Path
    branch: str
    base: str


@dataclass(frozen=True, slots=True)
class NoWorktree:
    """Why no worktree was created."""

    reason: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Commits ("1f2e3d4 its first line", oldest first) and files changed since the base."""

    commits: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.commits or self.files)


@dataclass(frozen=True, slots=True)
class Removed:
    """The folder was removed; `branch` is set when the branch is still there."""

    branch: str | None


@dataclass(frozen=True, slots=True)
class Kept:
    """Why the folder was kept; `changes` is None when they could not be determined."""

    folder: Path
    branch: str
    changes: Changes | None
    reason: str


class Worktrees:
    """Creates and removes worktrees. `environment` is that of the process, read by settings."""

    def __init__(self, environment: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._environment = without_another(environment)
        self._seconds = seconds
        self._program = Git(environment, seconds, GIT_OPTIONAL_LOCKS="0")

    def add(self, repository: Path, name: str, folder: Path) -> Worktree | NoWorktree:
        """A new branch `reverie/<name>` at the repository's HEAD, checked out in a new folder."""
        if wrong := name_problem(name):
            return NoWorktree(wrong)
        try:
            worktree = self._begun(repository, name, folder)
            self._check_out(worktree)
        except ReverieError as error:
            return NoWorktree(str(error))
        return worktree

    def changes(self, worktree: Worktree) -> Changes:
        """The changes since it was created; ignored files do not count."""
        if not worktree.folder.exists():
            tips = self._tip(worktree.repository, _ref(worktree))
            return Changes(self._commits(worktree.repository, tips, worktree.base))
        folder = worktree.folder
        self._require_own(folder)
        self._require_known(folder)
        # The worktree's reflog also has commits made on a detached HEAD.
        visited = self._git(folder, "reflog", "show", "--format=%H", "HEAD", "--").split()
        tips = (*self._tip(folder, "HEAD"), *self._tip(folder, _ref(worktree)), *visited)
        differing = self._git(
            folder,
            "diff",
            *PLAIN_DIFF,
            "--name-only",
            "-z",
            "--no-renames",
            worktree.base,
            "HEAD",
            "--",
        )
        files = {*_parts(differing), *self._dirty(folder)}
        return Changes(self._commits(folder, tips, worktree.base), tuple(sorted(files)))

    def remove(self, worktree: Worktree, *, keep_branch: bool) -> Removed | Kept:
        """Remove an unchanged folder, then the branch unless `keep_branch`.

        A folder that was removed by hand is unregistered; a branch with commits is always kept.
        """
        changes: Changes | None = None
        try:
            changes = self.changes(worktree)
            if changes and worktree.folder.exists():
                return Kept(worktree.folder, worktree.branch, changes, "it holds changes")
            if self._is_known(worktree):
                # Without --force: git checks again and refuses to remove changes.
                self._git(worktree.repository, "worktree", "remove", "--", str(worktree.folder))
            branch = self._branch_left(worktree, keep_branch)
        except ReverieError as error:
            return Kept(worktree.folder, worktree.branch, changes, str(error))
        return Removed(branch)

    def _begun(self, repository: Path, name: str, folder: Path) -> Worktree:
        """Create the branch, atomically: of several processes that try, one succeeds."""
        top = Path(self._git(repository, "rev-parse", "--show-toplevel").removesuffix("\n"))
        self._require_known(top)
        base = self._tip(top, "HEAD^{commit}")
        if not base:
            raise InputError(f"{top} has no commit yet: make one, then isolate an agent from it")
        worktree = Worktree(
            repository=top,
            name=name,
            folder=Path(os.path.realpath(folder)),
            branch=f"{PREFIX}{name}",
            base=base[0],
        )
        if self._tip(top, _ref(worktree)):
            raise InputError(
                f"{top} has a branch {worktree.branch!r} already: choose another name, or merge "
                "the branch and delete it"
            )
        # With an empty old value, update-ref fails when the branch exists by now.
        self._git(top, "update-ref", _ref(worktree), worktree.base, "")
        return worktree

    def _check_out(self, worktree: Worktree) -> None:
        folder = str(worktree.folder)
        try:
            self._git(worktree.repository, "worktree", "add", "--", folder, worktree.branch)
        except BaseException:
            if not self._is_known(worktree):
                self._branch_left(worktree, keep=False)
            raise

    def _branch_left(self, worktree: Worktree, keep: bool) -> str | None:
        """Delete the branch if it is still at its base, atomically; its name if it remains."""
        if not keep:
            with suppress(StorageError):
                self._git(worktree.repository, "update-ref", "-d", _ref(worktree), worktree.base)
        return worktree.branch if self._tip(worktree.repository, _ref(worktree)) else None

    def _is_known(self, worktree: Worktree) -> bool:
        listed = self._git(worktree.repository, "worktree", "list", "--porcelain")
        return f"worktree {worktree.folder}" in listed.split("\n")

    def _require_own(self, folder: Path) -> None:
        """Without its `.git`, git would take the folder for a part of the repository around it."""
        top = self._git(folder, "rev-parse", "--show-toplevel").removesuffix("\n")
        if Path(os.path.realpath(top)) != Path(os.path.realpath(folder)):
            raise StorageError(f"{folder} is no longer a git worktree; look at it by hand")

    def _tip(self, folder: Path, name: str) -> tuple[str, ...]:
        """The commit that a name refers to, if any."""
        try:
            found = self._git(folder, "rev-parse", "--verify", "--quiet", name)
        except StorageError:
            return ()
        return (found.strip(),)

    def _commits(self, folder: Path, tips: tuple[str, ...], base: str) -> tuple[str, ...]:
        if not tips:
            return ()
        asked = "\n".join([*dict.fromkeys(tips), f"^{base}"]) + "\n"
        options = ("--format=%h %s", "--reverse", "--no-show-signature", "--stdin")
        output = self._git(folder, "log", *options, given=asked)
        return tuple(line for line in output.split("\n") if line)

    def _dirty(self, folder: Path) -> tuple[str, ...]:
        options = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
        # Each entry begins with two status letters and a space.
        return tuple(entry[3:] for entry in _parts(self._git(folder, "status", *options)))

    def _require_known(self, repository: Path) -> None:
        """Refuse repositories whose configuration starts programs, such as filters on checkout."""
        named = unknown_settings(repository, self._environment)
        if named:
            raise InputError(
                f"the configuration of {repository} may start programs ({', '.join(named[:3])}): "
                "look at `git config --local --list`, and move what you want to ~/.gitconfig"
            )

    def _git(self, folder: Path, *arguments: str, given: str = "") -> str:
        try:
            answer = self._program.run(
                "-C", str(folder), *arguments, settings=_SETTINGS, given=given
            )
        except NoGit as error:
            raise InputError("git is not installed; isolated agents need it") from error
        except TooSlow as error:
            raise StorageError(f"git did not finish within {self._seconds:g} s") from error
        if answer.code:
            words = " ".join(answer.said.split())[-300:]
            raise StorageError(
                f"git {arguments[0]} in {folder} failed: {words or 'no reason given'}"
            )
        return answer.out


def _ref(worktree: Worktree) -> str:
    return f"refs/heads/{worktree.branch}"


def _parts(listed: str) -> list[str]:
    return [part for part in listed.split("\0") if part]
