"""Read each source of settings into checked values with their origin."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, cast

from reverie.files.atomic import owned_by_us
from reverie.settings import schema, values
from reverie.settings.values import check, check_text, quote, shown, unknown_key, unknown_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reverie.settings.schema import Setting, Value

Said = Literal["yes", "no"]


class Answer(NamedTuple):
    """The answer, and the text it was given for, so that the next question can show a diff."""

    said: Said
    digest: str
    text: str

    def is_about(self, content: bytes) -> bool:
        return self.digest == digest_of(content)


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def answers(record: Path) -> dict[str, Answer]:
    """All answers for one project by file path; empty if the record is damaged."""
    try:
        data = json.loads(record.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    entries = data.items() if isinstance(data, dict) else ()
    return {path: answer for path, entry in entries if (answer := _answer(entry))}


def said_about(record: Path, path: Path, content: bytes) -> Said | None:
    """The answer for the file's current content; None: not asked yet, or the file changed."""
    answer = answers(record).get(str(path))
    return answer.said if answer is not None and answer.is_about(content) else None


def rendered(known: Mapping[str, Answer]) -> dict[str, dict[str, str]]:
    """The record as JSON."""
    return {path: answer._asdict() for path, answer in known.items()}


def _answer(entry: object) -> Answer | None:
    if not isinstance(entry, dict) or entry.get("said") not in ("yes", "no"):
        return None
    said = cast("Said", entry["said"])
    return Answer(said, str(entry.get("digest")), str(entry.get("text") or ""))


Source = Literal["default", "managed", "user", "project", "local", "environment", "command line"]

MANAGED: Final = Path("/etc/reverie/settings.toml")
_LARGEST_FILE: Final = 256 * 1024

# The user's answers about a project's files, in the project's folder under the home.
RECORD: Final = "trusted-settings.json"
# The former place of local settings, inside the project.
OLD_LOCAL: Final = "settings.local.toml"
MOVE_ADVICE: Final = ", or let `reverie trust --move` show you the file and move it there"

# Modification time, size and inode of a file; None if it does not exist.
Stamp = tuple[int, int, int] | None


class Origin(NamedTuple):
    """Where a value came from: a file and line, a variable, or an option."""

    source: Source
    where: str = ""
    line: int | None = None

    @property
    def place(self) -> str:
        return self.where if self.line is None else f"{self.where}:{self.line}"

    @property
    def is_personal(self) -> bool:
        """Whether the user set it for this run; then an organisation's flag does not override it."""
        return self.source in ("environment", "command line")

    def __str__(self) -> str:
        return f"{self.source} ({self.place})" if self.where else self.source


DEFAULT: Final = Origin("default")


class Found(NamedTuple):
    """A value from one source."""

    value: Value
    origin: Origin


class SettingsFile(NamedTuple):
    """A file that may hold settings.

    For a file inside a project, `record` is the file in the home with the user's answers about it:
    such a file may have come with a clone or an archive, whether or not git tracks it.
    `instead` is the file to use for values that such a file may not set.
    """

    source: Source
    path: Path
    instead: Path
    record: Path | None = None


class Wanted(NamedTuple):
    """A value in a project's file that the user has not agreed to."""

    key: str
    found: Found
    # The user was asked about this content of the file and said no.
    declined: bool

    def __str__(self) -> str:
        why = "you said no to it" if self.declined else "you were not asked yet"
        return (
            f"{self.found.origin.place} wants {shown(self.key)} = {quote(self.found.value)}, "
            f"which is not used: {why} (`reverie trust` shows it)"
        )


class Layer(NamedTuple):
    """The values of one source, and its problems."""

    values: Mapping[str, Found] = MappingProxyType({})
    problems: tuple[str, ...] = ()
    file: SettingsFile | None = None
    stamp: Stamp = None
    # Values the user has not agreed to, and notes to show to the user.
    wanted: tuple[Wanted, ...] = ()
    notes: tuple[str, ...] = ()


def environment() -> Mapping[str, str]:
    """The process's environment; no other code reads it."""
    return os.environ


def person_home(environ: Mapping[str, str]) -> Path:
    """The user's home folder, which `~` expands to."""
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def stamp_of(path: Path) -> Stamp:
    """A stamp that changes when the file does; an unreadable file has one, too."""
    try:
        seen = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return (-1, -1, error.errno or 0)
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino)


def read_file(file: SettingsFile, home: Path) -> Layer:
    """Read a settings file. The stamp is taken first, so a change during the read is noticed."""
    stamp = stamp_of(file.path)
    if stamp is None:
        return Layer(file=file)
    try:
        content = read_content(file)
        entries = values.parse_toml(_text(content))
    except values.BadToml as bad:
        place = Origin(file.source, str(file.path), bad.line).place
        problem = f"{place}: this is not TOML: {shown(bad.reason)}; correct it there"
        return Layer(problems=(problem,), file=file, stamp=stamp)
    except _NotOurs as theirs:
        note = f"{file.path}: {theirs}"
        return Layer(file=file, stamp=stamp, notes=(note,))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Layer(problems=(f"{file.path}: {reason}",), file=file, stamp=stamp)
    return _agreed(_checked(file, entries, home), file, stamp, content)


class _NotOurs(Exception):
    """A file inside a project that another user of the machine owns."""


