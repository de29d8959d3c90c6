"""Where a project's memory is, and how a project that moved finds it again."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pygit2

from reverie.errors import InputError
from reverie.files.folders import slug
from reverie.files.json_files import read_json, write_json
from reverie.memory.format.paths import Refused, check_directory
from reverie.settings.projects import Project

IDENTITY = "project.json"
PERSON = "person"
USERS = "users"

_LONGEST_USER = 256
_READABLE_USER = 40


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """The directory itself, and the folder beside it for history, inbox and shadow index."""

    directory: Path
    state: Path

    @property
    def history(self) -> Path:
        return self.state / "history.git"

    @property
    def team(self) -> MemoryPlace:
        """The shared part: inside our own directory, but never inside another client's."""
        ours = self.directory.parent == self.state
        directory = self.directory / "team" if ours else self.state / "team" / "memory"
        return MemoryPlace(directory, self.state / "team")


def person_place(home: Path) -> MemoryPlace:
    """Where memory about the person is, whatever project they work on."""
    return MemoryPlace(home / PERSON / "memory", home / PERSON)


def user_folder(state: Path, user: str) -> Path:
    """The folder of somebody a program serves, beside the state of the project's own memory.

    Names come from strangers. The digest keeps apart what a disk takes for the same (`Bob`, `bob`),
    and what is readable of a name cannot lead anywhere.
    """
    if not isinstance(user, str) or not user.strip() or len(user) > _LONGEST_USER:
        raise InputError(f"user {_quoted(user)} is refused: give 1 to {_LONGEST_USER} characters")
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in user):
        raise InputError(f"user {_quoted(user)} is refused: it holds a control character")
    readable = re.sub(r"[^a-z0-9]+", "-", user.casefold()).strip("-")[:_READABLE_USER]
    digest = hashlib.blake2b(user.encode(), digest_size=16).hexdigest()
    return state / USERS / (f"{readable}-{digest}" if readable else digest)


def _quoted(user: object) -> str:
    text = repr(user)
    return text if len(text) <= 80 else f"{text[:77]}…"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a project is known by, wherever it lies: its remote and its first commit."""

    root: str
    remote: str = ""
    first_commit: str = ""
    # The folder of the project it was before it moved, and the directory it adopted, if any.
    continues: str = ""
    adopted: str = ""

    def is_same(self, other: Identity) -> bool:
        same_remote = bool(self.remote) and self.remote == other.remote
        return same_remote or (bool(self.first_commit) and self.first_commit == other.first_commit)


def memory_place(project: Project, chosen: Path | None, *, home: Path, person: Path) -> MemoryPlace:
    """The chosen directory, or the adopted one, checked, or the default; its state is beside it."""
    folder = continued(project.folder)
    known = read_identity(folder)
    if chosen is None and known is not None and known.adopted:
        chosen = Path(known.adopted)
    if chosen is None:
        return MemoryPlace(folder / "memory", folder)
    verdict = check_directory(str(chosen), str(person))
    if isinstance(verdict, Refused):
        raise InputError(verdict.reason)
    real = Path(os.path.realpath(chosen))
    default = (project.folder / "memory").resolve()
    state = project.folder if real == default else home / "directories" / slug(real)
    return MemoryPlace(Path(verdict.path), state)


def continued(folder: Path) -> Path:
    """The folder a project's memory lives in: its own, or the one it was linked to."""
    link = read_identity(folder)
    if link is None or not link.continues or Path(link.continues).name != link.continues:
        return folder
    older = folder.with_name(link.continues)
    return older if older.is_dir() else folder


def read_identity(folder: Path) -> Identity | None:
    data = read_json(folder / IDENTITY)
    if not isinstance(data, dict):
        return None
    return Identity(**{key: str(data.get(key) or "") for key in asdict(Identity(""))})


def write_identity(folder: Path, identity: Identity) -> None:
    write_json(folder / IDENTITY, asdict(identity))


# A repository's first commit is looked for only so far back: a hint is not worth a long wait.
_COMMITS_WALKED = 20_000


def identify(root: Path) -> Identity:
    """What a project is known by, read from its repository; outside git only its path."""
    if not (root / ".git").exists() and not (root / "HEAD").exists():
        return Identity(str(root))
    try:
        repo = pygit2.Repository(str(root))
        remote = repo.remotes["origin"].url if "origin" in set(repo.remotes.names()) else ""
        return Identity(str(root), remote or "", _first_commit(repo))
    except (pygit2.GitError, KeyError, ValueError):
        return Identity(str(root))


def relatives(project: Project, home: Path) -> list[tuple[Path, Identity]]:
    """Other projects under this home that are the same repository, at a place that is gone."""
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


def claude_memory(config: Path, places: Iterable[Path]) -> Path | None:
    """Claude Code's memory for one of these folders: it names a project after its path."""
    found = (config / "projects" / _KEY.sub("-", str(place)) / "memory" for place in places)
    return next((directory for directory in found if directory.is_dir()), None)


@dataclass(frozen=True, slots=True)
class Adoption:
    """What one project's memory is linked to, and what it could be; `person` is what `~` stands for."""

    project: Project
    home: Path
    person: Path

    @property
    def current(self) -> str:
        """The directory that is adopted, or the folder that is continued; empty: its own."""
        known = read_identity(self.project.folder)
        return (known.adopted or known.continues) if known else ""

    def recognise(self) -> None:
        """Write down what the project is known by, so that it is found again after a move."""
        known = read_identity(self.project.folder)
        if known is not None and (known.remote or known.first_commit):
            return
        seen = identify(self.project.root)
        if known is None or seen.remote or seen.first_commit:
            kept = known or seen
            fresh = replace(seen, continues=kept.continues, adopted=kept.adopted)
            write_identity(self.project.folder, fresh)

    def adopt(self, directory: Path) -> Path:
        """Use a directory that exists, in place; nothing is put into it now."""
        verdict = check_directory(str(directory.absolute()), str(self.person))
        if isinstance(verdict, Refused):
            raise InputError(verdict.reason)
        if not directory.is_dir():
            raise InputError(f"there is no folder {str(directory)!r} to adopt")
        real = directory.resolve()
        self._link(adopted=str(real))
        return real

    def former(self) -> list[tuple[Path, Identity]]:
        """Where this repository was before; a folder that only led to another one is left out."""
        found = relatives(self.project, self.home)
        return [(folder, identity) for folder, identity in found if not identity.continues]

    def continue_from(self, wanted: str) -> Path:
        """Link the project to the one it was before: by its old path, or its folder's name."""
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
        """Use the project's own directory again; returns what was adopted or continued."""
        known = read_identity(self.project.folder)
        if known is None or not (known.adopted or known.continues):
            raise InputError("nothing was adopted; this project uses its own memory directory")
        write_identity(self.project.folder, replace(known, adopted="", continues=""))
        return known.adopted or known.continues

    def orphans(self) -> list[tuple[Path, Identity]]:
        """Projects of this home whose root is gone and that nobody continues."""
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
