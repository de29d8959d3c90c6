"""The daemon's files (lock, socket, log, address), and starting, stopping and asking it."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reverie.clients import hook_client
from reverie.clients.hook_client import DAEMON_LOG, FOLDER, SOCKET
from reverie.errors import InputError, StorageError
from reverie.files import atomic

_ENDING = b"ending"


@dataclass(frozen=True, slots=True)
class Address:
    """How to reach the daemon over HTTP; port and token stay the same across restarts.

    `pid` is 0 while no daemon runs.
    """

    pid: int
    port: int
    token: str
    version: str
    started: float


@dataclass(frozen=True, slots=True)
class DaemonPlace:
    """The daemon's folder in Reverie's home, accessible only to its owner."""

    home: Path

    @property
    def folder(self) -> Path:
        return self.home / FOLDER

    @property
    def socket(self) -> Path:
        return self.folder / SOCKET

    @property
    def log(self) -> Path:
        return self.folder / DAEMON_LOG

    @property
    def _lock(self) -> Path:
        return self.folder / "lock"

    def prepare(self) -> None:
        """Create the folder; refuse a home that belongs to another user."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            owner = self.home.stat().st_uid
        except OSError as error:
            raise StorageError(
                f"the daemon cannot use {self.folder}: {error.strerror}; give access, or set "
                "REVERIE_HOME to a folder of yours"
            ) from error
        if owner != os.geteuid():
            raise InputError(
                f"{self.home} belongs to another person; run the daemon as them, or set REVERIE_HOME"
            )
        self.folder.chmod(0o700)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Hold the daemon's lock; yields False if another process holds it."""
        file = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            yield False
            return
        try:
            yield True
        finally:
            os.close(file)

    @property
    def ending(self) -> bool:
        """Is the process that holds the lock about to end?"""
        try:
            return self._lock.read_bytes() == _ENDING
        except OSError:
            return False

    def mark(self, *, ending: bool) -> None:
        """Write into the lock file whether its holder is about to end."""
        self._lock.write_bytes(_ENDING if ending else b"")

    def address(self) -> Address | None:
        """The address of the last daemon; None if there never was one."""
        try:
            data = json.loads((self.folder / "daemon.json").read_bytes())
            return Address(
                int(data["pid"]),
                int(data["port"]),
                str(data["token"]),
                str(data["version"]),
                float(data["started"]),
            )
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write_address(self, address: Address) -> None:
        data = json.dumps(asdict(address)).encode()
        atomic.replace(self.folder / "daemon.json", data, mode=0o600)

    def token(self) -> str:
        """The token that clients already have, or a new one."""
        known = self.address()
        return known.token if known and known.token else secrets.token_urlsafe(32)


_SECONDS = 10.0
_START_SECONDS = 30.0
_STOP_SECONDS = 30.0
_PAUSE = 0.02


def status(home: Path) -> dict[str, Any] | None:
    """The daemon's status; None if none runs. `hook_errors` counts the lines of the hooks' log."""
    try:
        answer = json.loads(hook_client.ask(str(home), "/status", b"", _SECONDS))
    except (OSError, hook_client.Unanswered, ValueError):
        return None
    return {
        **answer,
        "hook_errors": _lines(home / hook_client.LOG),
        "log": str(DaemonPlace(home).log),
    }


def silent(home: Path) -> int | None:
    """The process id of a daemon that holds the lock but does not answer; None if there is none."""
    place = DaemonPlace(home)
    known = place.address()
    if known is None or not _alive(known.pid) or place.ending:
        return None
    with place.alone() as free:
        return None if free or status(home) is not None else known.pid


def start(home: Path) -> dict[str, Any]:
    """Start the daemon unless one runs; returns its status once it answers."""
    if (running := status(home)) is not None:
        return running
    if (pid := silent(home)) is not None:
        raise StorageError(f"a daemon runs (process {pid}) but does not answer; {wake(pid)}")
    DaemonPlace(home).prepare()
    process = hook_client.start(str(home))
    running = wait_until_running(home, process)
    if running["pid"] == process.pid:
        # It outlives this process: keep Popen from warning that it was not waited for.
        process.returncode = 0
    else:
        # Another daemon was faster; ours must not take over when that one ends.
        process.terminate()
        process.wait()
    return running


def wait_until_running(home: Path, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The daemon's status once one answers; `process` may have left that to another daemon."""
    log = DaemonPlace(home).log
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if (running := status(home)) is not None:
            return running
        if process.poll():
            raise StorageError(f"the daemon did not start: {_last_line(log)} ({log})")
        time.sleep(_PAUSE)
    raise StorageError(f"the daemon does not answer; see {log}, or run `reverie daemon run`")


def stop(home: Path) -> bool:
    """Stop the daemon and wait until it has finished its work; False if none ran.

    A daemon that was waiting for the lock and took over meanwhile is stopped, too.
    """
    place = DaemonPlace(home)
    if not _ask_to_stop(home):
        if (pid := silent(home)) is not None:
            raise StorageError(f"the daemon (process {pid}) answers nothing; {wake(pid)}")
        return False
    until = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < until:
        with place.alone() as free:
            if free:
                return True
        time.sleep(_PAUSE)
        _ask_to_stop(home)
    raise StorageError(f"the daemon does not end; see {place.log}")


def wake(pid: int) -> str:
    """What to do about a daemon that answers nothing."""
    return (
        f"if it was stopped, wake it with `kill -CONT {pid}`, otherwise end it with `kill -9 {pid}`"
    )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return pid > 0


def _ask_to_stop(home: Path) -> bool:
    try:
        hook_client.ask(str(home), "/stop", b"", _SECONDS)
    except (OSError, hook_client.Unanswered):
        return False
    return True


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text("utf-8", "replace").split("\n")
    except OSError:
        lines = []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
