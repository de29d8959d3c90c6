"""Where the sockets of sessions lie: short enough for the system, in a folder of ours, gone with us."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from reverie.errors import InputError, StorageError
from reverie.files.folders import make_private
from reverie.subagents.private_files import sole

# The address of a socket is a field of fixed length, whatever paths the disk allows.
LONGEST_PATH = 107 if sys.platform == "linux" else 103
# Where the system says who is at the other end: level, option and form; the user comes second.
_PEER = {
    "linux": (socket.SOL_SOCKET, getattr(socket, "SO_PEERCRED", 17), "iII"),
    # LOCAL_PEERCRED begins with a version and the user.
    "darwin": (0, 1, "II"),
}.get(sys.platform)
# Where it does not, the folder alone must keep strangers out.
_CLOSED = 0o077 if _PEER is None else 0o022
_BACKLOG = 128

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

Occupant = Literal["nothing", "dead", "alive", "something else"]


def id_problem(session: str) -> str | None:
    """Why this cannot be the id of a session or bridge; None when it can."""
    if _ID.fullmatch(session):
        return None
    return f"{session[:80]!r} is no id: use 1 to 64 of a-z, A-Z, 0-9, '-' and '_'"


def socket_path(home: Path, session: str) -> Path:
    """The socket of a session: in its home, or in a private temporary folder if that is too long."""
    if wrong := id_problem(session):
        raise InputError(wrong)
    name = hashlib.sha256(os.fsencode(home / session)).hexdigest()[:16]
    private = Path(tempfile.gettempdir()) / f"reverie-{os.geteuid()}" / f"{name}.sock"
    for path in (home / "sockets" / f"{session}.sock", private):
        if not path_problem(path):
            return path
    raise InputError(f"{path_problem(private)}; set TMPDIR to a shorter folder")


def path_problem(path: Path) -> str | None:
    """Why nobody can listen at this path; None when one can."""
    if not path.is_absolute() or "\0" in str(path):
        return f"{str(path)!r} is no path of a socket: give the whole path, from / on"
    if (size := len(os.fsencode(path))) > LONGEST_PATH:
        return f"{path} is too long for a socket: {size} bytes, at most {LONGEST_PATH} are possible"
    return None


def call_problem(path: Path) -> str | None:
    """Why there is nobody to speak to at this path, as far as the file tells; None when it does not."""
    if wrong := path_problem(path):
        return wrong
    try:
        seen = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return f"nobody listens at {path}: the session has ended, or never was there"
    except OSError as error:
        return f"cannot reach {path}: {error.strerror}"
    if not stat.S_ISSOCK(seen.st_mode):
        return f"{path} is not a socket"
    if seen.st_uid != os.geteuid():
        return (
            f"{path} belongs to another user ({seen.st_uid}); letters go to your own sessions only"
        )
    return None


def peer_uid(connection: socket.socket) -> int | None:
    """The user at the other end; None where the system cannot tell."""
    if _PEER is None:
        return None
    level, option, form = _PEER
    said = connection.getsockopt(level, option, 128)
    return int(struct.unpack_from(form, said)[1])


def unblocked() -> socket.socket:
    """A socket that never waits: an event loop does that for it."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(0)
    return made


class Door:
    """A socket that listens at a path, for us alone; only the file of a dead process gives way."""

    def __init__(self, path: Path) -> None:
        if wrong := path_problem(path):
            raise InputError(wrong)
        self.socket = unblocked()
        self._path = path
        try:
            self._file: os.stat_result | None = _bind(self.socket, path)
        except BaseException:
            self.socket.close()
            raise

    def hide(self) -> None:
        """Remove the file while the socket still listens: so nobody takes it for a dead one's."""
        with suppress(OSError):
            if self._file is not None and os.path.samestat(self._path.lstat(), self._file):
                self._path.unlink()
        self._file = None

    def close(self) -> None:
        self.hide()
        self.socket.close()


def sweep(path: Path) -> bool:
    """Remove the socket that a dead process left behind; False when there is none."""
    with suppress(OSError, InputError), _alone(path.parent):
        if occupant(path) == "dead":
            path.unlink()
            return True
    return False


def occupant(path: Path) -> Occupant:
    """What is at a path; a socket whose process has ended refuses whoever calls."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return "something else"
        with unblocked() as probe:
            probe.connect(os.fspath(path))
    except FileNotFoundError:
        return "nothing"
    except ConnectionRefusedError:
        return "dead"
    except OSError:
        # Too busy to answer, or forbidden: not known to be dead, at least.
        return "alive"
    return "alive"


def _bind(listener: socket.socket, path: Path) -> os.stat_result:
    try:
        make_private(path.parent)
        with _alone(path.parent):
            _make_way(path)
            listener.bind(os.fspath(path))
            try:
                # Nobody can connect before it listens, so nobody did before this.
                path.chmod(0o600)
                listener.listen(_BACKLOG)
                return path.lstat()
            except BaseException:
                path.unlink()
                raise
    except OSError as error:
        raise StorageError(f"cannot listen at {path}: {error.strerror or error}") from error


def _make_way(path: Path) -> None:
    match occupant(path):
        case "alive":
            raise InputError(f"another session listens at {path}: end it, or choose another path")
        case "something else":
            raise InputError(f"{path} is not a socket: move it away, or choose another path")
        case "dead":
            path.unlink()
        case "nothing":
            pass


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with sole(folder, _CLOSED):
        yield
