"""A branch of a git remote, reached with the system's git: people's keys and helpers live there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from reverie.errors import InputError, ReverieError, StorageError
from reverie.files.git import Answer, Git, NoGit, TooSlow

# Trees are read name by name and never checked out, so a hostile one need not stop the fetch.
_SETTINGS = {
    "core.fsmonitor": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "fetch.fsckObjects": "false",
    "transfer.fsckObjects": "false",
}
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_IDENTITY = re.compile(r"(?P<name>.+) <(?P<email>[^<>]+)> \d+ [+-]\d+\n?")
_LOST_RACE = re.compile(
    r"\[rejected\]|cannot lock ref|failed to update ref|incorrect old value|reference already exists"
)
_NO_BRANCH = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_NO_REPOSITORY = re.compile(
    r"does not appear to be a git repo|repository .*not found|not a git repository|no such path"
    r"|repository not exported|does not exist",
    re.IGNORECASE,
)
_NO_ACCESS = re.compile(
    r"authentication failed|permission denied|could not read (?:username|password)"
    r"|terminal prompts disabled|access denied|error: 40[13]|host key verification|dubious ownership",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Remote:
    """Where the team keeps its memory. `environment` is the process's own, read by settings."""

    url: str
    environment: Mapping[str, str]
    branch: str = "main"
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not _plain(self.url) or not self.url.strip() or _HELPER.match(self.url):
            raise InputError(f"{self.url!r} is not the address of a git remote: give a URL or path")
        if not _plain(self.branch) or not pygit2.reference_is_valid_name(self._ref):
            raise InputError(f"{self.branch!r} cannot be the name of a git branch")

    @property
    def name(self) -> str:
        """The address as it may be shown: a password in it is nobody's business."""
        return _CREDENTIALS.sub("…@", self.url)

    def fetch(self, git_dir: Path, into: str) -> bool:
        """Bring the branch here under a reference; False when the remote does not have it yet."""
        options = ("--no-tags", "--no-recurse-submodules", "--quiet")
        answer = self._git(git_dir, "fetch", *options, self.url, f"+{self._ref}:{into}")
        if answer.code and not _NO_BRANCH.search(answer.said):
            raise self._failure("fetch from", answer)
        return answer.code == 0

    def push(self, git_dir: Path, commit: str) -> bool:
        """Move the branch on to a commit, never by force; False when somebody was faster."""
        options = ("--porcelain", "--no-follow-tags", "--no-recurse-submodules")
        answer = self._git(git_dir, "push", *options, self.url, f"{commit}:{self._ref}")
        if answer.code == 0:
            return True
        refusal = next((line for line in answer.out.splitlines() if line.startswith("!")), None)
        if refusal is None:
            raise self._failure("push to", answer)
        if _LOST_RACE.search(refusal + answer.said):
            return False
        reason = refusal.rpartition("\t")[2]
        raise StorageError(
            f"{self.name} did not take the push to {self.branch}: {reason}; nothing was lost: "
            "ask who may write there, then sync again"
        )

    def identity(self, git_dir: Path) -> tuple[str, str] | None:
        """Who the person is to git; None when they never told it."""
        answer = self._git(git_dir, "var", "GIT_AUTHOR_IDENT")
        found = _IDENTITY.fullmatch(answer.out) if answer.code == 0 else None
        return (found["name"], found["email"]) if found else None

    @property
    def _ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def _git(self, git_dir: Path, *arguments: str) -> Answer:
        git = Git(self.environment, self.seconds)
        try:
            return git.run("--git-dir", str(git_dir), *arguments, settings=_SETTINGS)
        except NoGit as error:
            raise InputError("git is not installed; team memory travels through it") from error
        except TooSlow as error:
            raise StorageError(
                f"{self.name} did not answer within {self.seconds:g} s; nothing was lost: "
                "sync again when it can be reached"
            ) from error

    def _failure(self, verb: str, answer: Answer) -> ReverieError:
        said = _CREDENTIALS.sub("…@", " ".join(answer.said.split()))[-300:]
        if _NO_ACCESS.search(answer.said):
            return StorageError(
                f"{self.name} does not let you in: {said}; sign in with git first "
                f"(`git ls-remote {self.name}` must work without a question), then sync again"
            )
        if _NO_REPOSITORY.search(answer.said):
            return InputError(
                f"{self.name} is not a git repository: {said}; check the address, "
                "or make one there with `git init --bare`"
            )
        return StorageError(
            f"cannot {verb} {self.name}: {said}; nothing was lost: "
            "sync again when it can be reached"
        )


def _plain(argument: str) -> bool:
    """Text that no program takes for an option."""
    return argument.isprintable() and not argument.startswith("-")
