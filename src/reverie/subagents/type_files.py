"""Reads the files that define agent types, from the person's folders and the project's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from reverie.errors import ReverieError, StorageError
from reverie.files.folders import owned_by_us
from reverie.memory.directory import Directory
from reverie.settings.neighbours import claude_config
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
