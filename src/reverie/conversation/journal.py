"""The files of a session: its transcript as append-only JSONL, and private texts beside it.

Appending is a single write of whole lines, so that a reader never sees half a record of a live
process. After a crash the last line may be incomplete: it is dropped on load, with a note, and the
next append starts a new line. The file is never rewritten, with one exception: forgetting a memory
everywhere also removes its words from closed transcripts (`redaction`), with a record that says so.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.conversation.record_json import parse
from reverie.conversation.records import Record
from reverie.conversation.redaction import lines
from reverie.core.messages import dump, parse_time
from reverie.core.request import wire_text
from reverie.errors import StorageError, TranscriptError
from reverie.events import Announce, TroubleNoted, no_listener
from reverie.files import atomic
from reverie.files.atomic import make_private
from reverie.memory.directory import Directory
from reverie.ports import Scrubber

# Later times do not fit a datetime in every time zone.
_LAST_TIME = 253_370_764_800.0
# Enough for an image in a message.
LONGEST_LINE = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Loaded:
    """Every record that could be read, and a note for every line that could not."""

    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()
    # A sub-agent's conversation: another agent wrote its user messages.
    of_agent: bool = False


class Journal:
    """A session's transcript, open for appending."""

    def __init__(self, path: Path, scrubber: Scrubber | None = None) -> None:
        self.path = path
        self._scrubber = scrubber
        try:
            make_private(path.parent)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._torn = _ends_torn(self._file)
        except OSError as error:
            raise StorageError(
                f"cannot open the transcript {path}: {error.strerror or error}"
            ) from error

    def append(self, *records: Record) -> None:
        """Add records, all or none of them."""
        rows = (row for record in records for row in lines(record, self._scrubber))
        fresh = b"".join(dump(row) + b"\n" for row in rows)
        data = b"\n" + fresh if self._torn else fresh
        size = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, data)
            if written < len(data):
                raise OSError(0, f"only {written} of {len(data)} bytes fit")
        except OSError as error:
            self._torn = not self._cut_back(size)
            raise StorageError(
                f"cannot write to the transcript {self.path}: {error.strerror or error}; "
                "free some space and try again, nothing was lost"
            ) from error
        self._torn = False

    def _cut_back(self, size: int) -> bool:
        """Remove what a failed write left; False when an incomplete line remains."""
        try:
            os.ftruncate(self._file, size)
        except OSError:
            return False
        return not _ends_torn(self._file)

    def close(self) -> None:
        """Flush to disk and close the file."""
        if self._file >= 0:
            with suppress(OSError):
                os.fsync(self._file)
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _ends_torn(file: int) -> bool:
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def load(path: Path) -> Loaded:
    """Load one of our journals; unreadable lines become notes."""
    records: list[Record] = []
    notes: list[str] = []
    for number, value in read_lines(path, notes):
        try:
            records.append(parse(value))
        except TranscriptError as error:
            notes.append(f"{path.name}, line {number}: {error}; skipped")
    return Loaded(tuple(records), tuple(notes))


def read_lines(path: Path, notes: list[str]) -> Iterator[tuple[int, Any]]:
    """Parsed JSON lines of any transcript (plain or .gz), with a note for each that is not JSON."""
    for number, line in enumerate(_raw_lines(path), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError):
            torn = not line.endswith(b"\n")
            what = "torn by a crash" if torn else "not JSON"
            notes.append(f"{path.name}, line {number}: {what}; skipped")


def time_of(line: Mapping[str, Any]) -> float:
    """The time of another client's line; 0 if it has none that is valid."""
    try:
        at = parse_time(line["timestamp"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return 0.0
    return at if 0 <= at < _LAST_TIME else 0.0


def _passed(file: io.BufferedIOBase, line: bytes) -> bytes:
    """Skip a line that is too long; the placeholder is not JSON, so the reader adds a note."""
    while line and not line.endswith(b"\n"):
        line = file.readline(LONGEST_LINE)
    return b"too long\n"


def _raw_lines(path: Path) -> Iterable[bytes]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(LONGEST_LINE + 1):
                yield line if len(line) <= LONGEST_LINE else _passed(file, line)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TranscriptError(f"cannot read the transcript {path}: {reason}") from error


class Recorder:
    """A journal whose write errors do not fail a turn. Records wait and stay in order."""

    def __init__(self, journal: Journal, announce: Announce = no_listener) -> None:
        self._journal = journal
        self._announce = announce
        self._waiting: list[Record] = []
        self._told = False

    @property
    def behind(self) -> int:
        """How many records are not on disk yet."""
        return len(self._waiting)

    def append(self, *records: Record) -> None:
        self._waiting += records
        try:
            self._journal.append(*self._waiting)
        except StorageError as error:
            # Once per outage, as every record would repeat it.
            if not self._told:
                self._announce(TroubleNoted("transcript", f"{error}; {self.behind} records wait"))
            self._told = True
            return
        self._waiting.clear()
        self._told = False


class TextFile:
    """A text file that is replaced atomically, without secrets if there is a scrubber."""

    def __init__(self, path: Path, scrubber: Scrubber | None = None) -> None:
        self._path = path
        self._scrubber = scrubber
        self._folder = Directory(path.parent)

    @property
    def path(self) -> str:
        return str(self._path)

    def read(self) -> str | None:
        """Its text; None when there is no file."""
        data = self._folder.read(self._path.name)
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, text: str) -> None:
        if self._scrubber is not None:
            text = self._scrubber.scrub(text).text
        self._folder.replace(self._path.name, wire_text(text).encode())


_LONGEST_STEM = 100
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")
_ENDING = re.compile(r"\.[a-z]{1,8}\Z")


class FolderBlobs:
    """Texts under untrusted names. A stored text is never overwritten, and holds no secrets."""

    def __init__(self, folder: Path, scrubber: Scrubber | None = None) -> None:
        self.folder = folder
        self._scrubber = scrubber

    def put(self, name: str, text: str) -> str:
        """Store a text and return its path; another text under the same name gets a new name."""
        if self._scrubber is not None:
            text = self._scrubber.scrub(text).text
        data = wire_text(text).encode()
        path = self.folder / safe_name(name)
        try:
            make_private(self.folder)
            if _taken(path, data):
                path = path.with_stem(f"{path.stem}-{_digest(data)}")
            if not _holds(path, data):
                atomic.replace(path, data)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(
                f"cannot keep a tool result in {path}: {reason}; make room or give access"
            ) from error
        return str(path)


def safe_name(name: str) -> str:
    """A safe file name for an untrusted name; different names stay different."""
    ending = _ENDING.search(name)
    stem = name[: ending.start()] if ending else name
    plain = _STRANGE.sub("_", stem)[:_LONGEST_STEM]
    if plain != stem or not plain:
        plain = f"{plain}-{_digest(stem.encode('utf-8', 'surrogatepass'))}"
    return plain + (ending[0] if ending else "")


def _taken(path: Path, data: bytes) -> bool:
    """Whether the path exists with other content."""
    return os.path.lexists(path) and not _holds(path, data)


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == data


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=6).hexdigest()
