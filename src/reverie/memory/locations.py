"""Where a project's memory is, also after the project was moved or linked to existing memory."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.files.atomic import read_json, slug, write_json
from reverie.memory.format.paths import Refused, check_directory
from reverie.settings.projects import Project
from reverie.settings.sources import environment

if TYPE_CHECKING:
    from reverie.files.git import Git

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
    # Set when the user wants a separate memory for this clone.
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


# How far back to look for a repository's first commit; it is only a hint.
_COMMITS_WALKED = 20_000
_GIT_SECONDS = 5.0
# How many files of a git directory are looked at for links.
_MOST_LOOKED_AT = 50_000


def identify(root: Path) -> Identity:
    """A project's identity, read from its repository; outside git only its path.

    Anyone may have made the repository. libgit2 reads a cut object forever, inside this process, so
    that git reads it in another, which is ended when it takes too long.
    """
    bare = not (root / ".git").exists()
    if bare and not (root / "HEAD").exists():
        return Identity(str(root))
    # It is not needed outside git.
    from reverie.files.git import Git, NoGit, TooSlow, reading_environment  # noqa: PLC0415

    git = Git(reading_environment(environment()), _GIT_SECONDS)
    place = ("--git-dir", str(root)) if bare else ("-C", str(root))
    try:
        remote = git.run(*place, "remote", "get-url", "origin")
        first = _first_commit(git, place)
    except (NoGit, TooSlow):
        return Identity(str(root))
    return Identity(str(root), "" if remote.code else remote.out.strip(), first)


def has_own_objects(root: Path) -> bool:
    """Whether a repository keeps its commits itself; by links it could borrow another's history."""
    git_dir = root / ".git"
    borrowed = ("commondir", "objects/info/alternates")
    if git_dir.is_symlink() or any(os.path.lexists(git_dir / name) for name in borrowed):
        return False
    looked_at = 0
    for folder, folders, files in os.walk(git_dir):
        looked_at += len(folders) + len(files)
        if looked_at > _MOST_LOOKED_AT:
            return False
        if any(os.path.islink(os.path.join(folder, name)) for name in (*folders, *files)):  # noqa: PTH114, PTH118
            return False
    return True


def relatives(project: Project, home: Path) -> list[tuple[Path, Identity]]:
    """Other projects under this home with the same repository, whose root no longer exists."""
    mine = identify(project.root)
    found = []
    for folder in sorted((home / "projects").glob("*")):
        theirs = read_identity(folder) if folder != project.folder else None
        if theirs is not None and mine.is_same(theirs) and not Path(theirs.root).exists():
            found.append((folder, theirs))
    return found


def _first_commit(git: Git, place: tuple[str, ...]) -> str:
    """The id of the first commit, if it is the id of what the repository has under it."""
    most = f"--max-count={_COMMITS_WALKED + 1}"
    listed = git.run(*place, "rev-list", "--parents", most, "HEAD", "--").out.split("\n")[:-1]
    first = next((line for line in reversed(listed) if " " not in line), "")
    if not first or len(listed) > _COMMITS_WALKED:
        return ""
    content = os.fsencode(git.run(*place, "cat-file", "commit", first).out)
    made = hashlib.new("sha1" if len(first) == 40 else "sha256", usedforsecurity=False)
    made.update(b"commit %d\0%b" % (len(content), content))
    return first if made.hexdigest() == first else ""


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
