"""Starting, stopping and asking the daemon, for people."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from reverie.errors import StorageError
from reverie.surfaces import hook_client
from reverie.surfaces.daemon.place import DaemonPlace

_SECONDS = 10.0
_START_SECONDS = 30.0
_STOP_SECONDS = 30.0
_PAUSE = 0.02


def status(home: Path) -> dict[str, Any] | None:
    """What the daemon says of itself; None when none runs. `hook_errors` are lines of the hooks' log."""
    try:
        told = json.loads(hook_client.ask(str(home), "/status", b"", _SECONDS))
    except (OSError, hook_client.Unanswered, ValueError):
        return None
    return {
        **told,
        "hook_errors": _lines(home / hook_client.LOG),
        "log": str(DaemonPlace(home).log),
    }


def start(home: Path) -> dict[str, Any]:
    """Start it unless it runs; returns when it answers."""
    if (running := status(home)) is not None:
        return running
    DaemonPlace(home).prepare()
    process = hook_client.start(str(home))
    running = awaited(home, process)
    if running["pid"] == process.pid:
        # It is to outlive us: nobody here waits for its end.
        process.returncode = 0
    else:
        # Another one was quicker; ours must not wait for its turn after that one's end.
        process.terminate()
        process.wait()
    return running


def awaited(home: Path, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """What the daemon says of itself, once it answers; one that stepped back leaves it to another."""
    log = DaemonPlace(home).log
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if (running := status(home)) is not None:
            return running
        if process.poll():
            raise StorageError(f"the daemon does not start: {_last_line(log)} ({log})")
        time.sleep(_PAUSE)
    raise StorageError(f"the daemon does not answer; see {log}, or run `reverie daemon run`")


def stop(home: Path) -> bool:
    """Ask it to end, and wait for what it is at; False when none ran.

    One that took its place meanwhile, having waited for its turn, is asked too.
    """
    place = DaemonPlace(home)
    if not _asked_to_stop(home):
        return False
    until = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < until:
        with place.alone() as free:
            if free:
                return True
        time.sleep(_PAUSE)
        _asked_to_stop(home)
    raise StorageError(f"the daemon does not end; see {place.log}")


def _asked_to_stop(home: Path) -> bool:
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
