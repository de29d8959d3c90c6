"""The places settings come from, each read into checked values with their origin."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from reverie.settings import flat_toml, lookup, schema
from reverie.settings.suggestions import unknown_key, unknown_variable
from reverie.settings.values import check, check_text, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reverie.settings.schema import Setting, Value

Source = Literal["default", "managed", "user", "project", "local", "environment", "command line"]

MANAGED: Final = Path("/etc/reverie/settings.toml")
_LARGEST_FILE: Final = 256 * 1024

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
    """A file that may hold settings; `instead` is where a project puts what it may not set."""

    source: Source
    path: Path
    instead: Path

    @property
    def foreign(self) -> bool:
        """May somebody else have written it? Then it may not set what could harm."""
        return self.source == "project" or (self.source == "local" and _brought_along(self.path))

    @property
    def described(self) -> str:
        if self.source == "project":
            return "a project file"
        return "a local file that came with the project, or lies outside of any git repository"


def _brought_along(path: Path) -> bool:
    """Did the file come with the project? Only git can tell: what a clone brings, it tracks.

    A folder without git may have been unpacked from anywhere, so it proves nothing. The index is
    only searched for the name, which it may hold shortened: rather one refusal too many.
    """
    git = path.parent.parent / ".git"
    try:
        if git.is_file():
            git = (git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
        if not git.is_dir():
            return True
        index = git / "index"
        return index.exists() and b"local.toml" in index.read_bytes()
    except (OSError, ValueError):
        return True


class Layer(NamedTuple):
    """What one source says, and all that is wrong with it."""

    values: Mapping[str, Found] = MappingProxyType({})
    problems: tuple[str, ...] = ()
    file: SettingsFile | None = None
    stamp: Stamp = None


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
        entries = flat_toml.parse(_text(file.path))
    except flat_toml.BadToml as bad:
        place = Origin(file.source, str(file.path), bad.line).place
        problem = f"{place}: this is not TOML: {shown(bad.reason)}; correct it there"
        return Layer(problems=(problem,), file=file, stamp=stamp)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Layer(problems=(f"{file.path}: {reason}",), file=file, stamp=stamp)
    values, problems = _checked(file, entries, home)
    return Layer(values, problems, file, stamp)


def _text(path: Path) -> str:
    # A repository may hold a link to a device or a pipe, whose reading would never end.
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("this is not a regular file; remove it")
    with path.open("rb") as opened:
        content = opened.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ValueError(f"a settings file has at most {_LARGEST_FILE:,} bytes; shorten it")
    try:
        # TOML ends lines with \n or \r\n; editors on Windows also put a mark at the start.
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"line {line} is not UTF-8; save the file as UTF-8") from None


def _checked(
    file: SettingsFile, entries: Iterable[flat_toml.Entry], home: Path
) -> tuple[dict[str, Found], tuple[str, ...]]:
    values: dict[str, Found] = {}
    problems: list[str] = []
    for entry in entries:
        # A known table with nothing in it, such as `[features]` alone, says nothing.
        if entry.value == {} and lookup.is_table(entry.key):
            continue
        origin = Origin(file.source, str(file.path), entry.line)
        try:
            row, key = _allowed(file, entry.key)
            if key in values:
                raise ValueError(f"{shown(key)} is set twice; keep one")
            values[key] = Found(check(row, shown(key), entry.value, home), origin)
        except ValueError as error:
            problems.append(f"{origin.place}: {error}")
    return values, tuple(problems)


def _allowed(file: SettingsFile, written: str) -> tuple[Setting, str]:
    found = lookup.find(written)
    if found is None:
        raise ValueError(unknown_key(written))
    row, key = found
    if not row.files:
        raise ValueError(
            f"{key} cannot be set in a file, which is found through it; set {row.variable}"
        )
    if file.foreign and not row.project_may_set:
        raise ValueError(
            f"{shown(key)} may not be set by {file.described} (a repository could {row.risk}); "
            f"put it in {file.instead}"
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
