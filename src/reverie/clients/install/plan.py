"""Plans for installing and uninstalling: the changes to each file, and how to undo them exactly.

A client's file may hold keys and tokens, so the record keeps only the text an edit removed, never a copy.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reverie.clients.install.files import ClientFile
from reverie.clients.install.json_text import Malformed, Splice, Where, spliced
from reverie.errors import InputError, StorageError
from reverie.files import atomic
from reverie.files.atomic import read_json, write_json
from reverie.files.locks import exclusive

if TYPE_CHECKING:
    from reverie.workspace import Workspace

_LARGEST = 64 * 1024 * 1024


class ClientFiles:
    """File access for installing and uninstalling."""

    def read(self, path: Path) -> str | None:
        """The file's text with its line endings; None if the file does not exist."""
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise InputError(f"{path} is not a plain file; nothing was written")
            if path.stat().st_size > _LARGEST:
                raise InputError(f"{path} is far too large for a settings file")
            return path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            if path.is_symlink():
                raise InputError(
                    f"{path} is a link that leads nowhere ({path.readlink()}); remove it first"
                ) from None
            return None
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"{path}, line {line}: this is not UTF-8; nothing was written"
            ) from None
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror}") from error

    def missing(self, path: Path) -> tuple[Path, ...]:
        """The parent folders that do not exist yet, outermost first."""
        return tuple(reversed([folder for folder in path.parents if not folder.exists()]))

    def check_writable(self, path: Path) -> None:
        """Raise InputError if the file is read-only or its folder cannot be written to."""
        real = _real(path)
        leads = f" (a link to {real})" if real != path.absolute() and path.is_symlink() else ""
        if real.exists() and not (os.access(real, os.W_OK) and real.stat().st_mode & stat.S_IWUSR):
            raise InputError(
                f"{path}{leads} is read-only, so another program may manage it; nothing was "
                f"written. If the file is yours, run `chmod u+w` on it"
            )
        folder = next(parent for parent in real.parents if parent.exists())
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(f"{path}{leads}: no permission to write to {folder}")

    def write(self, path: Path, text: str, *, expected: str | None) -> None:
        """Replace the file atomically; InputError if it changed since it was read."""
        if self.read(path) != expected:
            raise InputError(f"{path} changed meanwhile; nothing was written to it, try again")
        real = _real(path)
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
            atomic.replace(real, text.encode("utf-8"))
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}") from error

    def remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"cannot remove {path}: {error.strerror}") from error

    def tidy(self, folders: tuple[Path, ...]) -> None:
        """Remove those of these folders that are empty, innermost first."""
        for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
            with suppress(OSError):
                folder.rmdir()


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


class Clients:
    """The clients' files, and the record of installations in Reverie's home."""

    def __init__(self, home: Path, record: str = "clients.json") -> None:
        self.files = ClientFiles()
        self._record = home / record
        self._lock = home / "clients.lock"

    def alone(self) -> AbstractContextManager[None]:
        """Lock the record against other processes."""
        return exclusive(self._lock)

    def installed(self) -> list[dict[str, Any]]:
        """All recorded installations."""
        found = read_json(self._record)
        rows = found.get("installations") if isinstance(found, dict) else None
        return rows if isinstance(rows, list) else []

    def write_down(self, installations: Sequence[dict[str, Any]]) -> None:
        """Replace the record; without installations the file is removed."""
        if installations:
            write_json(self._record, {"version": 1, "installations": list(installations)})
        else:
            self.files.remove(self._record)


def open_clients(app: Workspace) -> Clients:
    return Clients(app.settings.home)


def open_proxied(app: Workspace) -> Clients:
    """Clients whose base URL leads to the proxy; they have a record of their own."""
    return Clients(app.settings.home, "proxied.json")


# Split at commas as well as lines: a file may consist of a single line.
_PIECE = re.compile(r"[^,\n]+[,\n]?|[,\n]")


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def reverse_splices(before: str, after: str) -> tuple[Splice, ...]:
    """The splices that turn `after` back into `before`."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    old_pieces, new_pieces = _PIECE.findall(old), _PIECE.findall(new)
    matcher = SequenceMatcher(None, new_pieces, old_pieces, autojunk=False)
    offsets = [start]
    for piece in new_pieces:
        offsets.append(offsets[-1] + len(piece))
    return tuple(
        _trimmed(after, Splice(offsets[i1], offsets[i2], "".join(old_pieces[j1:j2])))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


def _trimmed(after: str, splice: Splice) -> Splice:
    """The splice without the text both sides share at their ends."""
    there, put = after[splice.start : splice.end], splice.text
    head = _common(there, put)
    tail = _common(there[head:][::-1], put[head:][::-1])
    return Splice(splice.start + head, splice.end - tail, put[head : len(put) - tail])


def _common(one: str, other: str) -> int:
    """How many characters two texts share at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


