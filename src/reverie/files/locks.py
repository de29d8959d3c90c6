"""Locks between processes and between threads, and the identity of the process that holds one."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

from reverie.errors import InputError, StorageError
from reverie.files.atomic import make_private


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait for the lock and hold it, for milliseconds only. Readers never take it."""
    file = _opened(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


@contextmanager
def sole(path: Path, otherwise: str) -> Iterator[None]:
    """Hold the lock for any time; InputError(`otherwise`) if another process holds it."""
    file = _opened(path)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(otherwise) from error
        yield
    finally:
        os.close(file)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock. Creates no file; takes the lock only for an instant."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _opened(path: Path) -> int:
    try:
        make_private(path.parent)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"cannot take the lock {path}: {error.strerror}") from error


class ThreadLock:
    """A reentrant lock between threads that is free again in a forked child.

    The child has only one thread: a lock that another one held would stay taken for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _THREAD_LOCKS.add(self)

    def renew(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


_THREAD_LOCKS: WeakSet[ThreadLock] = WeakSet()


def _renew_thread_locks() -> None:
    for lock in tuple(_THREAD_LOCKS):
        lock.renew()


os.register_at_fork(after_in_child=_renew_thread_locks)

STALE_AFTER = 3600.0

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lock; its start time tells it from a later one with the same PID."""

    pid: int
    host: str
    started: str
    since: float
    token: str

    def render(self) -> bytes:
        lines = (str(self.pid), self.host, self.started, f"{self.since:.3f}", self.token)
        return "".join(f"{line}\n" for line in lines).encode()

    @classmethod
    def parse(cls, body: bytes) -> Holder | None:
        """Read a lock file; None if it is empty. A file with only a PID is valid."""
        lines = body.decode("utf-8", "replace").splitlines()
        if not lines or not lines[0].strip().isdecimal():
            return None
        host, started, since, token = [*lines[1:5], *[""] * 4][:4]
        try:
            seconds = float(since)
        except ValueError:
            seconds = 0.0
        return cls(int(lines[0]), host, started, seconds, token)


def gone(holder: Holder, now: float) -> bool:
    """Whether the lock can be taken over: its holder died, its PID was reused, or it is too old."""
    age = now - holder.since
    if holder.host not in ("", this_host()):
        # Processes of another machine cannot be checked, only the age; its clock may be off either way.
        return abs(age) > STALE_AFTER
    if not is_alive(holder.pid):
        return True
    if holder.started and (seen := started(holder.pid)) is not None and seen != holder.started:
        return True
    return age > STALE_AFTER


def started(pid: int) -> str | None:
    """Start time of a process, as text unique for its PID; None if unknown."""
    if (fields := _stat(pid)) is not None:
        return f"{_boot()}:{fields[19]}"
    with suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        ps = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)
        return " ".join(ps.stdout.split()) or None
    return None


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on; None where there is no /proc."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields if len(fields) > 19 else None
    return None


def _boot() -> str:
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def this_host() -> str:
    return socket.gethostname()


def is_alive(pid: int) -> bool:
    """Whether a process with this PID is running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    # A zombie has ended; its parent has not collected its exit status yet.
    fields = _stat(pid)
    return fields is None or fields[0] not in {"Z", "X"}
