"""API keys: in the environment, in the system's keyring, or in a file only the user can read."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

from reverie.errors import InputError
from reverie.settings.sources import environment, person_home

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SERVICE: Final = "reverie"
FILE: Final = "keys.json"
_NAME: Final = r"[A-Z][A-Z0-9_]{2,63}"

Where = Literal["environment", "keyring", "file"]


def secret(
    name: str | None, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> str | None:
    """The API key of this name: from the variable, the keyring or the file, or None."""
    found = find_key(name, environ, home) if name else None
    return found[0] if found else None


def find_key(
    name: str, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> tuple[str, Where] | None:
    """The key of this name and where it was found."""
    environ = environment() if environ is None else environ
    # A key pasted with its newline would make an invalid header.
    if key := environ.get(name, "").strip():
        return key, "environment"
    if stored := _from_keyring(name):
        return stored, "keyring"
    if key := _read_file(home or default_home(environ)).get(name, "").strip():
        return key, "file"
    return None


def store_key(name: str, key: str, home: Path) -> Where:
    """Store a key in the keyring if there is one that works, else in the file; return which."""
    check_name(name)
    if not key.strip():
        raise InputError(f"the key for {name} is empty; nothing was stored")
    if _into_keyring(name, key.strip()):
        return "keyring"
    _write_file(home, _read_file(home) | {name: key.strip()})
    return "file"


def remove_key(name: str, home: Path) -> bool:
    """Remove a stored key from the keyring and the file; return whether there was one."""
    check_name(name)
    kept = _read_file(home)
    in_file = kept.pop(name, None) is not None
    if in_file:
        _write_file(home, kept)
    in_keyring = _from_keyring(name) is not None and _out_of_keyring(name)
    return in_file or in_keyring


def stored_names(home: Path) -> tuple[str, ...]:
    """The names of the keys in the file."""
    return tuple(sorted(_read_file(home)))


def check_name(name: str) -> None:
    """Raise unless this is the name of a variable; a key pasted by mistake is not repeated."""
    if not re.fullmatch(_NAME, name):
        raise InputError(
            "give the NAME of the key, such as ANTHROPIC_API_KEY; the key itself is asked for, "
            "so that it is not in your shell's history"
        )


def default_home(environ: Mapping[str, str]) -> Path:
    from pathlib import Path  # noqa: PLC0415 - start-up should not pay for it

    named = environ.get("REVERIE_HOME")
    return Path(named) if named else person_home(environ) / ".reverie"


def _read_file(home: Path) -> dict[str, str]:
    from reverie.files.atomic import read_json  # noqa: PLC0415

    found = read_json(home / FILE)
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _write_file(home: Path, keys: Mapping[str, str]) -> None:
    from reverie.files.atomic import write_json  # noqa: PLC0415

    write_json(home / FILE, dict(keys))


def _keyring() -> Any | None:
    try:
        return import_module("keyring")
    except ImportError:
        return None


def _from_keyring(name: str) -> str | None:
    keyring = _keyring()
    if keyring is None:
        return None
    try:
        stored = keyring.get_password(SERVICE, name)
    except Exception as error:  # noqa: BLE001 - backends raise anything; a locked keyring counts as empty
        _log("the keyring gave no %s: %r", name, error)
        return None
    return stored.strip() or None if isinstance(stored, str) else None


def _into_keyring(name: str, key: str) -> bool:
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, name, key)
        stored: object = keyring.get_password(SERVICE, name)
    except Exception as error:  # noqa: BLE001 - the file takes the key then
        _log("the keyring did not take %s: %r", name, error)
        return False
    return stored == key


def _out_of_keyring(name: str) -> bool:
    keyring = _keyring()
    try:
        if keyring is not None:
            keyring.delete_password(SERVICE, name)
    except Exception as error:  # noqa: BLE001 - the caller says that the key is still there
        _log("the keyring did not remove %s: %r", name, error)
        return False
    return True


def _log(message: str, name: str, error: Exception) -> None:
    from reverie.logs import logger  # noqa: PLC0415 - needed only here

    logger(__name__).warning(message, name, error)
