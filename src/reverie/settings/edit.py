"""Change one value of a settings file and leave the rest of its text as it is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from reverie.errors import SettingsError, StorageError
from reverie.files import atomic
from reverie.files.atomic import make_private
from reverie.settings import schema, values
from reverie.settings.values import check_text, shown, unknown_key

if TYPE_CHECKING:
    from pathlib import Path

    from reverie.settings.schema import Setting, Value

_BARE = r"[A-Za-z0-9_-]+"


def set_value(path: Path, key: str, text: str, person_home: Path) -> Value:
    """Write `key = text` after checking it; return the value as it will be read."""
    row, stored = _row(key)
    try:
        value = check_text(row, shown(stored), text, person_home)
    except ValueError as error:
        raise SettingsError(str(error)) from None
    before = _read(path)
    lines = before.split("\n")
    written = _toml(row, value, text)
    if (number := _line_of(before, stored)) is not None:
        lines[number - 1] = f"{lines[number - 1].partition('=')[0].rstrip()} = {written}"
    else:
        position, table = _place(lines, stored)
        name = ".".join(map(_quoted, _parts(stored)[len(table) :]))
        lines.insert(position, f"{name} = {written}")
    _replace(path, before, "\n".join(lines), stored)
    return value


def unset_value(path: Path, key: str) -> bool:
    """Remove the key's line; return whether there was one."""
    _, stored = _row(key)
    before = _read(path)
    number = _line_of(before, stored)
    if number is None:
        return False
    lines = before.split("\n")
    del lines[number - 1]
    _replace(path, before, "\n".join(lines), stored)
    return True


def _row(key: str) -> tuple[Setting, str]:
    found = schema.find(key)
    if found is None:
        raise SettingsError(unknown_key(key))
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {path}: {error}") from error


def _entries(path: Path, text: str) -> dict[str, object]:
    """The file's values by their stored keys, without empty tables."""
    try:
        entries = values.parse_toml(text)
    except values.BadToml as bad:
        at = f"{path}:{bad.line}" if bad.line else str(path)
        message = f"{at}: this is not TOML: {shown(bad.reason)}; `reverie settings edit` opens it"
        raise SettingsError(message) from None
    return {_stored(entry.key): entry.value for entry in entries if entry.value != {}}


def _stored(key: str) -> str:
    found = schema.find(key)
    return found[1] if found else key


def _line_of(text: str, stored: str) -> int | None:
    for path, number in values.toml_lines(text).items():
        if _stored(".".join(path)) == stored:
            return number
    return None


def _place(lines: list[str], stored: str) -> tuple[int, tuple[str, ...]]:
    """Where a new key goes: the end of the nearest table that is open, else before all tables."""
    wanted = tuple(_parts(stored))
    headers = [(at, table) for at, line in enumerate(lines) if (table := values.toml_header(line))]
    nearest = max(
        (found for found in headers if wanted[: len(found[1])] == found[1]),
        key=lambda found: len(found[1]),
        default=None,
    )
    if nearest is None:
        end, table = (headers[0][0] if headers else len(lines)), ()
    else:
        table = nearest[1]
        end = min((at for at, _ in headers if at > nearest[0]), default=len(lines))
    while end > 0 and not lines[end - 1].strip():
        end -= 1
    return end, table


def _parts(stored: str) -> list[str]:
    """The parts of a key; the name in `prices.*.input` may contain dots."""
    found = schema.find(stored)
    if found is None or "*" not in found[0].key:
        return stored.split(".")
    before, _, after = found[0].key.partition("*")
    name = stored[len(before) : len(stored) - len(after)]
    return [part for part in (*before.split("."), name, *after.split(".")) if part]


def _quoted(part: str) -> str:
    return part if re.fullmatch(_BARE, part) else json.dumps(part)


def _toml(row: Setting, value: Value, text: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    # Paths keep their `~`, and "none" and "never" are words in the file, too.
    return json.dumps(text.strip() if row.kind != "str" else text, ensure_ascii=False)


def _replace(path: Path, before: str, after: str, stored: str) -> None:
    """Write the new text if it differs from the old one in this key alone."""
    old, new = _entries(path, before), _entries(path, after)
    old.pop(stored, None)
    new.pop(stored, None)
    if old != new:
        raise SettingsError(
            f"{path}: {stored} is written in a way that cannot be changed alone; "
            "`reverie settings edit` opens the file"
        )
    try:
        make_private(path.parent)
        atomic.replace(path, after.rstrip("\n").encode() + b"\n")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
