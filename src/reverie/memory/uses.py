"""Count how often each memory was recalled and used, in a file of its own."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from reverie.core.messages import dump, iso_time
from reverie.errors import StorageError
from reverie.files import atomic
from reverie.files.atomic import make_private
from reverie.files.locks import ThreadLock
from reverie.ports import Clock

FILE = "uses.jsonl"

Kind = Literal["recalled", "used"]


class UseCounts:
    """An append-only log of uses, with counts on demand."""

    def __init__(self, state: Path, clock: Clock) -> None:
        self._path = state / FILE
        self._clock = clock
        self._counts: dict[str, Counter[str]] = {"recalled": Counter(), "used": Counter()}
        self._offset = 0
        self._inode = 0
        self._lock = ThreadLock()

    def record(self, files: Iterable[str], kind: Kind, session: str = "") -> None:
        at = iso_time(self._clock.now())
        lines = [
            dump({"at": at, "kind": kind, "file": file, "session": session}) + b"\n"
            for file in files
        ]
        try:
            make_private(self._path.parent)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            file = os.open(self._path, flags, 0o600)
            try:
                os.write(file, _line_break(file) + b"".join(lines))
            finally:
                os.close(file)
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error.strerror}") from error

    def forget(self, file: str) -> int:
        """Remove all records of a memory and return how many there were."""
        try:
            lines = self._path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return 0
        kept = [line for line in lines if _file_of(line) != file]
        try:
            atomic.replace(self._path, b"".join(kept))
        except OSError as error:
            raise StorageError(f"cannot write {self._path}: {error.strerror}") from error
        return len(lines) - len(kept)

    def counts(self, kind: Kind = "recalled") -> Counter[str]:
        """Uses by file; reads only new lines and skips invalid ones."""
        with self._lock:
            return self._read_on(kind)

    def _read_on(self, kind: Kind) -> Counter[str]:
        try:
            with self._path.open("rb") as file:
                self._reset_if_replaced(os.fstat(file.fileno()))
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return self._counts[kind]
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._count(line)
        return self._counts[kind]

    def _reset_if_replaced(self, seen: os.stat_result) -> None:
        """Count from the start if the file was replaced by another one."""
        if seen.st_ino != self._inode:
            self._inode, self._offset = seen.st_ino, 0
            for counter in self._counts.values():
                counter.clear()

    def _count(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            self._counts[record["kind"]][str(record["file"])] += 1
        except (ValueError, KeyError, TypeError, RecursionError):
            return


def _line_break(file: int) -> bytes:
    """A newline if a writer died in the middle of the last line."""
    size = os.fstat(file).st_size
    torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
    return b"\n" if torn else b""


def _file_of(line: bytes) -> str | None:
    try:
        return str(json.loads(line)["file"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
