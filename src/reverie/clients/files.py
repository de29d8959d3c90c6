"""Configuration files of coding agents, and the record of what Reverie wrote into them.

Links and permissions of the files are kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.errors import InputError, StorageError
from reverie.files import atomic
from reverie.files.json_files import read_json, write_json
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
