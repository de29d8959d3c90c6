"""Find and read instruction files, from the machine's down to the working directory's.

A repository cannot include a file from outside it, by `@path` or by link, unless the user approves
it. Files of other users of the machine are always left out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from reverie.files.atomic import owned_by_us
from reverie.memory.format.instructions import (
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

# A character takes at most four bytes; one more character shows that the file is longer.
_MOST_BYTES = 4 * LONGEST + 4

# Without O_NONBLOCK, opening a pipe would wait for a writer.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC

# Called with the real path of a file outside the project.
Approve: TypeAlias = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class Places:
    """Folders to search; `claude` is ~/.claude, `home` Reverie's home, `person` is `~`."""

    working: Path
    project: Path
    managed: Path
    claude: Path
    home: Path
    person: Path


@dataclass(frozen=True, slots=True)
class _Source:
    """A file to read, the folders it may come from, and those it may include from."""

    path: Path
    kind: Kind
    inside: tuple[Path, ...]
    including: tuple[Path, ...]
    is_rule: bool = False
    depth: int = 0
    included_by: str | None = None


def nothing_approved(path: Path) -> bool:
    return False


def ignored(refusal: str) -> None:
    return None


def read_instruction_files(
    places: Places, approve: Approve = nothing_approved, refused: Callable[[str], None] = ignored
) -> tuple[InstructionFile, ...]:
    """Every instruction file once, in reading order: later ones win.

    Included files come before the file that includes them. `refused` is called for every file that
    may not be read.
    """
    reader = _Reader(places.person, project_bounds(places), approve, refused)
    for source in _sources(places):
        reader.read(source)
    return tuple(reader.found)


def project_bounds(places: Places) -> tuple[Path, ...]:
    """The folders a project's files may include from: its root and the current worktree.

    A project that contains the user's home folder is left out: it contains their keys as well.
    """
    working = places.working.resolve()
    top = next((top for top in (working, *working.parents) if (top / ".git").exists()), None)
    roots = [Path(os.path.realpath(places.project))]
    if top is not None and (top / ".git").is_file() and top not in roots:
        roots.append(top)
    return tuple(root for root in roots if not _holds_home(root, places))


def _holds_home(folder: Path, places: Places) -> bool:
    return Path(os.path.realpath(places.person)).is_relative_to(folder)


def _sources(places: Places) -> Iterator[_Source]:
    folders = (places.managed, places.claude, places.home, places.project)
    yield from _own_sources(places, folders)
    working = places.working.resolve()
    around = (*reversed(working.parents), working)
    bounds = project_bounds(places)
    for folder in around:
        # Without a root, a file may include only from its own folder.
        beside = () if bounds or _holds_home(folder, places) else (folder,)
        yield from _project_sources(folder, (folder, *bounds), (*bounds, *beside))
    for folder in around:
        for name in LOCAL_FILES:
            yield _Source(folder / name, "local", (folder, *bounds), bounds)


def _own_sources(places: Places, config: tuple[Path, ...]) -> Iterator[_Source]:
    """Files of the machine and of the user."""
    for name in (*PROJECT_FILES[:2], OWN_PROJECT_FILES[0]):
        yield _Source(places.managed / name, "managed", config, config)
    yield from _rules(places.managed / "rules", "managed", config, config)
    yield _Source(places.claude / "CLAUDE.md", "user", config, config)
    yield from _rules(places.claude / "rules", "user", config, config)
    yield _Source(places.home / "REVERIE.md", "user", config, config)
    yield from _rules(places.home / "rules", "user", config, config)


def _project_sources(
    folder: Path, inside: tuple[Path, ...], including: tuple[Path, ...]
) -> Iterator[_Source]:
    for name in PROJECT_FILES:
        yield _Source(folder / name, "project", inside, including)
    yield from _rules(folder / ".claude/rules", "project", inside, including)
    for name in OWN_PROJECT_FILES:
        yield _Source(folder / name, "project", inside, including)
    yield from _rules(folder / ".reverie/rules", "project", inside, including)


def _rules(
    folder: Path, kind: Kind, inside: tuple[Path, ...], including: tuple[Path, ...]
) -> Iterator[_Source]:
    names: list[Path] = []
    for root, folders, files in os.walk(folder):
        folders.sort()
        names += [Path(root, name) for name in files if name.endswith(".md")]
        if len(names) > MOST_RULES:
            break
    for path in sorted(names)[:MOST_RULES]:
        yield _Source(path, kind, inside, including, is_rule=True)


