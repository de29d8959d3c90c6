"""When to dream, cheapest check first: one stat per ordinary turn, rarely a scan, then the lock."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from reverie.context import NotDue
from reverie.errors import StorageError
from reverie.files import atomic
from reverie.files.atomic import make_private
from reverie.files.locks import Holder, gone, is_alive, started, this_host
from reverie.ports import Clock

if TYPE_CHECKING:
    from reverie.memory.locations import MemoryLocation
    from reverie.memory.opening import OpenMemory
    from reverie.settings.projects import Project
    from reverie.workspace import Workspace

DREAMS = "dreams"
TRIED = "tried"
REST_SECONDS = 3_600.0

HOUR = 3600.0
SCAN_EVERY = 600.0
# Clocks of machines that share a folder differ a little; a time further ahead is ignored.
_AHEAD = 300.0

# Returns when a dream was last completed; one stat.
LastDream: TypeAlias = Callable[[], float | None]
# Counts the other sessions that are newer than a time; a scan.
SessionsSince: TypeAlias = Callable[[float], int]


@dataclass(frozen=True, slots=True)
class Due:
    """A dream is due: the time of the last one (None: never) and the number of sessions since."""

    last: float | None
    sessions: int


@dataclass(frozen=True, slots=True)
class Thresholds:
    hours: float = 24.0
    sessions: int = 5


@dataclass(slots=True)
class Gates:
    """The gates of time and sessions for one session; the third gate is the lock."""

    last_dream: LastDream
    sessions_since: SessionsSince
    clock: Clock
    thresholds: Thresholds = field(default_factory=Thresholds)
    _scanned: float | None = None

    def due(self) -> Due | NotDue:
        now = self.clock.now()
        last = self.last_dream()
        if (early := too_early(last, now, self.thresholds.hours)) is not None:
            return early
        if self._scanned is not None and 0 <= now - self._scanned < SCAN_EVERY:
            return NotDue("sessions were counted less than ten minutes ago")
        self._scanned = now
        count = self.sessions_since(last or 0.0)
        if count < self.thresholds.sessions:
            return NotDue(f"{count} of {self.thresholds.sessions} sessions since the last dream")
        return Due(last, count)


def too_early(last: float | None, now: float, hours: float) -> NotDue | None:
    """The time gate. A last dream in the future comes from a wrong clock and is ignored."""
    if last is None or last > now + _AHEAD or now - last >= hours * HOUR:
        return None
    return NotDue(f"the last dream was {max(0.0, now - last) / HOUR:.1f} h ago, under {hours:g} h")


FILE = ".consolidate-lock"

End = Literal["completed", "failed", "killed"]

_NEVER = 0
# How often other processes may replace the file between our open and our lock.
_TRIES = 1_000


@dataclass(frozen=True, slots=True)
class Busy:
    """Another process is dreaming."""

    holder: Holder

    @property
    def reason(self) -> str:
        where = "" if self.holder.host in ("", this_host()) else f" on {self.holder.host}"
        return f"process {self.holder.pid}{where} is dreaming"


class Held:
    """The acquired lock; releasing it again does nothing."""

    def __init__(self, lock: ConsolidateLock, holder: Holder) -> None:
        self._lock = lock
        self.holder = holder

    @property
    def is_ours(self) -> bool:
        """False once another process took the lock over because we took too long."""
        return self._lock.holder() == self.holder

    def release(self, end: End) -> bool:
        """Release; only a completed dream updates the time of the last dream."""
        return self._lock.released(self.holder, end)


class ConsolidateLock:
    """The lock for dreams on one memory directory; its mtime is the time of the last dream."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock

    def last_dream(self) -> float | None:
        """When a dream was last completed; one stat."""
        try:
            seen = self.path.stat().st_mtime
        except OSError:
            return None
        return seen or None

    def holder(self) -> Holder | None:
        try:
            return Holder.parse(self.path.read_bytes())
        except OSError:
            return None

    def acquire(self) -> Held | Busy:
        """Take the lock unless a live process holds it."""
        with self._alone() as (body, mtime):
            present = Holder.parse(body)
            now = self._clock.now()
            if present is not None and not gone(present, now):
                return Busy(present)
            pid = os.getpid()
            mine = Holder(pid, this_host(), started(pid) or "", round(now, 3), secrets.token_hex(8))
            self._replace(mine.render(), mtime)
        return Held(self, mine)

    def released(self, holder: Holder, end: End) -> bool:
        """Release the lock; False when this holder had lost it."""
        with self._alone() as (body, mtime):
            if Holder.parse(body) != holder:
                return False
            now = int(self._clock.now() * 1e9)
            self._replace(b"", now if end == "completed" else mtime)
        return True

    @contextmanager
    def _alone(self) -> Iterator[tuple[bytes, int]]:
        """Read the file's body and mtime while no other process can replace it."""
        try:
            file = self._open_alone()
        except OSError as error:
            raise StorageError(f"cannot take the lock {self.path}: {error.strerror}") from error
        try:
            yield os.pread(file, 65_536, 0), os.fstat(file).st_mtime_ns
        except OSError as error:
            raise StorageError(f"cannot write the lock {self.path}: {error.strerror}") from error
        finally:
            os.close(file)

    def _open_alone(self) -> int:
        make_private(self.path.parent)
        for _ in range(_TRIES):
            try:
                # Open for writing: NFS requires that for a lock between hosts.
                file = os.open(self.path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                self._create()
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(file), self.path.stat()):
                    return file
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(file)
                raise
            # Another process replaced the file while we waited; our lock is on the old one.
            os.close(file)
        raise OSError(errno.EBUSY, "it is replaced faster than it can be locked")

    def _create(self) -> None:
        """Create an unheld lock file; the first hard link wins."""
        with self._draft(b"", _NEVER) as draft, suppress(FileExistsError):
            self.path.hardlink_to(draft)

    def _replace(self, body: bytes, mtime: int) -> None:
        self._sweep()
        with self._draft(body, mtime) as draft:
            draft.replace(self.path)

    @contextmanager
    def _draft(self, body: bytes, mtime: int) -> Iterator[Path]:
        name = f"{FILE}.{this_host()}.{os.getpid()}.{secrets.token_hex(4)}"
        with (
            atomic.opened(self.path.parent) as folder,
            atomic.draft(folder, body, name=name, mtime=mtime),
        ):
            yield self.path.with_name(name)

    def _sweep(self) -> None:
        """Remove drafts of dead processes on this host."""
        for left in self.path.parent.glob(f"{FILE}.{this_host()}.*.*"):
            pid = left.name.split(".")[-2]
            if pid.isdecimal() and not is_alive(int(pid)):
                left.unlink(missing_ok=True)


