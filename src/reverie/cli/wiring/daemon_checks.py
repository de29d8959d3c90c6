"""Doctor checks of the process behind the hooks, and of the disk it writes to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reverie
from reverie.cli.formatting import Finding

if TYPE_CHECKING:
    from reverie.workspace import Workspace

# Below this, notes, indexes and stored results may fail to be written.
_FULL = 20 * 1024 * 1024
_NEARLY_FULL = 500 * 1024 * 1024
_MEGABYTE = 1024 * 1024


def examine_disk(home: Path) -> Iterator[Finding]:
    """Is there room for what Reverie writes?"""
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    try:
        free = shutil.disk_usage(nearest).free
    except OSError:
        return
    if free >= _NEARLY_FULL:
        return
    left = f"{free // _MEGABYTE:,} MB"
    if free < _FULL:
        what = f"the disk of {home} is full ({left} left): nothing new can be kept"
        yield Finding("wrong", what, "free some space; memories that are saved already can be read")
    else:
        yield Finding("note", f"the disk of {home} is nearly full: {left} left")


def examine_daemon(app: Workspace) -> Iterator[Finding]:
    """Does the daemon answer, and does it run the code that is installed?"""
    from reverie.clients.daemon import control

    home = app.settings.home
    status = control.status(home)
    if status is not None:
        yield from _running(status)
    elif (pid := control.silent(home)) is not None:
        what = f"the daemon (process {pid}) answers nothing: hooks go without memory"
        yield Finding("wrong", what, control.wake(pid))


def _running(status: dict[str, Any]) -> Iterator[Finding]:
    version, python = str(status.get("version", "")), str(status.get("python", ""))
    again = "end it, the next hook starts a new one: reverie daemon stop"
    if python and not Path(python).exists():
        yield Finding("wrong", f"the daemon's Python is gone: {python}", again)
    elif version != reverie.__version__:
        what = f"the daemon runs version {version or 'unknown'}, installed is {reverie.__version__}"
        yield Finding("wrong", what, again)
    else:
        yield Finding("ok", f"the daemon runs version {version}, process {status['pid']}")
