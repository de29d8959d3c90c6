"""Other programs' configuration files: read as text, replaced whole, links and permissions kept."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from reverie.errors import InputError, StorageError
from reverie.files import atomic

_LARGEST = 64 * 1024 * 1024


class ClientFiles:
    """The disk as installing sees it."""

    def read(self, path: Path) -> str | None:
        """A file's text, line ends and all; None when it is not there."""
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
        """The folders on the way to a file that are not there, outermost first."""
        return tuple(reversed([folder for folder in path.parents if not folder.exists()]))

    def check_writable(self, path: Path) -> None:
        """May this file be changed by us? A read-only one, or a link into such a place, belongs to someone."""
        real = _real(path)
        leads = f" (a link to {real})" if real != path.absolute() and path.is_symlink() else ""
        if real.exists() and not (os.access(real, os.W_OK) and real.stat().st_mode & stat.S_IWUSR):
            raise InputError(
                f"{path}{leads} is read-only: it is managed by somebody else, or "
                f"`chmod u+w` makes it yours; nothing was written"
            )
        folder = next(parent for parent in real.parents if parent.exists())
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(f"{path}{leads}: nothing may be written into {folder}")

    def write(self, path: Path, text: str, *, expected: str | None) -> None:
        """The old file or the new one, whole; refused if it changed since it was read."""
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
        """Remove these folders if they are empty; the innermost go first."""
        for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
            with suppress(OSError):
                folder.rmdir()


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
