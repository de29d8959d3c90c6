"""Whether to dream, cheapest question first: one stat on an ordinary turn, rarely a scan, then the lock."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from reverie.context import NotDue
from reverie.errors import StorageError
from reverie.files import atomic
from reverie.files.folders import make_private
from reverie.files.locks import Holder, gone, is_alive, started, this_host
from reverie.ports import Clock

HOUR = 3600.0
SCAN_EVERY = 600.0
# Clocks of machines that share a folder differ a little; a time further ahead is no time.
_AHEAD = 300.0

# When a dream was last completed; one stat.
LastDream: TypeAlias = Callable[[], float | None]
# How many other sessions are newer than a moment; a scan.
SessionsSince: TypeAlias = Callable[[float], int]


@dataclass(frozen=True, slots=True)
class Due:
    """It is time: when we last dreamt (None: never), and how many sessions came since."""

    last: float | None
    sessions: int


@dataclass(frozen=True, slots=True)
class Thresholds:
    hours: float = 24.0
    sessions: int = 5


@dataclass(slots=True)
class Gates:
    """The first two gates of one session; the third is the lock itself."""

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
    """The time gate; a last dream in the future is a clock that was wrong, and closes nothing."""
    if last is None or last > now + _AHEAD or now - last >= hours * HOUR:
        return None
    return NotDue(f"the last dream was {max(0.0, now - last) / HOUR:.1f} h ago, under {hours:g} h")


FILE = ".consolidate-lock"

End = Literal["completed", "failed", "killed"]

_NEVER = 0
# How often somebody else may replace the file between our opening and locking it.
_TRIES = 1_000


@dataclass(frozen=True, slots=True)
class Busy:
    """Somebody else dreams."""

    holder: Holder

    @property
    def reason(self) -> str:
        where = "" if self.holder.host in ("", this_host()) else f" on {self.holder.host}"
        return f"process {self.holder.pid}{where} is dreaming"


class Held:
    """The lock, ours until it is released; released once, whatever is called how often."""

    def __init__(self, lock: ConsolidateLock, holder: Holder) -> None:
        self._lock = lock
        self.holder = holder

    @property
    def is_ours(self) -> bool:
        """False once somebody took it over, because we took too long."""
        return self._lock.holder() == self.holder

    def release(self, end: End) -> bool:
        """Completed: we last dreamt now. Otherwise the time stays what it was."""
        return self._lock.released(self.holder, end)


class ConsolidateLock:
    """The lock of one memory directory."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock

    def last_dream(self) -> float | None:
        """One stat: when a dream was last completed."""
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
        """Take it if nobody alive holds it."""
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
        """Give it back; False when it was no longer this holder's."""
        with self._alone() as (body, mtime):
            if Holder.parse(body) != holder:
                return False
            now = int(self._clock.now() * 1e9)
            self._replace(b"", now if end == "completed" else mtime)
        return True

    @contextmanager
    def _alone(self) -> Iterator[tuple[bytes, int]]:
        """The file's body and time while nobody else can replace it."""
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
                # Writable: over NFS only such a file can be locked between hosts.
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
            # Somebody replaced it while we waited: what we hold is the lock of the old file.
            os.close(file)
        raise OSError(errno.EBUSY, "it is replaced faster than it can be locked")

    def _create(self) -> None:
        """A lock of nobody, who never dreamt; the first to link it wins, and all are content."""
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
        """Drafts of processes that died here; another host sweeps its own."""
        for left in self.path.parent.glob(f"{FILE}.{this_host()}.*.*"):
            pid = left.name.split(".")[-2]
            if pid.isdecimal() and not is_alive(int(pid)):
                left.unlink(missing_ok=True)
