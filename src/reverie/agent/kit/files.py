"""Files for the tools: read and replaced whole, their encoding and line endings, paths and diffs."""

from __future__ import annotations

import codecs
import difflib
import fcntl
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from reverie.agent.tools import Arguments, FileRead, Workplace
from reverie.errors import InputError, StorageError
from reverie.files import atomic

LARGEST = 64_000_000


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A file's content and its stat result."""

    data: bytes
    status: os.stat_result

    @property
    def read(self) -> FileRead:
        return FileRead.of(self.data, self.status.st_mtime_ns)


def load(path: Path) -> OnDisk | None:
    """Read a regular file; None when there is none. Folders, pipes and huge files are refused."""
    with _explained("read", path):
        try:
            # Non-blocking: opening a pipe must not wait for a writer.
            opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(opened)
            _check_readable(path, status)
            with os.fdopen(opened, "rb", closefd=False) as file:
                return OnDisk(file.read(LARGEST), status)
        finally:
            os.close(opened)


def save(path: Path, data: bytes, before: OnDisk | None) -> FileRead:
    """Replace the file last seen as `before`, or create a new one."""
    with _explained("write", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # A new file gets the mode that the umask allows, an old one keeps its owner and mode.
        like = before.status if before is not None else None
        with (
            atomic.opened(path.parent) as folder,
            atomic.draft(folder, data, mode=0o666, like=like) as temporary,
        ):
            # Only one Reverie process at a time checks and replaces; the lock ends when the folder
            # is closed. On file systems without locks, the check must suffice.
            with suppress(OSError):
                fcntl.flock(folder, fcntl.LOCK_EX)
            _check_unchanged(path, before)
            _put(path.with_name(temporary), path, fresh=before is None)
        return FileRead.of(data, path.stat().st_mtime_ns)


def _put(temporary: Path, path: Path, *, fresh: bool) -> None:
    """Move a file into place; a new one never replaces a file that was created meanwhile."""
    if fresh:
        try:
            os.link(temporary, path)
        except FileExistsError as error:
            raise InputError(f"{path} was created meanwhile; read it, then repeat") from error
        except OSError:
            # The file system has no hard links.
            temporary.replace(path)
        return
    temporary.replace(path)


def _check_unchanged(path: Path, before: OnDisk | None) -> None:
    """Refuse to overwrite a file that another process changed meanwhile."""
    try:
        now = path.stat()
    except FileNotFoundError:
        now = None
    if (now and _identity(now)) != (before and _identity(before.status)):
        raise InputError(f"{path} changed while it was being written; read it again, then repeat")
    if now is not None and not os.access(path, os.W_OK):
        raise StorageError(f"{path} is write-protected; nothing was written")


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _check_readable(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{path} is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} is a device or a pipe, not a plain file")
    if status.st_size > LARGEST:
        raise InputError(
            f"{path} is too large to read whole ({status.st_size:,} bytes, the most is "
            f"{LARGEST:,}); use Grep, or a shell command such as sed -n '1,200p'"
        )


@contextmanager
def _explained(verb: str, path: Path) -> Iterator[None]:
    """Turn OSError into StorageError with a readable message."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {verb} {path}: {error.strerror or error}") from error


LineEndings: TypeAlias = Literal["LF", "CRLF", "mixed"]

_SNIFFED = 8_192
# UTF-32 first: its byte order mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text with its original line endings, and what is needed to write it back.

    Bytes that are not UTF-8 are lone surrogates in `text`, and are written back unchanged.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @classmethod
    def parse(cls, data: bytes) -> TextFile | None:
        """None when it is not text."""
        mark, encoding = next((one for one in _MARKS if data.startswith(one[0])), (b"", "utf-8"))
        if encoding == "utf-8" and b"\0" in data[:_SNIFFED]:
            return None
        try:
            return cls(data[len(mark) :].decode(encoding, _strictness(encoding)), encoding, mark)
        except UnicodeDecodeError:
            return None

    def render(self, text: str) -> bytes:
        """Another text in this file's encoding."""
        return self.mark + text.encode(self.encoding, _strictness(self.encoding))

    @property
    def is_exact(self) -> bool:
        """Whether all bytes could be decoded."""
        return re.search("[\udc80-\udcff]", self.text) is None

    @property
    def line_endings(self) -> LineEndings:
        crlf = self.text.count("\r\n")
        if crlf == 0:
            return "LF"
        return "CRLF" if crlf == self.text.count("\n") else "mixed"

    def replaced(self, spans: list[tuple[int, int]], new: str) -> str:
        """The text with `new` in place of each span of `plain(text)`; the rest is unchanged.

        New lines get the line endings of those they replace, or else the most common of the file.
        """
        shifts = _crlf_positions(self.text)
        pieces: list[str] = []
        last = 0
        for start, end in spans:
            raw_start, raw_end = start + bisect_left(shifts, start), end + bisect_left(shifts, end)
            old = self.text[raw_start:raw_end]
            pieces += [self.text[last:raw_start], with_endings(new, like=old, otherwise=self.text)]
            last = raw_end
        return "".join([*pieces, self.text[last:]])


def plain(text: str) -> str:
    """The text with LF line endings, as models write them."""
    return text.replace("\r\n", "\n")


def with_endings(new: str, *, like: str, otherwise: str = "") -> str:
    """The text with the line endings of `like`; if that has none, of `otherwise`."""
    model = like if "\n" in like else otherwise
    crlf = model.count("\r\n")
    ending = "\r\n" if crlf * 2 > model.count("\n") else "\n"
    return plain(new).replace("\n", ending)


def _strictness(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "surrogatepass"


def _crlf_positions(text: str) -> list[int]:
    """The positions in the plain text of newlines that were CRLF."""
    positions: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        positions.append(at - len(positions))
        at = text.find("\r\n", at + 2)
    return positions


@dataclass(frozen=True, slots=True)
class Written:
    """The report on a change, and the file as it is now."""

    report: str
    read: FileRead


def check_seen(name: str, last: FileRead | None, now: FileRead) -> None:
    """Refuse to overwrite content that the agent has not read."""
    if last is None:
        raise InputError(f"{name} has not been read yet; read it first, then change it")
    if not last.same_content(now):
        raise InputError(f"{name} changed since it was read; read it again, then change it")


def rendered(file: TextFile, text: str, name: str) -> bytes:
    """The text in the file's encoding."""
    try:
        return file.render(text)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise InputError(
            f"{name} is {file.encoding.upper()} and cannot hold {letter!r}; nothing was written"
        ) from error


_MOST_SUGGESTED = 5


def located(name: str, workplace: Workplace) -> Path:
    """The absolute path of a name: relative to the root, to home (`~`), or already absolute."""
    if not name or "\0" in name:
        raise InputError(f"{name!r} is not a path")
    if name == "~" or name.startswith("~/"):
        home = workplace.environment.get("HOME") or str(Path.home())
        name = home + name[1:]
    # Links are not resolved; `..` removes the name before it.
    path = Path(os.path.normpath(workplace.root / name))
    return path if workplace.workshop is None else workplace.workshop.inside(path)


def real(path: Path) -> Path:
    """The path with all links resolved: the file that would be written."""
    try:
        return path.resolve()
    except RuntimeError as error:
        raise InputError(f"{path} is a link that leads back to itself") from error


def written(arguments: Arguments, workplace: Workplace) -> tuple[Path, ...]:
    """The file that a call with a `path` writes, links resolved."""
    return (real(located(arguments["path"], workplace)),)


def shown(path: Path, workplace: Workplace) -> str:
    """The path as shown to the model: relative inside the root, absolute outside; printable."""
    path = path if workplace.workshop is None else workplace.workshop.outside(path)
    inside = path.is_relative_to(workplace.root)
    return printable(str(path.relative_to(workplace.root) if inside else path))


def printable(text: str) -> str:
    """Replace what is not valid text, such as lone surrogates, with U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def missing(path: Path, workplace: Workplace) -> str:
    """A message that there is no such file, with similar names or the nearest folder."""
    message = f"There is no file {shown(path, workplace)}."
    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir():
            folder = folder.parent
        return f"{message} The nearest folder that exists is {shown(folder, workplace)}."
    near = [shown(folder / name, workplace) for name in _near(path.name, folder)]
    return f"{message} Did you mean {' or '.join(near)}?" if near else message


def _near(name: str, folder: Path) -> list[str]:
    """Names in the folder that differ in case, suffix or a few letters."""
    readable = os.access(folder, os.R_OK)
    names = sorted(entry.name for entry in folder.iterdir()) if readable else []
    stem = Path(name).stem.casefold()
    same = [other for other in names if Path(other).stem.casefold() == stem]
    close = difflib.get_close_matches(name, names, _MOST_SUGGESTED)
    return list(dict.fromkeys([*same, *close]))[:_MOST_SUGGESTED]


_MOST_LINES = 60
# Comparing more lines takes too long.
_MOST_COMPARED = 2_000
_CONTEXT = 2


def compact_diff(before: str, after: str) -> str:
    """The changed lines with two lines of context; a long diff is cut, with a note."""
    old, new = before.split("\n"), after.split("\n")
    start, end = _unchanged_ends(old, new)
    first = max(0, start - _CONTEXT)
    kept = max(0, end - _CONTEXT)
    old, new = old[first : len(old) - kept], new[first : len(new) - kept]
    if max(len(old), len(new)) > _MOST_COMPARED:
        return f"[from line {start + 1:,}: {len(old):,} lines became {len(new):,}]"
    lines = _changes(old, new, first)
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], *([f"[{more:,} more lines]"] if more > 0 else [])])


def _changes(old: list[str], new: list[str], first: int) -> list[str]:
    lines: list[str] = []
    compared = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in compared.get_grouped_opcodes(_CONTEXT):
        lines.append(f"@@ line {first + group[0][3] + 1} @@")
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                lines += [f" {line}" for line in new[new_from:new_to]]
            else:
                lines += [f"-{line}" for line in old[old_from:old_to]]
                lines += [f"+{line}" for line in new[new_from:new_to]]
    return lines


def _unchanged_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """The number of equal lines at the start and at the end."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    return start, end
