"""Which files an agent has seen, and as what: an edit is only made to what was read."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MOST_FILES = 1_000


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file as it was when it was read or written."""

    digest: str
    mtime_ns: int
    size: int

    @classmethod
    def of(cls, data: bytes, mtime_ns: int) -> FileRead:
        return cls(hashlib.blake2b(data, digest_size=16).hexdigest(), mtime_ns, len(data))

    def same_content(self, other: FileRead) -> bool:
        """A file that was only touched has not changed."""
        return (self.digest, self.size) == (other.digest, other.size)


class FileReads:
    """The files read last, oldest forgotten first. Paths are real paths, without links."""

    def __init__(self, reads: Iterable[tuple[Path, FileRead]] = (), most: int = MOST_FILES) -> None:
        self._most = most
        self._reads: OrderedDict[Path, FileRead] = OrderedDict()
        for path, read in reads:
            self.remember(path, read)

    def remember(self, path: Path, read: FileRead) -> None:
        self._reads[path] = read
        self._reads.move_to_end(path)
        while len(self._reads) > self._most:
            self._reads.popitem(last=False)

    def last(self, path: Path) -> FileRead | None:
        """What the file was when it was last seen; None when it was not."""
        return self._reads.get(path)

    def recent(self) -> tuple[Path, ...]:
        """The newest first."""
        return tuple(reversed(self._reads))

    def clone(self) -> FileReads:
        return FileReads(self._reads.items(), self._most)
