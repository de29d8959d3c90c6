"""Starting, stopping and asking the daemon, for people."""

from __future__ import annotations

import json
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
    process = hook_client.start(str(home)) if hook_client.may_start(str(home)) else None
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if (running := status(home)) is not None:
            if process is not None:
                # It is to outlive us: nobody here waits for its end.
                process.returncode = 0
            return running
        time.sleep(_PAUSE)
    raise StorageError(
        f"the daemon does not answer; see {DaemonPlace(home).log}, or run `reverie daemon run`"
    )


def stop(home: Path) -> bool:
    """Ask it to end, and wait for what it is at; False when none ran."""
    place = DaemonPlace(home)
    try:
        hook_client.ask(str(home), "/stop", b"", _SECONDS)
    except (OSError, hook_client.Unanswered):
        return False
    until = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < until:
        with place.alone() as free:
            if free:
                return True
        time.sleep(_PAUSE)
    raise StorageError(f"the daemon does not end; see {place.log}")


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0
