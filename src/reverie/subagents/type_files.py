"""Reads the files that define agent types, from the person's folders and the project's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from reverie.errors import InputError, ReverieError, StorageError
from reverie.files.atomic import make_private, owned_by_us
from reverie.memory.directory import Directory
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.prompt import AgentScope, PromptMemory, agent_memory_prompt
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore
from reverie.ports import Clock, Scrubber
from reverie.settings.projects import canonical_root, claude_config, find_project
from reverie.subagents.types import AgentType, Catalogue, Unusable, catalogue, parse

if TYPE_CHECKING:
    from reverie.workspace import Workspace

LARGEST_FILE = 64 * 1024
MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A file as it is on disk; `source` is its path."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file (or a folder) that was not read, and why."""

    source: str
    reason: str


Found: TypeAlias = AgentFile | UnreadFile


def read_agent_files(folders: Sequence[Path]) -> tuple[Found, ...]:
    """Every `*.md` in each folder and one level below it, in the order of the folders, then by name."""
    return tuple(found for folder in folders for found in _read_folder(folder))


def _read_folder(folder: Path) -> Iterator[Found]:
    try:
        names = sorted(_names(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        yield UnreadFile(str(folder), f"it cannot be looked through: {error.strerror}")
        return
    directory = Directory(folder)
    for name in names[:MOST_FILES]:
        yield _read(directory, name)
    if len(names) > MOST_FILES:
        left = len(names) - MOST_FILES
        yield UnreadFile(str(folder), f"{left:,} files more than the {MOST_FILES} that are read")


def _names(folder: Path) -> Iterator[str]:
    for entry in _visible(folder):
        if entry.name.endswith(".md"):
            yield entry.name
        elif entry.is_dir():
            yield from _names_below(Path(entry.path))


def _names_below(folder: Path) -> Iterator[str]:
    try:
        inside = _visible(folder)
    except OSError:
        # Skip folders that the person may not read.
        return
    for entry in inside:
        if entry.name.endswith(".md"):
            yield f"{folder.name}/{entry.name}"


def _visible(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [entry for entry in entries if not entry.name.startswith(".")]


def _read(directory: Directory, name: str) -> Found:
    source = str(directory.root / name)
    try:
        if not owned_by_us((directory.root / name).stat()):
            raise StorageError("it belongs to another user of this machine")
        data = directory.read(name, LARGEST_FILE + 1)
    except (ReverieError, OSError) as error:
        return UnreadFile(source, str(error))
    if data is None:
        return UnreadFile(source, "it is no longer there")
    if len(data) > LARGEST_FILE:
        return UnreadFile(source, f"it is larger than {LARGEST_FILE:,} bytes")
    try:
        return AgentFile(source, data.decode("utf-8"))
    except UnicodeDecodeError:
        return UnreadFile(source, "it is not UTF-8 text")


def own_folders(app: Workspace) -> tuple[Path, ...]:
    """The folders of the person's own types; later ones win."""
    return (app.settings.home / "agents", claude_config() / "agents")


def brought_folders(app: Workspace) -> tuple[Path, ...]:
    """The folders of the project's types; later ones win."""
    root = app.project.root
    own = {folder.resolve() for folder in own_folders(app)}
    folders = (root / ".claude" / "agents", root / ".reverie" / "agents")
    # When the project is the person's home folder, these are the person's own.
    return tuple(folder for folder in folders if folder.resolve() not in own)


def agent_types(app: Workspace) -> Catalogue:
    """All agent types; read once a session, as the list is part of the frozen head."""
    own = (_type_of(found) for found in read_agent_files(own_folders(app)))
    brought = (_type_of(found) for found in read_agent_files(brought_folders(app)))
    return catalogue(own, (_limited(kind) for kind in brought))


def _type_of(found: Found) -> AgentType | Unusable:
    if not isinstance(found, AgentFile):
        return Unusable(found.source, found.reason)
    return parse(found.text, found.source)


def _limited(kind: AgentType | Unusable) -> AgentType | Unusable:
    """A type from a repository may not write memory for other projects, nor choose the model."""
    if isinstance(kind, AgentType) and kind.memory == "user":
        note = "memory 'user' is kept for this project: the file belongs to the repository"
        kind = replace(kind, memory="local", notes=(*kind.notes, note))
    if isinstance(kind, AgentType) and kind.model is not None:
        note = f"model {kind.model!r} is not used: the file belongs to the repository"
        kind = replace(kind, model=None, notes=(*kind.notes, note))
    return kind


LONGEST_AGENT = 64

_FOLDERS: dict[AgentScope, str] = {
    "user": "agent-memory",
    "project": ".reverie/agent-memory",
    "local": ".reverie/agent-memory-local",
}
_IGNORE_ALL = b"# Kept on this machine only (made by Reverie).\n*\n"


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """One agent's memory in one scope, ready to be used."""

    agent: str
    scope: AgentScope
    store: FileStore

    @property
    def directory(self) -> Path:
        return self.store.root

    def prompt(self, guidelines: str = "") -> str:
        """The section for the agent's system prompt; its index is always part of it."""
        memory = PromptMemory(str(self.directory), self.store.index())
        return agent_memory_prompt(memory, self.scope, guidelines=guidelines)

    def record(self, scrubber: Scrubber) -> None:
        """Remove secrets from what the agent wrote with its tools, and commit it to the history."""
        directory = Directory(self.directory)
        for name in (*self.store.listing(), INDEX_FILE):
            data = self.store.current(name)
            if data is None or data == self.store.history.read(name):
                continue
            clean = scrubber.scrub(data.decode("utf-8", "surrogateescape")).text.encode(
                "utf-8", "surrogateescape"
            )
            if clean != data:
                directory.replace(name, clean)
        self.store.notice_hand_edits()


@dataclass(frozen=True, slots=True)
class _Place:
    """A memory directory, the folder it must really be inside, and its history."""

    directory: Path
    within: Path
    history: Path


def open_agent_memory(
    agent: str, scope: AgentScope, start: Path, home: Path, clock: Clock
) -> AgentMemory:
    """Open the memory of an agent that works in `start`; its directory is created if needed."""
    place = _place(folder_name(agent), scope, start, home)
    _require_unlinked(place)
    try:
        make_private(place.directory)
        if scope == "local":
            _ignore(place.directory.parent)
    except OSError as error:
        raise StorageError(f"cannot make {place.directory}: {error.strerror}") from error
    return AgentMemory(agent, scope, FileStore(place.directory, GitHistory(place.history, clock)))


def folder_name(agent: str) -> str:
    """The folder of an agent: its name with `-` for `:`; InputError for names that are not safe."""
    name = agent.replace(":", "-")
    if "/" in name or len(name) > LONGEST_AGENT:
        raise InputError(
            f"agent name {agent[:80]!r} is refused: a name has at most {LONGEST_AGENT} characters "
            "and no '/'"
        )
    # The rules for a memory's path cover dots, devices, look-alikes and control characters.
    verdict = check_name(f"{name}/a.md")
    if isinstance(verdict, Refused):
        reason = verdict.reason.partition(": ")[2]
        raise InputError(f"agent name {agent!r} is refused ({verdict.rule}): {reason}")
    return name


def _place(folder: str, scope: AgentScope, start: Path, home: Path) -> _Place:
    if scope == "user":
        directory = home / _FOLDERS[scope] / folder
        return _Place(directory, home, home / "agent-history" / f"{folder}.git")
    root = _work_tree(start)
    state = find_project(start, home).folder
    history = state / "agent-history" / f"{scope}-{folder}.git"
    return _Place(root / _FOLDERS[scope] / folder, root, history)


def _work_tree(start: Path) -> Path:
    """The canonical root; for a bare repository, the work tree around `start`."""
    root = canonical_root(start)
    git_dir = (root / "HEAD").is_file() and (root / "objects").is_dir()
    if not git_dir or (root / ".git").exists():
        return root
    real = start.resolve()
    here = next((f for f in (real, *real.parents) if (f / ".git").exists()), None)
    if here is None:
        raise InputError(
            f"{root} is a bare repository: it has no files to keep an agent's memory with; "
            "use the scope 'user', or work in a checkout"
        )
    return here


def _require_unlinked(place: _Place) -> None:
    """Refuse a directory that symbolic links of a repository lead out of it."""
    inside = place.directory.relative_to(place.within)
    if Path(os.path.realpath(place.directory)) != Path(os.path.realpath(place.within)) / inside:
        raise InputError(
            f"{place.directory} is refused (symlink): a folder on the way to it is a link; "
            "replace the link with a folder"
        )


def _ignore(folder: Path) -> None:
    """Write a .gitignore that ignores the folder; an existing one is the person's and stays."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileExistsError):
        file = os.open(folder / ".gitignore", flags, 0o644)
        with os.fdopen(file, "wb") as opened:
            opened.write(_IGNORE_ALL)
