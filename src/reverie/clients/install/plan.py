"""Plans for installing and uninstalling: the changes to each file, and how to undo them exactly.

A client's file may hold keys and tokens, so the record keeps only the text an edit removed, never a copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reverie.clients.install.files import ClientFile
from reverie.clients.install.json_text import Malformed, Splice, Where, spliced
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.clients.files import ClientFiles

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
    # Of the text we wrote; while the file still matches it, `back` restores the file exactly.
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
    # How it goes with the client's own memory; empty where the client has none.
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
