"""A dream that cannot lose anything: due, plan, run.

The dreamer works in a copy of the memory and nothing it does is seen until the end. Then its
changes are typed, checked one by one, probed by asking recall the same questions before and after,
and what passed is brought to the live memory in one commit, under the memory's own lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Protocol, TypeAlias

from reverie.context import NotDue
from reverie.errors import ReverieError
from reverie.events import Announce, TroubleNoted, unheard
from reverie.learning.dreaming.changes import Change, Files, Reasons, applied, typed
from reverie.learning.dreaming.checks import (
    Budget,
    CheckContext,
    Judged,
    Objection,
    Said,
    consistent,
    judge,
    nothing_keeps_out,
)
from reverie.learning.dreaming.gates import Due, Gates
from reverie.learning.dreaming.merge import Merge, Reindexed, merged, settled
from reverie.learning.dreaming.probes import Prober, probed
from reverie.learning.dreaming.review import End, Report, Status, Turn, entries_of
from reverie.learning.dreaming.tidy import Flag, no_anchors, tidied
from reverie.memory.format import index as indexes
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.revisions import Author, Revision
from reverie.memory.format.topic import Topic
from reverie.ports import Clock, Scrubber, TopicStore

# --- the seams ---


class Left(Protocol):
    """What a dreamer left in its folder, and what of it cannot be memory."""

    @property
    def files(self) -> Files: ...

    @property
    def refused(self) -> tuple[tuple[str, str], ...]: ...


class ScratchMemory(Protocol):
    """A scratch folder with a copy of the memory."""

    def snapshot(self) -> Files:
        """The live memory, as it is now."""
        ...

    def open(self, files: Files) -> Path: ...

    def write(self, name: str, data: bytes | None) -> None:
        """Make a file of the copy hold this; None removes it."""
        ...

    def read(self) -> Left: ...

    def clear(self) -> None: ...


class HeldLock(Protocol):
    """The lock, while it is ours."""

    @property
    def is_ours(self) -> bool: ...

    def release(self, end: End) -> object:
        """Only a completed dream counts as one."""
        ...


@dataclass(frozen=True, slots=True)
class Branch:
    """What a dreamer gets: a folder to work in, what was there, and a way to say how far it is."""

    folder: Path
    files: Files
    today: date
    write: Callable[[str, bytes | None], None]
    progress: Callable[[Turn], None]
    # The folder as it is now, and a way back to how it was.
    read: Callable[[], Files] = dict
    reset: Callable[[], object] = dict


@dataclass(frozen=True, slots=True)
class Dreamt:
    """Why a dreamer did what it did, by file, what it only noticed, and what a person is told."""

    reasons: Reasons = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()
    notes: tuple[str, ...] = ()
    model: str = ""


Dreamer: TypeAlias = Callable[[Branch], Awaitable[Dreamt]]


async def _half_a_second() -> None:
    await asyncio.sleep(0.5)


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class DreamContext:
    """All that a dream needs from outside."""

    id: str
    pid: int
    workshop: ScratchMemory
    store: TopicStore
    prober: Prober
    scrubber: Scrubber
    clock: Clock
    acquire: Callable[[], HeldLock | NotDue]
    tell: Callable[[Status], None]
    author: Author
    budget: Budget = field(default_factory=Budget)
    review: bool = False
    dry: bool = False
    recalled: Mapping[str, int] = field(default_factory=dict)
    stop: Callable[[], bool] = _never
    pause: Callable[[], Awaitable[None]] = _half_a_second
    announce: Announce = unheard
    # What the person said at a source; None: sources are believed.
    said: Said | None = None
    # The phrase of the person's own that keeps a text out of memory.
    kept_out: Callable[[str], str | None] = nothing_keeps_out
    # None: all memories are asked for, unless there are very many.
    probe_everything: bool | None = None

    @property
    def today(self) -> date:
        return datetime.fromtimestamp(self.clock.now(), UTC).date()


# --- due ---


def due(gates: Gates, *, enabled: bool = True) -> Due | NotDue:
    """Time and sessions; the lock is tried by `run`."""
    return gates.due() if enabled else NotDue("dreams are off")


# --- plan ---


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be made of a dream: its good changes, the index after them, and the rest."""

    judged: Judged
    reindexed: Reindexed


def plan(before: Files, after: Files, reasons: Reasons, desk: DreamContext) -> Plan:
    """Type, check, probe; nothing is written."""
    changes = typed(before, after, reasons)
    bench = CheckContext(before, after, desk.today, desk.scrubber, desk.said, desk.kept_out)
    judged = judge(changes, bench, desk.budget)
    judged = probed(judged, before, desk.today, desk.prober, everything=desk.probe_everything)
    judged = consistent(judged, bench)
    old = before.get(INDEX_FILE, b"")
    wanted = after.get(INDEX_FILE, b"")
    files = applied(before, (c for c in judged.accepted if c.kind != "re-index"))
    index, problem = settled(indexes.parse(old), indexes.parse(wanted), files, desk.recalled)
    return Plan(_with_index(judged, problem), Reindexed(old, index))


def _with_index(judged: Judged, problem: str | None) -> Judged:
    """A change to the index that leads astray is refused; the old one is mended instead."""
    if problem is None:
        return judged
    kept = tuple(change for change in judged.accepted if change.kind != "re-index")
    bad = [change for change in judged.accepted if change.kind == "re-index"]
    return Judged(kept, (*judged.objections, *(Objection(change, problem) for change in bad)))


# --- run ---


