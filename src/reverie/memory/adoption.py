"""Link a project to existing memory: that of its former path, or an adopted directory."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pygit2

from reverie.errors import InputError
from reverie.files.atomic import slug
from reverie.memory.format.paths import Refused, check_directory
from reverie.memory.locations import (
    Identity,
    continued,
    hold,
    read_identity,
    write_identity,
)
from reverie.settings.projects import Project

# How far back to look for a repository's first commit; it is only a hint.
_COMMITS_WALKED = 20_000


def identify(root: Path) -> Identity:
    """A project's identity, read from its repository; outside git only its path."""
    if not (root / ".git").exists() and not (root / "HEAD").exists():
        return Identity(str(root))
    try:
        repo = pygit2.Repository(str(root))
        remote = repo.remotes["origin"].url if "origin" in set(repo.remotes.names()) else ""
        return Identity(str(root), remote or "", _first_commit(repo))
    except (pygit2.GitError, KeyError, ValueError):
        return Identity(str(root))


def relatives(project: Project, home: Path) -> list[tuple[Path, Identity]]:
    """Other projects under this home with the same repository, whose root no longer exists."""
    mine = identify(project.root)
    found = []
    for folder in sorted((home / "projects").glob("*")):
        theirs = read_identity(folder) if folder != project.folder else None
        if theirs is not None and mine.is_same(theirs) and not Path(theirs.root).exists():
            found.append((folder, theirs))
    return found


def _first_commit(repo: pygit2.Repository) -> str:
    if repo.head_is_unborn:
        return ""
    first = ""
    for count, commit in enumerate(repo.walk(repo.head.target)):
        if count >= _COMMITS_WALKED:
            return ""
        if not commit.parent_ids:
            first = str(commit.id)
    return first


_KEY = re.compile(r"[^A-Za-z0-9]")


def claude_memory(config: Path, folders: Iterable[Path]) -> Path | None:
    """Claude Code's memory for one of these folders; it names a project after its path."""
    found = (config / "projects" / _KEY.sub("-", str(folder)) / "memory" for folder in folders)
    return next((directory for directory in found if directory.is_dir()), None)


@dataclass(frozen=True, slots=True)
class Adoption:
    """Links a project's memory to another folder; `person` is the user's home folder."""

    project: Project
    home: Path
    person: Path

    @property
    def current(self) -> str:
        """The adopted directory, or the folder of the continued project; empty if there is none."""
        known = read_identity(self.project.folder)
        return (known.adopted or known.continues) if known else ""

    def recognise(self) -> None:
        """Save the project's identity, so that it is found again after a move or in another clone."""
        hold(self.project, self.home)
        known = read_identity(self.project.folder)
        if known is not None and (known.remote or known.first_commit):
            return
        seen = identify(self.project.root)
        if known is None or seen.remote or seen.first_commit:
            kept = known or seen
            fresh = replace(seen, continues=kept.continues, adopted=kept.adopted, apart=kept.apart)
            write_identity(self.project.folder, fresh)

    def adopt(self, directory: Path) -> Path:
        """Use an existing directory in place; this writes nothing into it."""
        verdict = check_directory(str(directory.absolute()), str(self.person))
        if isinstance(verdict, Refused):
            raise InputError(verdict.reason)
        if not directory.is_dir():
            raise InputError(f"cannot adopt {str(directory)!r}: there is no such folder")
        real = directory.resolve()
        self._link(adopted=str(real))
        return real

    def former(self) -> list[tuple[Path, Identity]]:
        """Former projects of this repository, without those that continued another one."""
        found = relatives(self.project, self.home)
        return [(folder, identity) for folder, identity in found if not identity.continues]

    def continue_from(self, wanted: str) -> Path:
        """Continue a former project, given by its old path or the name of its folder."""
        folder = self._folder_of(wanted)
        if folder is None:
            raise InputError(
                f"no project {wanted!r} under {self.home / 'projects'}; give the path it had, "
                "or the name of its folder there"
            )
        older = continued(folder)
        if older == self.project.folder:
            raise InputError(f"{wanted!r} is this project itself")
        self._link(continues=older.name)
        return older

    def give_back(self) -> str:
        """Use the project's own directory again; return what was adopted or continued."""
        known = read_identity(self.project.folder)
        if known is None or not (known.adopted or known.continues):
            raise InputError("nothing was adopted; this project uses its own memory directory")
        write_identity(self.project.folder, replace(known, adopted="", continues="", apart="yes"))
        return known.adopted or known.continues

    def orphans(self) -> list[tuple[Path, Identity]]:
        """Projects of this home whose root is gone and that no project continues."""
        known = [(folder, read_identity(folder)) for folder in self._folders()]
        linked = {identity.continues for _, identity in known if identity is not None}
        return [
            (folder, identity)
            for folder, identity in known
            if identity is not None
            and not identity.continues
            and folder.name not in linked
            and not Path(identity.root).exists()
        ]

    def _folders(self) -> list[Path]:
        return sorted((self.home / "projects").glob("*"))

    def _folder_of(self, wanted: str) -> Path | None:
        names = {folder.name: folder for folder in self._folders()}
        path = Path(wanted).absolute()
        for name in (wanted, slug(path)):
            if name in names:
                return names[name]
        known = ((folder, read_identity(folder)) for folder in names.values())
        return next((folder for folder, seen in known if seen and seen.root == str(path)), None)

    def _link(self, *, continues: str = "", adopted: str = "") -> None:
        seen = identify(self.project.root)
        write_identity(self.project.folder, replace(seen, continues=continues, adopted=adopted))