Scope = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What is recorded about one file Reverie wrote into."""

    role: str
    path: Path
    # Digest of the text we wrote; while the file still matches it, `back` restores the file
    # exactly.
    digest: str
    # None for a file that did not exist.
    back: tuple[Splice, ...] | None
    made: tuple[Where, ...] = ()
    folders: tuple[Path, ...] = ()

    @property
    def created(self) -> bool:
        return self.back is None

    def as_json(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "path": str(self.path),
            "digest": self.digest,
            "back": None if self.back is None else [list(splice) for splice in self.back],
            "made": [list(where) for where in self.made],
            "folders": [str(folder) for folder in self.folders],
        }

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> FileRecord:
        back = data["back"]
        return cls(
            role=data["role"],
            path=Path(data["path"]),
            digest=data["digest"],
            back=None if back is None else tuple(Splice(*splice) for splice in back),
            made=tuple(tuple(where) for where in data["made"]),
            folders=tuple(Path(folder) for folder in data["folders"]),
        )


@dataclass(frozen=True, slots=True)
class Installation:
    """One client installed in one scope; `root` is the project's folder, or empty for the user's."""

    client: str
    scope: Scope
    root: str
    program: str
    files: tuple[FileRecord, ...] = ()
    # How it is combined with the client's own memory; empty if the client has none.
    way: str = ""

    @property
    def key(self) -> tuple[str, Scope, str]:
        return (self.client, self.scope, self.root)

    def filed(self, role: str, path: Path) -> FileRecord | None:
        return next((one for one in self.files if (one.role, one.path) == (role, path)), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "client": self.client,
            "scope": self.scope,
            "root": self.root,
            "program": self.program,
            "files": [one.as_json() for one in self.files],
            "way": self.way,
        }

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Installation:
        files = tuple(FileRecord.read(one) for one in data["files"])
        way = str(data.get("way", ""))
        return cls(data["client"], data["scope"], data["root"], data["program"], files, way)


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; None stands for a file that does not exist."""

    path: Path
    before: str | None
    after: str | None
    # Folders that were created for it, to be removed when they are empty again.
    folders: tuple[Path, ...] = ()

    @property
    def kind(self) -> Literal["none", "create", "change", "delete"]:
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def diff(self, name: str) -> str:
        """The change as a unified diff, with `name` as the file's name."""
        if self.kind == "none":
            return ""
        lines = unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            "/dev/null" if self.before is None else name,
            "/dev/null" if self.after is None else name,
        )
        ended = (line if line.endswith("\n") else f"{line}\n\\ No newline\n" for line in lines)
        return "".join(ended).replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class Plan:
    """All changes for one client, and the record to keep of them."""

    record: Installation
    changes: tuple[Change, ...]

    @property
    def empty(self) -> bool:
        return all(change.kind == "none" for change in self.changes)


def install(
    bare: Installation, files: Sequence[ClientFile], known: Installation | None, disk: ClientFiles
) -> Plan:
    """Install into a client; `bare` names client and scope, `known` is the record of the last installation."""
    made = []
    for file in files:
        filed = known.filed(file.role, file.path) if known else None
        if file.wanted or filed:
            made.append(_installed(file, filed, disk))
    filed_now = tuple(filed for _, filed in made if filed)
    return Plan(replace(bare, files=filed_now), tuple(change for change, _ in made))


def uninstall(known: Installation, files: Sequence[ClientFile], disk: ClientFiles) -> Plan:
    """Remove our entries; a file that was not edited since is restored exactly.

    Covers the recorded files, or without a record the files an installation would write today.
    """
    places = {file.role: file for file in files}
    if known.files:
        pairs = [(places[one.role].moved(one.path), one) for one in known.files]
        changes = [_uninstalled(file, filed, disk) for file, filed in pairs]
    else:
        changes = [_uninstalled(file, None, disk) for file in files]
    return Plan(replace(known, files=()), tuple(changes))


def _uninstalled(file: ClientFile, filed: FileRecord | None, disk: ClientFiles) -> Change:
    text = disk.read(file.path)
    with _naming_file(file.path):
        base = _base(file, text, filed)
    return Change(file.path, text, base, filed.folders if filed else ())


def _installed(
    file: ClientFile, filed: FileRecord | None, disk: ClientFiles
) -> tuple[Change, FileRecord | None]:
    text = disk.read(file.path)
    with _naming_file(file.path):
        if filed is not None and _edited(text, filed) and file.holds(text):
            return Change(file.path, text, text), filed
        base = _base(file, text, filed)
        after = file.added(base, text)
        made = tuple(file.made(base))
    known = filed.folders if filed else ()
    if after is None or after == base:
        return Change(file.path, text, base, known), None
    missing = tuple(folder for folder in disk.missing(file.path) if folder not in known)
    back = None if base is None else reverse_splices(base, after)
    fresh = FileRecord(file.role, file.path, digest(after), back, made, (*known, *missing))
    return Change(file.path, text, after), fresh


def _base(file: ClientFile, text: str | None, filed: FileRecord | None) -> str | None:
    """The file's text without our entries."""
    if text is None:
        return None
    if filed is None:
        return file.removed(text, None, created=False)
    if _edited(text, filed):
        return file.removed(text, filed.made, created=filed.created)
    return None if filed.back is None else spliced(text, filed.back)


def _edited(text: str | None, filed: FileRecord) -> bool:
    return text is None or digest(text) != filed.digest


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Turn Malformed into an InputError with the file's name and line."""
    try:
        yield
    except Malformed as error:
        raise InputError(
            f"{path}, line {error.line}: {error.reason}; nothing was written"
        ) from error