async def run(dreamer: Dreamer, desk: DreamContext) -> Report | NotDue:
    """One dream from lock to commit. Failure is a report with its reason, and leaves all as it was."""
    try:
        hold = desk.acquire()
    except ReverieError as error:
        desk.announce(TroubleNoted("dream.lock", repr(error)))
        return NotDue(str(error))
    if isinstance(hold, NotDue):
        return hold
    running = _Running(dreamer, desk, hold)
    try:
        return await running.dream()
    except Exception as error:  # noqa: BLE001 - a dreamer is someone else's code; the lock is ours
        desk.announce(TroubleNoted("dream", repr(error)))
        return running.ended("failed", str(error) or repr(error))
    except asyncio.CancelledError:
        running.ended("killed", "it was stopped")
        raise
    finally:
        # Once released, this does nothing.
        hold.release("failed")
        desk.workshop.clear()


class _Running:
    """The stages of one dream, and what is told about them."""

    def __init__(self, dreamer: Dreamer, desk: DreamContext, hold: HeldLock) -> None:
        self._dreamer = dreamer
        self._desk = desk
        self._hold = hold
        self._status = Status(desk.id, desk.pid, desk.clock.now())

    async def dream(self) -> Report:
        desk = self._desk
        self._tell()
        before = await asyncio.to_thread(desk.workshop.snapshot)
        folder = await asyncio.to_thread(desk.workshop.open, before)
        branch = Branch(
            folder,
            before,
            desk.today,
            desk.workshop.write,
            self._progress,
            read=lambda: desk.workshop.read().files,
            reset=lambda: desk.workshop.open(before),
        )
        dreamt = await self._unless_stopped(branch)
        if dreamt is None:
            return self.ended("killed", "it was stopped by hand")
        left = await asyncio.to_thread(desk.workshop.read)
        made = await asyncio.to_thread(plan, before, left.files, dreamt.reasons, desk)
        if desk.stop():
            return self.ended("killed", "it was stopped by hand")
        report = await asyncio.to_thread(self._brought_home, made)
        report = replace(report, ignored=left.refused, flags=dreamt.flags)
        return self._closed(replace(report, notes=dreamt.notes, model=dreamt.model))

    def _progress(self, turn: Turn) -> None:
        self._status = self._status.with_turn(turn)
        self._tell()

    def _tell(self) -> None:
        """Nobody dreams worse because nobody can be told."""
        try:
            self._desk.tell(self._status)
        except (ReverieError, OSError) as error:
            self._desk.announce(TroubleNoted("dream.status", repr(error)))

    async def _unless_stopped(self, branch: Branch) -> Dreamt | None:
        """What the dreamer says, or None when somebody asked for an end meanwhile."""
        work = asyncio.ensure_future(self._dreamer(branch))
        watch = asyncio.ensure_future(self._stopped())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() and not self._desk.stop() else None
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _stopped(self) -> None:
        while not self._desk.stop():
            await self._desk.pause()

    def _brought_home(self, made: Plan) -> Report:
        """Merge what may be merged, or keep it as a proposal."""
        desk = self._desk
        report = self._report("completed")
        no = made.judged.objections
        if desk.dry or desk.review:
            entries = entries_of(made.judged.accepted, "proposed", (), no)
            return replace(report, entries=entries, dry=desk.dry)
        merge, revision = bring_home(
            made.judged.accepted, desk.store, desk.author, self._hold, made.reindexed
        )
        reindexed = [change for change in made.judged.accepted if change.kind == "re-index"]
        entries = entries_of((*merge.made, *reindexed), "made", merge.waiting, no)
        return replace(report, entries=entries, revision=revision.id if revision else "")

    def _closed(self, report: Report) -> Report:
        # A trial is no dream: the time of the last one stays.
        self._hold.release("failed" if self._desk.dry else "completed")
        self._tell_end("completed", "")
        return report

    def ended(self, state: End, why: str) -> Report:
        """An end that is not the good one; the lock's time stays what it was."""
        self._hold.release(state)
        self._tell_end(state, why)
        return replace(self._report(state), why=why)

    def _tell_end(self, state: End, why: str) -> None:
        self._status = replace(self._status, state=state, why=why)
        self._tell()

    def _report(self, state: End) -> Report:
        return Report(self._desk.id, self._status.began, self._desk.clock.now(), state)


class LockLost(ReverieError):
    """Somebody took the lock over, because this dream took more than an hour."""


def bring_home(
    changes: tuple[Change, ...],
    store: TopicStore,
    author: Author,
    hold: HeldLock,
    reindexed: Reindexed | None = None,
) -> tuple[Merge, Revision | None]:
    """One commit under the memory's lock; where the live file changed too, the change waits."""
    merge = Merge({})

    def planned() -> Mapping[str, bytes | None]:
        nonlocal merge
        if not hold.is_ours:
            raise LockLost("another process took over while this dream was running")
        merge = merged(changes, store.current, reindexed)
        return merge.files

    revision = store.restore(planned, author, _summary(changes))
    return merge, revision


def _summary(changes: tuple[Change, ...]) -> str:
    kinds = [change.kind for change in changes]
    counts = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
    return f"dream: {', '.join(counts)}" if counts else "dream: index mended"


# --- the dreamer without a model ---


def tidy_dreamer(
    anchors: Callable[[Topic], tuple[str, ...]] = no_anchors,
    recalled: Mapping[str, int] | None = None,
) -> Dreamer:
    """A dreamer that does only what is certain."""

    async def dream(branch: Branch) -> Dreamt:
        made = await asyncio.to_thread(tidied, branch.files, branch.today, anchors, recalled)
        touched = sorted(made.reasons)
        for name in touched:
            branch.write(name, made.files.get(name))
        if touched:
            branch.progress(Turn("tidied by rules", len(touched), tuple(touched)))
        return Dreamt(made.reasons, made.flags)

    return dream
