"""A log of learning runs, and the alarm when learning stops.

Learning runs in the background, so a failure would go unnoticed: an expired key, a reached cap,
hooks that no longer fire.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core.messages import dump
from reverie.files import atomic
from reverie.files.atomic import make_private, read_json, write_json

if TYPE_CHECKING:
    from reverie.workspace import Workspace

FILE = "learning-runs.jsonl"
TOLD = "learning-alarm.json"
# The log is cut to its newer half above this size: some thousand runs.
_LARGEST = 512 * 1024


@dataclass(frozen=True, slots=True)
class Run:
    """One run: how many texts it found, and what became of them; `trouble` says why it failed."""

    at: float
    session: str
    found: int = 0
    saved: int = 0
    waiting: int = 0
    refused: int = 0
    trouble: str = ""

    @property
    def worked(self) -> bool:
        """A run that found nothing also worked."""
        return not self.trouble

    @property
    def only_refusals(self) -> bool:
        return self.worked and self.refused > 0 and not (self.saved or self.waiting)


@dataclass(frozen=True, slots=True)
class Alarm:
    """Learning has stopped: since when, and the reason as far as it is known."""

    what: str
    advice: str
    since: float


def note_run(app: Workspace, run: Run) -> None:
    """Add a run to the log; a log that cannot be written must not stop learning."""
    path = app.project.folder / FILE
    with suppress(OSError):
        make_private(path.parent)
        if path.exists() and path.stat().st_size > _LARGEST:
            lines = path.read_bytes().splitlines(keepends=True)
            atomic.replace(path, b"".join(lines[len(lines) // 2 :]), mode=0o600)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        file = os.open(path, flags, 0o600)
        try:
            os.write(file, dump(asdict(run)) + b"\n")
        finally:
            os.close(file)


def runs_of(app: Workspace) -> list[Run]:
    """Every logged run, oldest first; lines that cannot be read are skipped."""
    try:
        lines = (app.project.folder / FILE).read_bytes().splitlines()
    except OSError:
        return []
    return [run for line in lines if (run := _parsed(line)) is not None]


def _parsed(line: bytes) -> Run | None:
    try:
        data: dict[str, Any] = json.loads(line)
        counts = {key: int(data[key]) for key in ("found", "saved", "waiting", "refused")}
        return Run(float(data["at"]), str(data["session"]), **counts, trouble=str(data["trouble"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


# --- the alarm ---


def alarm_of(app: Workspace) -> Alarm | None:
    """The alarm for this project; None when learning works, is off, or had nothing to learn from."""
    if not (app.settings.memory_enabled and app.switches.on("extract")):
        return None
    most = int(app.settings.number("learning.alarm_after"))
    if not most:
        return None
    found = runs_of(app)
    if not found:
        return _never_ran(app, most)
    return alarm(found, _sessions(app), most)


def alarm(runs: Sequence[Run], sessions: Iterable[float], most: int) -> Alarm | None:
    """Whether learning stopped, from the log and the times of the last sessions."""
    worked = [run for run in runs if run.worked]
    last = max((run.at for run in worked), default=0.0)
    missed = sum(at > last for at in sessions)
    failed = [run for run in runs if run.at > last]
    if missed >= most or len({run.session for run in failed}) >= most:
        count = max(missed, len({run.session for run in failed}))
        why = f": {failed[-1].trouble}" if failed else ""
        advice = (
            "`reverie doctor` checks models and hooks; `reverie extract --dry-run` tries it now"
        )
        return Alarm(f"learning has not worked for {count} sessions{why}", advice, last)
    refused = _only_refusals(runs)
    if len({run.session for run in refused}) >= most:
        sessions_refused = len({run.session for run in refused})
        what = f"all that learning found in the last {sessions_refused} sessions was refused"
        advice = "`reverie extract --dry-run` says why; `reverie learning` shows your own rules"
        return Alarm(what, advice, refused[0].at)
    return None


def _only_refusals(runs: Sequence[Run]) -> list[Run]:
    """The latest runs that found something, back to the last one that had anything accepted."""
    found: list[Run] = []
    for run in reversed([run for run in runs if run.found and run.worked]):
        if not run.only_refusals:
            break
        found.insert(0, run)
    return found


def _never_ran(app: Workspace, most: int) -> Alarm | None:
    """The alarm when no run was ever logged: only if hooks saw sessions that nothing was read from."""
    turns = int(app.settings.number("learning.every"))
    seen = [folder for folder in _folders(app.project.hooks) if _turns(folder) >= turns]
    if len(seen) < most or any((folder / "learnt.json").exists() for folder in seen):
        return None
    advice = "`reverie daemon` shows the process that learns; `reverie doctor` checks the hooks"
    return Alarm(f"nothing was ever learnt from {len(seen)} sessions", advice, 0.0)


def _sessions(app: Workspace) -> list[float]:
    """When each session was last written to: ours, and those of other clients that had a turn."""
    turns = int(app.settings.number("learning.every"))
    found = [path.stat().st_mtime for path in app.journals()]
    folders = (folder for folder in _folders(app.project.hooks) if _turns(folder) >= turns)
    return [*found, *((folder / "shown.json").stat().st_mtime for folder in folders)]


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError):
        return [path for path in folder.iterdir() if (path / "shown.json").is_file()]
    return []


def _turns(folder: Path) -> int:
    data = read_json(folder / "shown.json")
    turns = data.get("turns") if isinstance(data, dict) else 0
    return turns if isinstance(turns, int) else 0


def alarm_once(app: Workspace) -> Alarm | None:
    """The alarm, unless it was shown since learning last worked."""
    found = alarm_of(app)
    if found is None:
        return None
    path = app.project.folder / TOLD
    if read_json(path) == {"since": found.since}:
        return None
    write_json(path, {"since": found.since})
    return found
