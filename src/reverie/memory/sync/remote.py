"""Where machines meet: a branch of a git remote, plain, or sealed so that the remote reads nothing.

A sealed branch has encrypted git bundles instead of memories: every push adds one with the new
commits. Names of branches and files tell nothing about the project.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pygit2

from reverie.errors import InputError, ReverieError, StorageError
from reverie.files import atomic
from reverie.files.atomic import make_private
from reverie.files.git import Answer, Git, NoGit, TooSlow
from reverie.memory.git_trees import blob_of, commit_of, files_of, open_repository, tree_of

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


FETCHED = "refs/reverie/sync/fetched"
_SEALED = "refs/reverie/sync/sealed"
SEALED = "sealed/"
_OUTGOING = "refs/reverie/sync/outgoing"
# After this many bundles, one bundle with everything replaces them.
_MOST_BUNDLES = 50


class Branch(Protocol):
    """A branch that can be fetched and pushed to."""

    @property
    def name(self) -> str:
        """Where it is, without credentials, for messages."""
        ...

    def fetch(self, git_dir: Path) -> str | None:
        """Fetch the newest commit of the memory; None if there is none yet."""
        ...

    def push(self, git_dir: Path, commit: str, known: str | None) -> bool:
        """Push a commit; `known` is what was fetched. False: another push came first."""
        ...


@dataclass(frozen=True, slots=True)
class PlainBranch:
    """A branch with the commits themselves."""

    remote: Remote

    @property
    def name(self) -> str:
        return self.remote.name

    def fetch(self, git_dir: Path) -> str | None:
        if not self.remote.fetch(git_dir, FETCHED):
            return None
        return _at(open_repository(git_dir), FETCHED)

    def push(self, git_dir: Path, commit: str, known: str | None) -> bool:
        return self.remote.push(git_dir, commit)


@dataclass(frozen=True, slots=True)
class SealedBranch:
    """A branch with encrypted bundles of commits."""

    remote: Remote
    key: SyncKey

    @property
    def name(self) -> str:
        return self.remote.name

    def fetch(self, git_dir: Path) -> str | None:
        if not self.remote.fetch(git_dir, _SEALED):
            return None
        repo = open_repository(git_dir)
        tree = commit_of(repo, _at(repo, _SEALED) or "").tree
        for name, id_ in sorted(files_of(repo, tree)):
            self._unpack(git_dir, name, blob_of(repo, id_) or b"")
        return _at(open_repository(git_dir), FETCHED)

    def _unpack(self, git_dir: Path, name: str, sealed: bytes) -> None:
        plain = self.key.opened(sealed, f"{name} in {self.name}")
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "bundle"
            bundle.write_bytes(plain)
            self._git(git_dir, "fetch", "--quiet", str(bundle), f"+{_OUTGOING}:{FETCHED}")

    def push(self, git_dir: Path, commit: str, known: str | None) -> bool:
        repo = open_repository(git_dir)
        repo.references.create(_OUTGOING, commit, force=True)
        sealed = _at(repo, _SEALED) if known else None
        old = commit_of(repo, sealed).tree if sealed else None
        names = [] if old is None else sorted(name for name, _ in files_of(repo, old))
        whole = len(names) >= _MOST_BUNDLES or not names
        data = self._bundle(git_dir, None if whole else known)
        name = f"{int(names[-1].split('.')[0]) + 1 if names else 1:06}.age"
        tree = tree_of(repo, None if whole else old, {name: self.key.sealed(data)})
        who = pygit2.Signature("reverie", "reverie@localhost", 0, 0)
        made = repo.create_commit(None, who, who, "sealed\n", tree, [sealed] if sealed else [])
        return self.remote.push(git_dir, str(made))

    def _bundle(self, git_dir: Path, known: str | None) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(folder) / "bundle"
            without = [f"^{known}"] if known else []
            self._git(git_dir, "bundle", "create", "--quiet", str(bundle), _OUTGOING, *without)
            return bundle.read_bytes()

    def _git(self, git_dir: Path, *arguments: str) -> None:
        answer = Git(self.remote.environment, self.remote.seconds).run(
            "--git-dir", str(git_dir), *arguments
        )
        if answer.code:
            raise StorageError(f"git {arguments[0]} failed: {' '.join(answer.said.split())[-300:]}")


def _at(repo: pygit2.Repository, reference: str) -> str | None:
    found = repo.references.get(reference)
    return None if found is None else str(found.peel(pygit2.Commit).id)


class SyncKey:
    """An age identity from a key file, which every machine of the person has a copy of."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    @classmethod
    def read(cls, path: Path) -> SyncKey:
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise InputError(
                f"sync.key {path} cannot be read ({reason}); make one with "
                f"`reverie sync --new-key {path}`, or copy it from your other machine"
            ) from error
        found = next((line.strip() for line in lines if line.startswith("AGE-SECRET-KEY-")), None)
        if found is None:
            raise InputError(f"sync.key {path} holds no line AGE-SECRET-KEY-…; see `age-keygen`")
        return cls(found)

    @classmethod
    def create(cls, path: Path) -> SyncKey:
        """Write a new key, readable by its owner alone; an existing file stays."""
        if path.exists():
            raise InputError(f"{path} exists; a key is never overwritten")
        made = cls(str(_pyrage().x25519.Identity.generate()))
        make_private(path.parent)
        atomic.replace(path, f"{made._secret}\n".encode(), mode=0o600)
        return made

    def branch(self, name: str) -> str:
        """The name of a branch, which only owners of the key can derive."""
        digest = hmac.new(self._secret.encode(), name.encode(), hashlib.sha256)
        return f"{SEALED}{digest.hexdigest()[:32]}"

    def sealed(self, data: bytes) -> bytes:
        age = _pyrage()
        identity = age.x25519.Identity.from_str(self._secret)
        return bytes(age.encrypt(data, [identity.to_public()]))

    def opened(self, data: bytes, what: str) -> bytes:
        age = _pyrage()
        try:
            return bytes(age.decrypt(data, [age.x25519.Identity.from_str(self._secret)]))
        except (age.DecryptError, age.IdentityError) as error:
            raise InputError(
                f"{what} cannot be opened with this sync.key ({error}); copy the key of the "
                "machine that wrote it"
            ) from error


def _pyrage() -> Any:
    try:
        import pyrage  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError(
            "sync.key needs the package pyrage: pip install 'reverie[sync]'"
        ) from error
    return pyrage
