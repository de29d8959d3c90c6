"""Files that hold a memory's text but are not Reverie's to clean: transcripts, exports, other memories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.conversation.journal import read_lines
from reverie.errors import TranscriptError
from reverie.files.atomic import read_json, write_json
from reverie.memory.cleaning import SHADOWS, holds, plain_files
from reverie.memory.format.traces import Traces
from reverie.memory.locations import USERS, person_location, read_identity
from reverie.recall.past_sessions import below, conversations
from reverie.settings.projects import Project, codex_home

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

# The paths of past exports, to be named when something in them is forgotten.
EXPORTS = "exports.json"
MOST_EXPORTS = 200

# Files in the home that the person writes by hand.
BY_HAND = (
    "settings.toml",
    "settings.local.toml",
    "REVERIE.md",
    "rules",
    "agents",
    "session-notes",
)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A file that holds the memory's text but does not belong to Reverie, and whose it is."""

    path: Path
    whose: str
    redacted: int = 0


def note_export(memories: Iterable[OpenMemory], path: Path) -> None:
    """Record the path of an export of these memories."""
    for memory in memories:
        kept = [one for one in _exports(memory) if one != path.absolute()]
        paths = [*map(str, kept), str(path.absolute())][-MOST_EXPORTS:]
        write_json(memory.beside / EXPORTS, paths)


def _exports(memory: OpenMemory) -> list[Path]:
    known = read_json(memory.beside / EXPORTS)
    return [Path(one) for one in known if isinstance(one, str)] if isinstance(known, list) else []


@dataclass(frozen=True, slots=True)
class OtherFiles:
    """Finds files of other software, of other memories and of the person that may hold a memory."""

    app: Workspace
    memory: OpenMemory
    # The folders and projects that are cleaned.
    folders: tuple[Path, ...]
    projects: tuple[Project, ...]

    def holding(self, traces: Traces) -> list[Elsewhere]:
        """Files of other software, of other memories and of the person that hold the memory."""
        found: dict[Path, str] = {}
        for path, whose in self._foreign():
            if path not in found and holds(path, traces):
                found[path] = whose
        return [Elsewhere(path, whose) for path, whose in found.items()]

    def conversations_of(self, project: Project) -> dict[str, Path]:
        return conversations(project, {}, user=self.app.user)

    def conversations_by_id(self) -> dict[str, Path]:
        return {
            session: path
            for project in self.projects
            for session, path in self.conversations_of(project).items()
        }

    def _foreign(self) -> Iterator[tuple[Path, str]]:
        if self.app.user is not None:
            # A service's user must see only files in their own folder.
            return
        home = self.app.settings.home
        for path in self.conversations_by_id().values():
            if not path.is_relative_to(home):
                yield path, "Claude Code's transcript"
        for path in _codex([project.root for project in self.projects]):
            yield path, "Codex's transcript"
        for path in (one for one in _exports(self.memory) if not one.is_relative_to(home)):
            for one in plain_files(path) if path.is_dir() else [path]:
                yield one, "an export"
        yield from self._written_by_hand(home)
        yield from self._other_memories(home)

    def _other_memories(self, home: Path) -> Iterator[tuple[Path, str]]:
        for directory, whose in self._other_directories(home):
            for path in _texts(directory):
                if not self._is_own(path):
                    yield path, whose
        for folder in (*stores_in(home), self.app.project.root / ".reverie"):
            if not any(folder in (own, *own.parents) for own in self.folders):
                yield from ((path, "another memory or project") for path in _texts(folder))
        for folder in below(home / "projects", "*"):
            if folder not in self.folders:
                yield from ((path, "another project") for path in _texts(folder))

    def _other_directories(self, home: Path) -> Iterator[tuple[Path, str]]:
        """The directories of other memories, in the folders that are cleaned as well."""
        project = self.app.memory_location
        yield project.team.directory, "the team's memory, and its remote"
        yield person_location(home).directory, "the memory about you"
        yield project.directory, "this project's memory"
        for folder in self.folders:
            for name in ("memory", "team", USERS):
                if folder / name != self.memory.place.state:
                    yield folder / name, "another memory"

    def _is_own(self, path: Path) -> bool:
        """Does a file belong to this memory? The team's directory may be inside the project's."""
        place = self.memory.place
        shared = self.app.memory_location.team.directory
        apart = not self.memory.team and path.is_relative_to(shared)
        return path.is_relative_to(place.directory) and not apart

    def _written_by_hand(self, home: Path) -> Iterator[tuple[Path, str]]:
        for name in BY_HAND:
            place = home / name
            for path in plain_files(place) if place.is_dir() else [place]:
                yield path, "a file you wrote"


def stores_in(home: Path) -> list[Path]:
    """Folders in the home that are memories or contain memories."""
    known = [home / "projects", home / "directories", home / "agent-memory"]
    return known + [path.parent for path in below(home, "*/history.git")]


def _texts(folder: Path) -> Iterator[Path]:
    """Readable files below a folder: neither git objects nor search indexes."""
    for path in plain_files(folder, below(folder, "**/history.git")):
        if not path.name.startswith(SHADOWS):
            yield path


def known_projects(home: Path) -> Iterator[Project]:
    """Every project of this home whose root is known."""
    for folder in below(home / "projects", "*"):
        identity = read_identity(folder)
        if identity is not None and identity.root:
            yield Project(Path(identity.root), folder)


def _codex(roots: Sequence[Path]) -> Iterator[Path]:
    """Codex's sessions in these projects: their first line says where they ran."""
    for path in below(codex_home() / "sessions", "**/*.jsonl"):
        with suppress(TranscriptError, OSError, ValueError, StopIteration):
            _, first = next(islice(read_lines(path, []), 1))
            place = json.dumps(first)
            if any(json.dumps(str(root))[1:-1] in place for root in roots):
                yield path