def read_content(file: SettingsFile) -> bytes:
    """The bytes of a settings file; ValueError or OSError if it cannot be used."""
    # A repository may contain a link to a device or a pipe; reading it would never end.
    status = file.path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("this is not a regular file; remove it")
    if file.record is not None and not owned_by_us(status):
        raise _NotOurs(f"not read: it belongs to another user (uid {status.st_uid})")
    with file.path.open("rb") as opened:
        content = opened.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ValueError(f"the file is larger than {_LARGEST_FILE:,} bytes; shorten it")
    return content


def _text(content: bytes) -> str:
    try:
        # TOML lines end with \n or \r\n; editors on Windows may write a byte order mark.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8; save the file as UTF-8") from None


class _Checked(NamedTuple):
    """Valid values, values that need the user's agreement, and problems."""

    values: dict[str, Found]
    asked: dict[str, Found]
    problems: tuple[str, ...]


def _checked(file: SettingsFile, entries: Iterable[values.TomlEntry], home: Path) -> _Checked:
    values: dict[str, Found] = {}
    asked: dict[str, Found] = {}
    problems: list[str] = []
    for entry in entries:
        # An empty known table, such as `[features]` alone, sets nothing.
        if entry.value == {} and schema.is_table(entry.key):
            continue
        origin = Origin(file.source, str(file.path), entry.line)
        try:
            row, key = _allowed(file, entry.key)
            if key in values or key in asked:
                raise ValueError(f"{shown(key)} is set twice; keep one")
            value = check(row, shown(key), entry.value, home)
            free = file.record is None or value in row.unasked
            (values if free else asked)[key] = Found(value, origin)
        except ValueError as error:
            problems.append(f"{origin.place}: {error}")
    return _Checked(values, asked, tuple(problems))


def _agreed(checked: _Checked, file: SettingsFile, stamp: Stamp, content: bytes) -> Layer:
    """All values of a file; of a project's file, only those the user agreed to."""
    values, asked, problems = checked
    if not asked or file.record is None:
        return Layer(values, problems, file, stamp)
    # Import lazily: few projects have settings that need agreement.

    answer = said_about(file.record, file.path, content)
    if answer == "yes":
        return Layer({**values, **asked}, problems, file, stamp)
    wanted = tuple(Wanted(key, found, answer == "no") for key, found in asked.items())
    return Layer(values, problems, file, stamp, wanted)


def _allowed(file: SettingsFile, written: str) -> tuple[Setting, str]:
    found = schema.find(written)
    if found is None:
        raise ValueError(unknown_key(written))
    row, key = found
    if not row.files:
        raise ValueError(
            f"{key} cannot be set in a file, because it decides where the file is; "
            f"set {row.variable}"
        )
    if file.record is not None and not row.project_may_set:
        could = f" (a repository could {row.risk})" if row.risk else ""
        raise ValueError(
            f"{shown(key)} may not be set by a file inside a project{could}; put it in "
            f"{file.instead}" + (MOVE_ADVICE if file.path.name == OLD_LOCAL else "")
        )
    return found


def read_environment(environ: Mapping[str, str], key_names: Iterable[str], home: Path) -> Layer:
    """Read all `REVERIE_*` variables that are not empty. `key_names` are those with API keys."""
    ours = {name: environ[name] for name in sorted(environ) if _sets_something(name, environ)}
    values: dict[str, Found] = {}
    problems: list[str] = []
    unknown: list[str] = []
    for name, text in ours.items():
        found = schema.find_variable(name)
        if found is None:
            unknown.append(name)
            continue
        row, key = found
        try:
            values[key] = Found(
                check_text(row, shown(key), text, home), Origin("environment", name)
            )
        except ValueError as error:
            problems.append(f"{name}: {error}")
    _turn_memory_off(environ, values, problems)
    keys = {*key_names, *named_keys(Layer(values))}
    problems.extend(unknown_variable(name) for name in unknown if name not in keys)
    return Layer(values, tuple(problems))


def _sets_something(name: str, environ: Mapping[str, str]) -> bool:
    ours = name.startswith(schema.PREFIX) and name not in schema.OTHER_VARIABLES
    return ours and bool(environ[name])


def _turn_memory_off(
    environ: Mapping[str, str], values: dict[str, Found], problems: list[str]
) -> None:
    """Apply the two variables that can turn memory off but not on."""
    for name in (schema.DISABLE_MEMORY, schema.REMOTE):
        # A remote host has no memory of its own, unless a memory directory is configured.
        if name == schema.REMOTE and environ.get(schema.MEMORY_DIR):
            continue
        row = schema.Setting(name, "bool", default=False, about="")
        try:
            if environ.get(name) and check_text(row, "its value", environ[name], Path()):
                values["memory.enabled"] = Found(value=False, origin=Origin("environment", name))
        except ValueError as error:
            problems.append(f"{name}: {error}")


def named_keys(layer: Layer) -> set[str]:
    """The variables that a source names as holding an API key; they are not settings."""
    return {
        str(found.value)
        for key, found in layer.values.items()
        if key.startswith("providers.") and key.endswith(".api_key_env")
    }


def read_options(overrides: Iterable[str], home: Path) -> Layer:
    """Read `--set key=value` options; the last one for a key wins."""
    values: dict[str, Found] = {}
    problems: list[str] = []
    for option in overrides:
        written, equals, text = option.partition("=")
        found = schema.find(written.strip())
        try:
            if not equals:
                raise ValueError("write --set key=value")
            if found is None:
                raise ValueError(unknown_key(written.strip()))
            row, key = found
            origin = Origin("command line", f"--set {shown(key)}")
            values[key] = Found(check_text(row, shown(key), text, home), origin)
        except ValueError as error:
            problems.append(f"--set {shown(written)}: {error}")
    return Layer(values, tuple(problems))