def lock_of(place: MemoryLocation, clock: Clock) -> ConsolidateLock:
    """The lock file, always in our own directory, never inside another client's."""
    ours = place.directory.parent == place.state
    return ConsolidateLock((place.directory if ours else place.state) / FILE, clock)


def gates_for(app: Workspace, memory: OpenMemory, session: str = "") -> Gates:
    """The gates of one session, checked at the end of every turn."""
    hours, sessions = app.settings["dream.hours"], app.settings["dream.sessions"]
    return Gates(
        lock_of(memory.place, app.clock).last_dream,
        partial(_sessions_since, app.project, session),
        app.clock,
        Thresholds(cast("float", hours), cast("int", sessions)),
    )


def gate_with_rest(app: Workspace, memory: OpenMemory, session: str) -> Callable[[], Due | NotDue]:
    """The gates for the end of a turn, closed for an hour after each attempt.

    Otherwise a dream that is interrupted at every exit would be paid for each time.
    """
    gates = gates_for(app, memory, session)
    tried = memory.place.state / DREAMS / TRIED

    def due() -> Due | NotDue:
        found = gates.due()
        if isinstance(found, NotDue):
            return found
        with suppress(OSError):
            if app.clock.now() - float(tried.read_text()) < REST_SECONDS:
                return NotDue("the last try was less than an hour ago")
        with suppress(OSError):
            make_private(tried.parent)
            tried.write_text(str(app.clock.now()))
        return found

    return due


def _sessions_since(project: Project, session: str, moment: float) -> int:
    """Count the sessions newer than a time, ours and other clients', without this one."""
    ours = _changed_since(project.sessions, moment)
    journals = sum(name.endswith(".jsonl") and name != f"{session}.jsonl" for name in ours)
    return journals + len(_changed_since(project.folder / "hooks", moment))


def _changed_since(folder: Path, moment: float) -> list[str]:
    try:
        with os.scandir(folder) as listing:
            return [item.name for item in listing if item.stat().st_mtime > moment]
    except OSError:
        return []