class _Refused(Exception):
    """A file is outside the allowed folders, or another user owns it or its folder."""


def _require_ours(path: Path, status: os.stat_result) -> None:
    if not owned_by_us(status):
        raise _Refused(f"{path} belongs to another user (uid {status.st_uid})")


class _Reader:
    """Reads all files, each once, even if several paths lead to it."""

    def __init__(
        self,
        person: Path,
        bounds: tuple[Path, ...],
        approve: Approve,
        refused: Callable[[str], None],
    ) -> None:
        self.found: list[InstructionFile] = []
        self._person = person
        self._bounds = bounds
        self._approve = approve
        self._refused = refused
        self._seen: set[tuple[int, int]] = set()
        self._included = 0

    def read(self, source: _Source) -> str | None:
        """Read a file and its includes; return the reason if it is left out."""
        real = Path(os.path.realpath(source.path))
        try:
            if not self._may_read(real, source.inside):
                raise _Refused(f"{real} is outside the project and was not approved")
            data = self._bytes(real)
        except _Refused as refused:
            return self._refuse(source, str(refused))
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
                self._left_out(source, f"it applies only to {', '.join(paths)}")
                return
        self._included += source.included_by is not None
        notes += tuple(self._include(text, source))
        file = InstructionFile(str(source.path), source.kind, text, notes, source.included_by)
        self.found.append(file)

    def _include(self, text: str, source: _Source) -> Iterator[str]:
        """Read the files a text includes; yield a note for each one left out."""
        wanted = includes(text)
        for path in wanted[:MOST_INCLUDED]:
            reason = self._include_one(path, source)
            if reason is not None:
                yield f"@{path} is left out: {reason}"
        if len(wanted) > MOST_INCLUDED:
            yield f"only the first {MOST_INCLUDED} of its {len(wanted):,} includes are read"

    def _include_one(self, path: str, source: _Source) -> str | None:
        target = self._target(path, source.path.parent)
        if not os.path.lexists(target):
            return "there is no such file" if looks_like_path(path) else None
        if not is_text_name(target.name):
            return "only text files can be included"
        if source.depth >= DEEPEST_INCLUDE:
            return f"includes are nested more than {DEEPEST_INCLUDE} deep"
        if self._included >= MOST_INCLUDED:
            return f"{MOST_INCLUDED} files are included already"
        # A project's file that a user's file includes gets only the project's rights.
        real = Path(os.path.realpath(target))
        within = any(real.is_relative_to(root) for root in self._bounds)
        inner = replace(
            source,
            path=target,
            inside=source.including,
            including=self._bounds if within else source.including,
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
        """The beginning of a file; None if it was read before, under any name."""
        opened = os.open(real, _READ)
        try:
            status = os.fstat(opened)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "it is not a plain file")
            _require_ours(real, status)
            # The owner of a folder can replace the files in it.
            _require_ours(real.parent, real.parent.stat())
            if (status.st_dev, status.st_ino) in self._seen:
                return None
            self._seen.add((status.st_dev, status.st_ino))
            with os.fdopen(opened, "rb", closefd=False) as file:
                return file.read(_MOST_BYTES)
        finally:
            os.close(opened)

    def _refuse(self, source: _Source, reason: str) -> str:
        if os.path.lexists(source.path):
            by = f" (included by {source.included_by})" if source.included_by else ""
            self._refused(f"{source.path}{by} is left out: {reason}")
        return self._left_out(source, reason)

    def _left_out(self, source: _Source, reason: str) -> str:
        """Record the reason; for an included file, the including file reports it."""
        if source.included_by is None and os.path.lexists(source.path):
            self.found.append(InstructionFile(str(source.path), source.kind, "", (reason,)))
        return reason


NAMES = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", "GEMINI.md")

_LARGEST = 200_000


def read_instructions(root: Path) -> dict[str, str]:
    """The instruction files at a project's root, by name, without links out of it and others' files."""
    found = {}
    top = root.resolve()
    for name in NAMES:
        path = root / name
        try:
            real, status = path.resolve(strict=True), path.stat()
            ours = real.is_relative_to(top) and owned_by_us(status)
            if ours and path.is_file() and status.st_size <= _LARGEST:
                found[name] = path.read_text("utf-8", "replace")
        # A cycle of links is a RuntimeError before Python 3.13.
        except (OSError, RuntimeError):
            continue
    return found
