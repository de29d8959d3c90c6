"""A sub-agent's own memory: for every project, for this project, or for this project on this machine.

Only the folder differs. Each scope is an ordinary store with the same writer and the same checks, and
with a write-ahead history outside the directory. For `project` that history only protects writes from
crashes: the files belong to the repository, and its people commit them when they choose. Reverie never
commits there and never changes their `.gitignore`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reverie.errors import InputError, StorageError
from reverie.files.folders import make_private
from reverie.memory.directory import Directory
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.prompt import AgentScope, PromptMemory, agent_memory_prompt
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore
from reverie.ports import Clock, Scrubber
from reverie.settings.projects import canonical_root, find_project

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
