"""A team for tests: members with a store each, a bare repository, and a hostile member."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType
from tests.place import FixedClock, git

from reverie.memory.format import topic as topics
from reverie.memory.format.index import Pointer
from reverie.memory.format.revisions import Author, Drop, Put
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore
from reverie.memory.sync.remote import Remote
from reverie.memory.sync.team import SyncReport, TeamSync

FILE, PROGRAM, LINK, FOLDER, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o040000, 0o160000
SECRET = "token-" + "5up3r" * 4


@dataclass(frozen=True)
class Clean:
    text: str
    kinds: tuple[str, ...]


class TokenScrubber:
    """Knows one kind of secret."""

    def scrub(self, text: str) -> Clean:
        found = re.findall(r"token-\w{20}", text)
        return Clean(text, ("token",) if found else ())


class Member:
    """One person's machine."""

    def __init__(self, base: Path, name: str, remote: Path | str, branch: str = "main") -> None:
        self.folder = base / name
        self.root = self.folder / "memory" / "team"
        self.clock = FixedClock()
        self.store = FileStore(self.root, GitHistory(self.folder / "team.git", self.clock))
        # Nothing from the environment of the test run, except where git is.
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": name.capitalize(),
            "GIT_AUTHOR_EMAIL": f"{name}@example.invalid",
        }
        self.remote = Remote(str(remote), self.environment, branch, seconds=20)

    def sync(self, scrubber: TokenScrubber | None = None) -> SyncReport:
        self.clock.advance(60)
        team = TeamSync(self.store, self.remote, scrubber or TokenScrubber(), self.clock)
        return team.sync(Author("user", session="s-private"))

    def remember(self, file: str, body: str, **keys: str) -> None:
        """Save a memory with its pointer, as the keeper does."""
        stored = self.store.read(file)
        made = topics.new(
            file, f"About {file}", "project", body, file=file, **{"origin": "user", **keys}
        )
        put = Put(file, topics.render(made), stored.version if stored else None)
        pointer = Pointer(made.name, file, made.description)
        self.store.apply((put,), Author(), f"remember {file}", lambda i: i.with_pointer(pointer))

    def forget(self, file: str) -> None:
        stored = self.store.read(file)
        assert stored is not None
        drop = Drop(file, stored.version)
        self.store.apply((drop,), Author(), f"forget {file}", lambda i: i.without(file))

    def body(self, file: str) -> str | None:
        stored = self.store.read(file)
        return None if stored is None else stored.topic.body

    def origin(self, file: str) -> str | None:
        stored = self.store.read(file)
        assert stored is not None
        return stored.topic.origin

    @property
    def files(self) -> dict[str, bytes]:
        """What is on this disk."""
        paths = [path for path in self.root.rglob("*") if not path.is_dir()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in paths}

    @property
    def pointed(self) -> list[str]:
        return sorted(pointer.file for pointer in self.store.index().pointers)


def bare(path: Path) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q", "--bare", "-b", "main")
    return path


def head(remote: Path, branch: str = "main") -> pygit2.Commit:
    repo = pygit2.Repository(str(remote))
    return repo.references[f"refs/heads/{branch}"].peel(pygit2.Commit)


def names(remote: Path) -> list[bytes]:
    """Everything at the top of the branch, as raw bytes."""
    return [item.raw_name for item in head(remote).tree]


class Attacker:
    """Writes any tree into the remote, object by object, past every check of git's own."""

    def __init__(self, remote: Path) -> None:
        self.repo = pygit2.Repository(str(remote))

    def blob(self, data: bytes) -> pygit2.Oid:
        return self.repo.create_blob(data)

    def tree(self, entries: Sequence[tuple[int, bytes, pygit2.Oid]]) -> pygit2.Oid:
        raw = b"".join(b"%o %s\0" % (m, n) + bytes.fromhex(str(o)) for m, n, o in entries)
        return self.repo.write(ObjectType.TREE, raw)

    def commit(self, *entries: tuple[int, bytes, pygit2.Oid]) -> None:
        """The branch's tree with these entries added (or put in the place of what is there)."""
        reference = self.repo.references.get("refs/heads/main")
        old = [] if reference is None else list(reference.peel(pygit2.Commit).tree)
        added = {name for _, name, _ in entries}
        kept = [(int(i.filemode), i.raw_name, i.id) for i in old if i.raw_name not in added]
        both = sorted([*kept, *entries], key=lambda e: e[1] + (b"/" if e[0] == FOLDER else b""))
        who = pygit2.Signature("Mallory", "mallory@example.invalid", 1_750_000_000, 0)
        parents = [] if reference is None else [reference.target]
        made = self.repo.create_commit(None, who, who, "innocent", self.tree(both), parents)
        self.repo.references.create("refs/heads/main", made, force=True)
