"""Finding and reading instruction files, from the machine's down to the working directory's.

Nothing a repository holds can pull in a file from outside of it, by `@path` or by link, unless the
person approved it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from reverie.memory.instructions import (
    DEEPEST_INCLUDE,
    LOCAL_FILES,
    LONGEST,
    OWN_PROJECT_FILES,
    PROJECT_FILES,
    InstructionFile,
    Kind,
    includes,
    is_text_name,
    looks_like_path,
    read_text,
    rule,
)

MOST_INCLUDED = 50
MOST_RULES = 100

# A character takes at most four bytes; one more tells that there is more.
_MOST_BYTES = 4 * LONGEST + 4

# A pipe must not make us wait for somebody to write into it.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC

# Asked with the real path of a file outside the project.
Approve: TypeAlias = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look: `managed`, `claude` (~/.claude) and `home` are folders, `person` is `~`."""

    working: Path
    project: Path
    managed: Path
    claude: Path
    home: Path
    person: Path


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to read, and the folders it may come from and include from."""

    path: Path
    kind: Kind
    inside: tuple[Path, ...]
    is_rule: bool = False
    depth: int = 0
    included_by: str | None = None


def nothing_approved(path: Path) -> bool:
    return False


def read_instruction_files(
    places: Places, approve: Approve = nothing_approved
) -> tuple[InstructionFile, ...]:
    """Every instruction file, once, in the order in which they are to be read: later ones win.

    What a file includes comes before it.
    """
    reader = _Reader(places.person, approve)
    for source in _sources(places):
        reader.read(source)
    return tuple(reader.found)


def _sources(places: Places) -> Iterator[_Source]:
    config = (places.managed, places.claude, places.home, places.project)
    for name in (*PROJECT_FILES[:2], OWN_PROJECT_FILES[0]):
        yield _Source(places.managed / name, "managed", config)
    yield from _rules(places.managed / "rules", "managed", config)
    yield _Source(places.claude / "CLAUDE.md", "user", config)
    yield from _rules(places.claude / "rules", "user", config)
    yield _Source(places.home / "REVERIE.md", "user", config)
    yield from _rules(places.home / "rules", "user", config)
    working = places.working.resolve()
    folders = (*reversed(working.parents), working)
    for folder in folders:
        yield from _project_sources(folder, (folder, places.project))
    for folder in folders:
        for name in LOCAL_FILES:
            yield _Source(folder / name, "local", (folder, places.project))


def _project_sources(folder: Path, inside: tuple[Path, ...]) -> Iterator[_Source]:
    for name in PROJECT_FILES:
        yield _Source(folder / name, "project", inside)
    yield from _rules(folder / ".claude/rules", "project", inside)
    for name in OWN_PROJECT_FILES:
        yield _Source(folder / name, "project", inside)
    yield from _rules(folder / ".reverie/rules", "project", inside)


def _rules(folder: Path, kind: Kind, inside: tuple[Path, ...]) -> Iterator[_Source]:
    names: list[Path] = []
    for root, folders, files in os.walk(folder):
        folders.sort()
        names += [Path(root, name) for name in files if name.endswith(".md")]
        if len(names) > MOST_RULES:
            break
    for path in sorted(names)[:MOST_RULES]:
        yield _Source(path, kind, inside, is_rule=True)


class _Reader:
    """One reading of all files: each once, however it is reached."""

    def __init__(self, person: Path, approve: Approve) -> None:
        self.found: list[InstructionFile] = []
        self._person = person
        self._approve = approve
        self._seen: set[tuple[int, int]] = set()
        self._included = 0

    def read(self, source: _Source) -> str | None:
        """Read a file and what it includes; a reason when it was left out."""
        real = Path(os.path.realpath(source.path))
        if not self._may_read(real, source.inside):
            return self._left_out(source, f"{real} is outside the project and was not approved")
        try:
            data = self._bytes(real)
        except FileNotFoundError:
            return "there is no such file"
        except OSError as error:
            return self._left_out(source, f"it cannot be read: {error.strerror}")
        if data is None:
            return None
        read = read_text(data, str(source.path))
        if read is None:
            return self._left_out(source, "it is not a text file")
        self._keep(source, *read)
        return None

    def _keep(self, source: _Source, text: str, notes: tuple[str, ...]) -> None:
        if source.is_rule:
            text, paths = rule(text)
            if paths:
                self._left_out(source, f"it holds only for {', '.join(paths)}")
                return
        self._included += source.included_by is not None
        notes += tuple(self._include(text, source))
        file = InstructionFile(str(source.path), source.kind, text, notes, source.included_by)
        self.found.append(file)

    def _include(self, text: str, source: _Source) -> Iterator[str]:
        """Read what a text includes, and say what was left out of it."""
        wanted = includes(text)
        for path in wanted[:MOST_INCLUDED]:
            reason = self._include_one(path, source)
            if reason is not None:
                yield f"@{path} is left out: {reason}"
        if len(wanted) > MOST_INCLUDED:
            yield f"only the first {MOST_INCLUDED} of its {len(wanted):,} includes are looked at"

    def _include_one(self, path: str, source: _Source) -> str | None:
        target = self._target(path, source.path.parent)
        if not os.path.lexists(target):
            return "there is no such file" if looks_like_path(path) else None
        if not is_text_name(target.name):
            return "only text files can be included"
        if source.depth >= DEEPEST_INCLUDE:
            return f"files include each other more than {DEEPEST_INCLUDE} deep"
        if self._included >= MOST_INCLUDED:
            return f"{MOST_INCLUDED} files are included already"
        inner = replace(
            source,
            path=target,
            is_rule=False,
            depth=source.depth + 1,
            included_by=str(source.path),
        )
        return self.read(inner)

    def _target(self, path: str, folder: Path) -> Path:
        if path == "~" or path.startswith("~/"):
            return self._person / path[2:]
        return Path(os.path.normpath(folder / path))

    def _may_read(self, real: Path, inside: tuple[Path, ...]) -> bool:
        roots = (Path(os.path.realpath(folder)) for folder in inside)
        return any(real.is_relative_to(root) for root in roots) or self._approve(real)

    def _bytes(self, real: Path) -> bytes | None:
        """The beginning of a file; None when it was read before, under whatever name."""
        opened = os.open(real, _READ)
        try:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "it is not a plain file")
            if (status.st_dev, status.st_ino) in self._seen:
                return None
            self._seen.add((status.st_dev, status.st_ino))
            with os.fdopen(opened, "rb", closefd=False) as file:
                return file.read(_MOST_BYTES)
        finally:
            os.close(opened)

    def _left_out(self, source: _Source, reason: str) -> str:
        """Included files are reported by who includes them; others by themselves."""
        if source.included_by is None and os.path.lexists(source.path):
            self.found.append(InstructionFile(str(source.path), source.kind, "", (reason,)))
        return reason
