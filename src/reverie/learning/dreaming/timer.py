"""A nightly dream by a systemd user timer, or by cron where there is no systemd."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reverie.errors import StorageError

AT = "03:17"


@dataclass(frozen=True, slots=True)
class Timer:
    """The unit files by path, or the line for the crontab."""

    kind: Literal["systemd", "cron"]
    name: str
    files: tuple[tuple[str, str], ...]


def timer(
    root: Path, person: Path, home: Path | None = None, *, systemd: bool | None = None
) -> Timer:
    """The timer for a project; the gates still decide whether a dream runs.

    It runs without the person's shell environment, so a custom `home` is passed explicitly.
    """
    name = f"reverie-dream-{hashlib.blake2b(str(root).encode(), digest_size=4).hexdigest()}"
    where = ["--project", str(root), *(["--home", str(home)] if home else [])]
    command = shlex.join([sys.executable, "-m", "reverie", "dream", *where])
    if systemd is None:
        systemd = shutil.which("systemctl") is not None
    if not systemd:
        hour, minute = AT.split(":")
        return Timer("cron", name, (("crontab", f"{int(minute)} {int(hour)} * * * {command}\n"),))
    folder = person / ".config" / "systemd" / "user"
    service = (
        f"[Unit]\nDescription=A dream of Reverie\n\n[Service]\nType=oneshot\nExecStart={command}\n"
    )
    schedule = (
        f"[Unit]\nDescription=Reverie dreams every night\n\n[Timer]\nOnCalendar=*-*-* {AT}:00\n"
    )
    schedule += "Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
    files = (
        (str(folder / f"{name}.service"), service.replace("%", "%%")),
        (str(folder / f"{name}.timer"), schedule),
    )
    return Timer("systemd", name, files)


def install(wanted: Timer) -> None:
    """Install the timer; installing it again changes nothing."""
    try:
        if wanted.kind == "cron":
            _add_line(wanted.files[0][1])
            return
        for name, text in wanted.files:
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        _run("systemctl", "--user", "daemon-reload")
        _run("systemctl", "--user", "enable", "--now", f"{wanted.name}.timer")
    except (OSError, subprocess.SubprocessError) as error:
        raise StorageError(
            f"the timer could not be installed: {error}; "
            "`reverie dream --install-timer --dry-run` prints it"
        ) from error


def _add_line(line: str) -> None:
    listed = subprocess.run(["crontab", "-l"], capture_output=True, text=True, check=False).stdout
    if line not in listed:
        subprocess.run(["crontab", "-"], input=listed + line, text=True, check=True)


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, check=True, text=True)
