"""The places settings come from, each read into checked values with their origin."""

from __future__ import annotations

import os
import stat
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from reverie.files.folders import owned_by_us
from reverie.settings import flat_toml, lookup, schema
from reverie.settings.values import check, check_text, quote, shown, unknown_key, unknown_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reverie.settings.schema import Setting, Value


Source = Literal["default", "managed", "user", "project", "local", "environment", "command line"]

MANAGED: Final = Path("/etc/reverie/settings.toml")
_LARGEST_FILE: Final = 256 * 1024

# What the person said about a project's files, in the folder of the project under the home.
RECORD: Final = "trusted-settings.json"
# Local settings lay here, inside the project, before they moved to the home.
OLD_LOCAL: Final = "settings.local.toml"
MOVE_ADVICE: Final = ", or let `reverie trust --move` show you the file and move it there"

# Modification time, size and inode of a file; None where there is none.
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
        """Did the person say so for this run? Then nobody else overrides it."""
        return self.source in ("environment", "command line")

    def __str__(self) -> str:
        return f"{self.source} ({self.place})" if self.where else self.source


DEFAULT: Final = Origin("default")


class Found(NamedTuple):
    """A value one source gives."""

    value: Value
    origin: Origin


class SettingsFile(NamedTuple):
    """A file that may hold settings.

    One inside a project has a `record` in the home of what the person said about it. Whoever wrote
    the file, it came with the folder; neither git nor the lack of it proves anything else.
    `instead` is where a value belongs that such a file may not set.
    """

    source: Source
    path: Path
    instead: Path
    record: Path | None = None


class Wanted(NamedTuple):
    """A value that a project's file asks for and the person has not agreed to."""

    key: str
    found: Found
    # They were asked about exactly this, and said no.
    declined: bool

    def __str__(self) -> str:
        why = "you said no to it" if self.declined else "you were not asked yet"
        return (
            f"{self.found.origin.place} wants {shown(self.key)} = {quote(self.found.value)}, "
            f"which is not used: {why} (`reverie trust` shows it)"
        )


class Layer(NamedTuple):
    """What one source says, and all that is wrong with it."""

    values: Mapping[str, Found] = MappingProxyType({})
    problems: tuple[str, ...] = ()
    file: SettingsFile | None = None
    stamp: Stamp = None
    # What a project's file asks for and does not get, and what else the person should hear.
    wanted: tuple[Wanted, ...] = ()
    notes: tuple[str, ...] = ()


def environment() -> Mapping[str, str]:
    """The one place where Reverie reads the environment of its process."""
    return os.environ


def person_home(environ: Mapping[str, str]) -> Path:
    """What `~` stands for."""
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def stamp_of(path: Path) -> Stamp:
    """Changes when the file does; an unreadable one has a stamp of its own."""
    try:
        seen = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return (-1, -1, error.errno or 0)
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino)


def read_file(file: SettingsFile, home: Path) -> Layer:
    """One settings file. The stamp is taken first: a change while we read is seen next time."""
    stamp = stamp_of(file.path)
    if stamp is None:
        return Layer(file=file)
    try:
        content = read_content(file)
        entries = flat_toml.parse(_text(content))
    except flat_toml.BadToml as bad:
        place = Origin(file.source, str(file.path), bad.line).place
        problem = f"{place}: this is not TOML: {shown(bad.reason)}; correct it there"
        return Layer(problems=(problem,), file=file, stamp=stamp)
    except _NotOurs as theirs:
        note = f"{file.path}: {theirs}"
        return Layer(file=file, stamp=stamp, notes=(note,))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Layer(problems=(f"{file.path}: {reason}",), file=file, stamp=stamp)
    return _judged(_checked(file, entries, home), file, stamp, content)


class _NotOurs(Exception):
    """A file inside a project that another user of the machine owns."""


def read_content(file: SettingsFile) -> bytes:
    """The bytes of a settings file; ValueError or OSError says why there are none."""
    # A repository may hold a link to a device or a pipe, whose reading would never end.
    status = file.path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("this is not a regular file; remove it")
    if file.record is not None and not owned_by_us(status):
        raise _NotOurs(f"not read: it belongs to another user (uid {status.st_uid})")
    with file.path.open("rb") as opened:
        content = opened.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ValueError(f"a settings file has at most {_LARGEST_FILE:,} bytes; shorten it")
    return content


def _text(content: bytes) -> str:
    try:
        # TOML ends lines with \n or \r\n; editors on Windows also put a mark at the start.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8; save the file as UTF-8") from None


