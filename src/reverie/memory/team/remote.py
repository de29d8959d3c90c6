"""A branch of a git remote, accessed with the system's git, which has the user's credentials."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from reverie.errors import InputError, ReverieError, StorageError
from reverie.files.git import Answer, Git, NoGit, TooSlow

# Trees are read by name and never checked out, so a hostile one need not stop the fetch.
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
    """The remote with the team's memory; `environment` is the one git runs in."""

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
        """The address without credentials, for messages."""
        return _CREDENTIALS.sub("…@", self.url)

    def fetch(self, git_dir: Path, into: str) -> bool:
        """Fetch the branch to a reference; False if the remote does not have it yet."""
        options = ("--no-tags", "--no-recurse-submodules", "--quiet")
        answer = self._git(git_dir, "fetch", *options, self.url, f"+{self._ref}:{into}")
        if answer.code and not _NO_BRANCH.search(answer.said):
            raise self._failure("fetch from", answer)
        return answer.code == 0

    def push(self, git_dir: Path, commit: str) -> bool:
        """Push a commit to the branch, never by force; False if another push came first."""
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
            "ask for write access, then sync again"
        )

    def branches(self, git_dir: Path) -> tuple[str, ...]:
        """The names of the remote's branches."""
        answer = self._git(git_dir, "ls-remote", "--heads", "--quiet", self.url)
        if answer.code:
            raise self._failure("fetch from", answer)
        refs = (line.partition("\t")[2] for line in answer.out.splitlines())
        return tuple(ref.removeprefix("refs/heads/") for ref in refs)

    def identity(self, git_dir: Path) -> tuple[str, str] | None:
        """The user's name and email address in git; None if they are not configured."""
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
            raise InputError("git is not installed; team memory needs it") from error
        except TooSlow as error:
            raise StorageError(
                f"{self.name} did not answer within {self.seconds:g} s; nothing was lost: "
                "sync again when it can be reached"
            ) from error

    def _failure(self, verb: str, answer: Answer) -> ReverieError:
        message = _CREDENTIALS.sub("…@", " ".join(answer.said.split()))[-300:]
        if _NO_ACCESS.search(answer.said):
            return StorageError(
                f"{self.name} denied access: {message}; sign in with git first "
                f"(`git ls-remote {self.name}` must work without a question), then sync again"
            )
        if _NO_REPOSITORY.search(answer.said):
            return InputError(
                f"{self.name} is not a git repository: {message}; check the address, "
                "or make one there with `git init --bare`"
            )
        return StorageError(
            f"cannot {verb} {self.name}: {message}; nothing was lost: "
            "sync again when it can be reached"
        )


def _plain(argument: str) -> bool:
    """Whether text is printable and cannot be mistaken for an option."""
    return argument.isprintable() and not argument.startswith("-")
