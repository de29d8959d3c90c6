"""A copy of the memory directory for a dream to work in; its files are checked when read back."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from reverie.errors import InputError, StorageError
from reverie.files.atomic import make_private
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.paths import Refused, check_name
from reverie.memory.format.topic import LARGEST_FILE

MEMORY = "memory"
_LARGEST_INDEX = 1024 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class ReadBack:
    """A dream's result: the files that can be memories, and refused files with reasons."""

    files: Mapping[str, bytes]
    refused: tuple[tuple[str, str], ...] = ()


class Unread(Protocol):
    """A file that is no memory, or cannot be read."""

    @property
    def file(self) -> str: ...

    @property
    def reason(self) -> str: ...


class Readable(Protocol):
    """The store that is copied."""

    def listing(self) -> Mapping[str, tuple[int, int, int]]: ...

    def current(self, file: str) -> bytes | None: ...

    @property
    def skipped(self) -> Sequence[Unread]: ...


class Scratch:
    """The scratch folder of one dream. Files written outside its memory are reported and ignored."""

    def __init__(self, folder: Path, store: Readable) -> None:
        self._folder = folder
        self._store = store
        self.memory = folder / MEMORY
        # The files when the dream began.
        self.opened: Mapping[str, bytes] = {}

    def snapshot(self) -> dict[str, bytes]:
        """Every memory of the store and its index; StorageError if one is unreadable.

        An unreadable memory is not a deleted one: a dream that does not see it would remove it from
        the index.
        """
        found = {}
        names = (*self._store.listing(), INDEX_FILE)
        self._require_all_read()
        for name in names:
            # A file that was removed, or replaced by a link that leads out, is no longer a memory.
            with suppress(InputError):
                data = self._store.current(name)
                if data is not None:
                    found[name] = data
        return found

    def _require_all_read(self) -> None:
        index = (self._store.current(INDEX_FILE) or b"").decode("utf-8", "replace")
        for skipped in self._store.skipped:
            # The index has no pointer to files that were never memories (odd names, links).
            if not skipped.file.endswith(".md") or f"({skipped.file})" in index:
                raise StorageError(f"cannot read {skipped.file}: {skipped.reason}; try again later")

    def open(self, files: Mapping[str, bytes]) -> Path:
        """Write the copy, after removing those of dead dreams. Only under the dream's lock."""
        self.opened = dict(files)
        try:
            shutil.rmtree(self._folder.parent, ignore_errors=True)
            self.memory.mkdir(parents=True, mode=0o700)
            for name, data in files.items():
                self.write(name, data)
        except OSError as error:
            raise StorageError(f"cannot prepare {self.memory}: {error.strerror}") from error
        return self.memory

    def write(self, name: str, data: bytes | None) -> None:
        path = self.memory / name
        if data is None:
            path.unlink(missing_ok=True)
            return
        if "/" in name:
            make_private(path.parent)
        path.write_bytes(data)

    def read(self) -> ReadBack:
        files: dict[str, bytes] = {}
        refused: list[tuple[str, str]] = [*self._outside()]
        for path in _walk(self.memory):
            name = path.relative_to(self.memory).as_posix()
            found = _content(path, name)
            if isinstance(found, str):
                refused.append((name, found))
            else:
                files[name] = found
        return ReadBack(files, tuple(sorted(refused)))

    def _outside(self) -> Iterator[tuple[str, str]]:
        with suppress(OSError):
            for item in sorted(self._folder.iterdir()):
                if item != self.memory:
                    yield f"../{item.name}", "it was written outside the memory directory"

    def clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _walk(folder: Path) -> Iterator[Path]:
    """Files and links below a folder, in order; links are never followed."""
    try:
        items = sorted(os.scandir(folder), key=lambda item: item.name)
    except OSError:
        return
    for item in items:
        if item.is_dir(follow_symlinks=False):
            yield from _walk(Path(item.path))
        else:
            yield Path(item.path)


def _content(path: Path, name: str) -> bytes | str:
    """A file's bytes, or the reason why it cannot be a memory."""
    verdict = check_name(name)
    if isinstance(verdict, Refused):
        return verdict.reason
    if not name.endswith(".md") or path.name.startswith("."):
        return "it is not a memory: names of memories end with .md"
    try:
        file = os.open(path, _READ)
    except OSError:
        return "it is a link, or cannot be opened"
    with os.fdopen(file, "rb") as opened:
        return _problem(os.fstat(file), name) or opened.read()


def _problem(seen: os.stat_result, name: str) -> str:
    if not stat.S_ISREG(seen.st_mode):
        return "it is not a plain file"
    if seen.st_nlink > 1:
        return "it is a link to another file"
    largest = _LARGEST_INDEX if name == INDEX_FILE else LARGEST_FILE
    if seen.st_size > largest:
        return f"it has {seen.st_size:,} bytes; at most {largest:,} are kept"
    return ""