class _Checked(NamedTuple):
    """Valid values, those of them that need the person's word, and all that is wrong."""

    values: dict[str, Found]
    asked: dict[str, Found]
    problems: tuple[str, ...]


def _checked(file: SettingsFile, entries: Iterable[flat_toml.Entry], home: Path) -> _Checked:
    values: dict[str, Found] = {}
    asked: dict[str, Found] = {}
    problems: list[str] = []
    for entry in entries:
        # A known table with nothing in it, such as `[features]` alone, says nothing.
        if entry.value == {} and lookup.is_table(entry.key):
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


def _judged(checked: _Checked, file: SettingsFile, stamp: Stamp, content: bytes) -> Layer:
    """What holds of a file: all of it, or, in a project's file, only what was agreed to."""
    values, asked, problems = checked
    if not asked or file.record is None:
        return Layer(values, problems, file, stamp)
    # Few machines have a project that asks for something: only they need a reader of records.
    from reverie.settings.trust import said_about  # noqa: PLC0415

    said = said_about(file.record, file.path, content)
    if said == "yes":
        return Layer({**values, **asked}, problems, file, stamp)
    wanted = tuple(Wanted(key, found, said == "no") for key, found in asked.items())
    return Layer(values, problems, file, stamp, wanted)


def _allowed(file: SettingsFile, written: str) -> tuple[Setting, str]:
    found = lookup.find(written)
    if found is None:
        raise ValueError(unknown_key(written))
    row, key = found
    if not row.files:
        raise ValueError(
            f"{key} cannot be set in a file, which is found through it; set {row.variable}"
        )
    if file.record is not None and not row.project_may_set:
        could = f" (a repository could {row.risk})" if row.risk else ""
        raise ValueError(
            f"{shown(key)} may not be set by a file inside a project{could}; put it in "
            f"{file.instead}" + (MOVE_ADVICE if file.path.name == OLD_LOCAL else "")
        )
    return found


def read_environment(environ: Mapping[str, str], key_names: Iterable[str], home: Path) -> Layer:
    """All `REVERIE_*` variables; an empty one is as good as none. `key_names` hold API keys."""
    ours = {name: environ[name] for name in sorted(environ) if _sets_something(name, environ)}
    values: dict[str, Found] = {}
    problems: list[str] = []
    unknown: list[str] = []
    for name, text in ours.items():
        found = lookup.find_variable(name)
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
    """Two variables turn memory off without being a setting; neither turns it on."""
    for name in (schema.DISABLE_MEMORY, schema.REMOTE):
        # A remote host has no local store to trust, unless it was told where one is.
        if name == schema.REMOTE and environ.get(schema.MEMORY_DIR):
            continue
        row = schema.Setting(name, "bool", default=False, about="")
        try:
            if environ.get(name) and check_text(row, "its value", environ[name], Path()):
                values["memory.enabled"] = Found(value=False, origin=Origin("environment", name))
        except ValueError as error:
            problems.append(f"{name}: {error}")


def named_keys(layer: Layer) -> set[str]:
    """The variables a source names as holding an API key: ours to leave alone, whatever the name."""
    return {
        str(found.value)
        for key, found in layer.values.items()
        if key.startswith("providers.") and key.endswith(".api_key_env")
    }


def read_options(overrides: Iterable[str], home: Path) -> Layer:
    """`--set key=value` options; the last of two that set the same key wins."""
    values: dict[str, Found] = {}
    problems: list[str] = []
    for option in overrides:
        written, equals, text = option.partition("=")
        found = lookup.find(written.strip())
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


SERVICE = "reverie"


def secret(name: str | None, environ: Mapping[str, str] | None = None) -> str | None:
    """The key that a variable of this name holds, or the keyring under it; None without one."""
    if not name:
        return None
    environ = environment() if environ is None else environ
    # A key that was pasted with its newline makes a header no server accepts.
    return environ.get(name, "").strip() or _from_keyring(name)


def _from_keyring(name: str) -> str | None:
    try:
        keyring = import_module("keyring")
    except ImportError:
        return None
    try:
        stored = keyring.get_password(SERVICE, name)
    # Backends raise what they like; one that is broken or locked is as good as none.
    except Exception as error:  # noqa: BLE001
        # Start-up does not wait for logging; it is needed here alone.
        from reverie.logs import logger  # noqa: PLC0415

        logger(__name__).warning("the keyring gave no %s: %r", name, error)
        return None
    return stored.strip() or None if isinstance(stored, str) else None
