"""How to get from what a file became back to what it was, without a copy of the rest of it.

A client's file may hold keys and tokens: only what an edit took away is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol

from reverie.clients.install.files import ClientFile
from reverie.clients.install.json_text import Malformed, Splice, Where, spliced
from reverie.errors import InputError

# Members, wherever lines break: a file may be written in a single one.
_PIECE = re.compile(r"[^,\n]+[,\n]?|[,\n]")


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def way_back(before: str, after: str) -> tuple[Splice, ...]:
    """Splices that make `before` of `after`."""
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


def taken_back(after: str, splices: Iterable[Splice]) -> str:
    return spliced(after, splices)


def _trimmed(after: str, splice: Splice) -> Splice:
    """Without what both sides share at their ends."""
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


class Disk(Protocol):
    """What planning may ask of the disk."""

    def read(self, path: Path) -> str | None:
        """A file's text; None when it is not there."""
        ...

    def missing(self, path: Path) -> tuple[Path, ...]:
        """The folders on the way to a file that are not there, outermost first."""
        ...


@dataclass(frozen=True, slots=True)
class Filed:
    """What was written down about one file when we wrote into it."""

    role: str
    path: Path
    # Of the text we wrote; while the file still has it, the way back is exact.
    digest: str
    # None for a file that was not there.
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
    def read(cls, data: Mapping[str, Any]) -> Filed:
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
    """One client, wired in one scope; `root` is the project's folder, or empty for the user's."""

    client: str
    scope: Scope
    root: str
    program: str
    files: tuple[Filed, ...] = ()

    @property
    def key(self) -> tuple[str, Scope, str]:
        return (self.client, self.scope, self.root)

    def filed(self, role: str, path: Path) -> Filed | None:
        return next((one for one in self.files if (one.role, one.path) == (role, path)), None)

    def as_json(self) -> dict[str, Any]:
        return {
            "client": self.client,
            "scope": self.scope,
            "root": self.root,
            "program": self.program,
            "files": [one.as_json() for one in self.files],
        }

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Installation:
        files = tuple(Filed.read(one) for one in data["files"])
        return cls(data["client"], data["scope"], data["root"], data["program"], files)


@dataclass(frozen=True, slots=True)
class Change:
    """One file, before and after; None is a file that is not there."""

    path: Path
    before: str | None
    after: str | None
    # Folders that were made for it, to be removed when they are empty again.
    folders: tuple[Path, ...] = ()

    @property
    def kind(self) -> Literal["none", "create", "change", "delete"]:
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def diff(self, name: str) -> str:
        """The change as a unified diff under the name a person knows the file by."""
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
    """All changes for one client, and what to write down about them."""

    record: Installation
    changes: tuple[Change, ...]

    @property
    def empty(self) -> bool:
        return all(change.kind == "none" for change in self.changes)


def install(
    bare: Installation, files: Sequence[ClientFile], known: Installation | None, disk: Disk
) -> Plan:
    """Wire a client; `bare` says who and where, `known` is what was written down the last time."""
    made = []
    for file in files:
        filed = known.filed(file.role, file.path) if known else None
        if file.wanted or filed:
            made.append(_installed(file, filed, disk))
    filed_now = tuple(filed for _, filed in made if filed)
    return Plan(replace(bare, files=filed_now), tuple(change for change, _ in made))


def uninstall(known: Installation, files: Sequence[ClientFile], disk: Disk) -> Plan:
    """Take everything of ours out again, exactly where nobody has edited meanwhile.

    Files are those that were written down, or without that those where we would write today.
    """
    places = {file.role: file for file in files}
    if known.files:
        pairs = [(places[one.role].moved(one.path), one) for one in known.files]
        changes = [_taken_out(file, filed, disk) for file, filed in pairs]
    else:
        changes = [_taken_out(file, None, disk) for file in files]
    return Plan(replace(known, files=()), tuple(changes))


def _taken_out(file: ClientFile, filed: Filed | None, disk: Disk) -> Change:
    text = disk.read(file.path)
    with _named(file.path):
        base = _base(file, text, filed)
    return Change(file.path, text, base, filed.folders if filed else ())


def _installed(file: ClientFile, filed: Filed | None, disk: Disk) -> tuple[Change, Filed | None]:
    text = disk.read(file.path)
    with _named(file.path):
        if filed is not None and _edited(text, filed) and file.holds(text):
            return Change(file.path, text, text), filed
        base = _base(file, text, filed)
        after = file.added(base, text)
        made = tuple(file.made(base))
    known = filed.folders if filed else ()
    if after is None or after == base:
        return Change(file.path, text, base, known), None
    missing = tuple(folder for folder in disk.missing(file.path) if folder not in known)
    back = None if base is None else way_back(base, after)
    fresh = Filed(file.role, file.path, digest(after), back, made, (*known, *missing))
    return Change(file.path, text, after), fresh


def _base(file: ClientFile, text: str | None, filed: Filed | None) -> str | None:
    """The file as it is without us."""
    if text is None:
        return None
    if filed is None:
        return file.removed(text, None, created=False)
    if _edited(text, filed):
        return file.removed(text, filed.made, created=filed.created)
    return None if filed.back is None else taken_back(text, filed.back)


def _edited(text: str | None, filed: Filed) -> bool:
    return text is None or digest(text) != filed.digest


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """What is wrong with a file, said with its name and line."""
    try:
        yield
    except Malformed as error:
        raise InputError(
            f"{path}, line {error.line}: {error.reason}; nothing was written"
        ) from error
