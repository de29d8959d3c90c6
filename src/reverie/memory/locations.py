"""Where a project's memory is, also after the project was moved."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from dataclasses import asdict, dataclass
from pathlib import Path

from reverie.errors import InputError
from reverie.files.atomic import read_json, slug, write_json
from reverie.memory.format.paths import Refused, check_directory
from reverie.settings.projects import Project

IDENTITY = "project.json"
# Which folder has the memory of a repository, by the repository's address.
REMOTES = "remotes"
PERSON = "person"
USERS = "users"

_LONGEST_USER = 256
_READABLE_USER = 40


@dataclass(frozen=True, slots=True)
class MemoryLocation:
    """The memory directory, and the folder for its history, inbox and search index."""

    directory: Path
    state: Path

    @property
    def history(self) -> Path:
        return self.state / "history.git"

    @property
    def team(self) -> MemoryLocation:
        """The team's memory: inside Reverie's own directory, never inside another client's."""
        ours = self.directory.parent == self.state
        directory = self.directory / "team" if ours else self.state / "team" / "memory"
        return MemoryLocation(directory, self.state / "team")


def person_location(home: Path) -> MemoryLocation:
    """Where the user's personal memory is, which all projects share."""
    return MemoryLocation(home / PERSON / "memory", home / PERSON)


def user_folder(state: Path, user: str) -> Path:
    """The folder of one user of a multi-user program, in the project's state folder.

    Names are untrusted. The digest separates names that a file system may treat as equal (`Bob`,
    `bob`), and the readable part contains no path separators.
    """
    if not isinstance(user, str) or not user.strip() or len(user) > _LONGEST_USER:
        raise InputError(f"user {_quoted(user)} is refused: give 1 to {_LONGEST_USER} characters")
    if any(unicodedata.category(char) in {"Cc", "Cs"} for char in user):
        raise InputError(f"user {_quoted(user)} is refused: it contains a control character")
    readable = re.sub(r"[^a-z0-9]+", "-", user.casefold()).strip("-")[:_READABLE_USER]
    digest = hashlib.blake2b(user.encode(), digest_size=16).hexdigest()
    return state / USERS / (f"{readable}-{digest}" if readable else digest)


def _quoted(user: object) -> str:
    text = repr(user)
    return text if len(text) <= 80 else f"{text[:77]}…"


@dataclass(frozen=True, slots=True)
class Identity:
    """A project's identity, independent of its path: its remote and its first commit."""

    root: str
    remote: str = ""
    first_commit: str = ""
    # The folder of the project before it moved, and the adopted directory, if any.
    continues: str = ""
    adopted: str = ""
    # Not empty: the user wants a memory of its own for this clone.
    apart: str = ""

    def is_same(self, other: Identity) -> bool:
        same_remote = bool(self.remote) and self.remote == other.remote
        return same_remote or (bool(self.first_commit) and self.first_commit == other.first_commit)


def memory_location(
    project: Project, chosen: Path | None, *, home: Path, person: Path
) -> MemoryLocation:
    """The location of a project's memory: the chosen directory, the adopted one, or the default."""
    folder = continued(project.folder)
    known = read_identity(folder)
    if chosen is None and known is not None and known.adopted:
        chosen = Path(known.adopted)
    if chosen is None:
        return MemoryLocation(folder / "memory", folder)
    verdict = check_directory(str(chosen), str(person))
    if isinstance(verdict, Refused):
        raise InputError(verdict.reason)
    real = Path(os.path.realpath(chosen))
    default = (project.folder / "memory").resolve()
    state = project.folder if real == default else home / "directories" / slug(real)
    return MemoryLocation(Path(verdict.path), state)


def holder_of(remote: str, home: Path) -> Path | None:
    """The folder that has the memory of a repository; None if it has none yet."""
    if not remote:
        return None
    data = read_json(_record_of(remote, home))
    name = str(data.get("folder") or "") if isinstance(data, dict) else ""
    folder = home / "projects" / name
    return folder if name and Path(name).name == name and folder.is_dir() else None


def hold(project: Project, home: Path) -> None:
    """Record that this project's folder has the memory of its repository, unless another has."""
    if project.remote and holder_of(project.remote, home) is None:
        folder = continued(project.folder)
        record = {"remote": project.remote, "folder": folder.name, "root": str(project.root)}
        write_json(_record_of(project.remote, home), record)


def has_memory(folder: Path) -> bool:
    """Whether a project's folder has a memory, its own or an adopted one."""
    known = read_identity(folder)
    if known is not None and known.adopted:
        return True
    return next((folder / "memory").glob("*.md"), None) is not None


def _record_of(remote: str, home: Path) -> Path:
    return home / REMOTES / f"{slug(Path(remote))}.json"


def continued(folder: Path) -> Path:
    """The folder with a project's memory: its own, or that of the project it continues."""
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
