"""A dream that loses nothing: due, plan, run.

The dreamer works in a copy of the memory. When it is done, its changes are typed, checked one by one
and probed by asking recall the same questions before and after. The changes that pass are merged
into the live memory in one commit, under the memory's own lock.
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
from reverie.events import Announce, TroubleNoted, no_listener
from reverie.learning.dreaming.changes import (
    Change,
    Files,
    Merge,
    Reasons,
    Reindexed,
    RuledCues,
    applied,
    merged,
    settled,
    typed,
)
from reverie.learning.dreaming.checks import CheckContext, Objection, Said, nothing_keeps_out
from reverie.learning.dreaming.gates import Due, Gates
from reverie.learning.dreaming.judging import Budget, Judged, Prober, consistent, judge, probed
from reverie.learning.dreaming.review import End, Report, Status, Turn, entries_of
from reverie.learning.dreaming.tidy import Flag, no_anchors, tidied
from reverie.memory.format import index as indexes
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.revisions import Author, Revision
from reverie.memory.format.topic import Topic
from reverie.ports import Clock, Scrubber, TopicStore

# --- interfaces ---


class ScratchContent(Protocol):
    """The files in a dreamer's folder, and those that were refused, with the reasons."""

    @property
    def files(self) -> Files: ...

    @property
    def refused(self) -> tuple[tuple[str, str], ...]: ...


class ScratchMemory(Protocol):
    """A scratch folder with a copy of the memory."""

    def snapshot(self) -> Files:
        """Read the live memory."""
        ...

    def open(self, files: Files) -> Path: ...

    def write(self, name: str, data: bytes | None) -> None:
        """Write a file of the copy; None removes it."""
        ...

    def read(self) -> ScratchContent: ...

    def clear(self) -> None: ...


class HeldLock(Protocol):
    """The acquired consolidation lock."""

    @property
    def is_ours(self) -> bool: ...

    def release(self, end: End) -> object:
        """Release the lock; only a completed dream updates the time of the last dream."""
        ...


@dataclass(frozen=True, slots=True)
class Branch:
    """What a dreamer gets: a folder to work in, its initial files, and callbacks."""

    folder: Path
    files: Files
    today: date
    write: Callable[[str, bytes | None], None]
    progress: Callable[[Turn], None]
    # Reads the folder as it is now; resets it to its initial files.
    read: Callable[[], Files] = dict
    reset: Callable[[], object] = dict


@dataclass(frozen=True, slots=True)
class Dreamt:
    """A dreamer's result: reasons by file, flags for a person or model, and notes for the report."""

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
    """The dependencies and settings of one dream."""

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
    announce: Announce = no_listener
    # Looks up what the person said at a source; None trusts all sources.
    said: Said | None = None
    # Returns the phrase in the person's learning.md that keeps a text out of memory.
    kept_out: Callable[[str], str | None] = nothing_keeps_out
    # None probes all memories, unless there are very many.
    probe_everything: bool | None = None
    # The cues that earlier dreams gave each file by rules.
    ruled: RuledCues = field(default_factory=dict)

    @property
    def today(self) -> date:
        return datetime.fromtimestamp(self.clock.now(), UTC).date()


# --- due ---


def due(gates: Gates, *, enabled: bool = True) -> Due | NotDue:
    """Check the gates of time and sessions; `run` tries the lock."""
    return gates.due() if enabled else NotDue("dreams are off")


# --- plan ---


@dataclass(frozen=True, slots=True)
class Plan:
    """The judged changes of a dream, and the index after the accepted ones."""

    judged: Judged
    reindexed: Reindexed


def plan(before: Files, after: Files, reasons: Reasons, context: DreamContext) -> Plan:
    """Type, check and probe the changes; writes nothing."""
    changes = typed(before, after, reasons)
    check_context = CheckContext(
        before,
        after,
        context.today,
        context.scrubber,
        context.said,
        context.kept_out,
        context.ruled,
    )
    judged = judge(changes, check_context, context.budget)
    judged = probed(
        judged, before, context.today, context.prober, everything=context.probe_everything
    )
    judged = consistent(judged, check_context)
    old = before.get(INDEX_FILE, b"")
    wanted = after.get(INDEX_FILE, b"")
    files = applied(before, (c for c in judged.accepted if c.kind != "re-index"))
    index, problem = settled(indexes.parse(old), indexes.parse(wanted), files, context.recalled)
    return Plan(_with_index(judged, problem), Reindexed(old, index))


def _with_index(judged: Judged, problem: str | None) -> Judged:
    """Refuse a change to the index that has a problem; the old index is repaired instead."""
    if problem is None:
        return judged
    kept = tuple(change for change in judged.accepted if change.kind != "re-index")
    bad = [change for change in judged.accepted if change.kind == "re-index"]
    return Judged(kept, (*judged.objections, *(Objection(change, problem) for change in bad)))


# --- run ---


@dataclass(frozen=True, slots=True)
class Hindered(NotDue):
    """A dream is wanted, but memory cannot be locked: a full or read-only disk."""


async def run(dreamer: Dreamer, context: DreamContext) -> Report | NotDue:
    """Run one dream from lock to commit. A failure is a report with its reason and changes nothing."""
    try:
        lock = context.acquire()
    except ReverieError as error:
        context.announce(TroubleNoted("dream.lock", repr(error)))
        return Hindered(str(error))
    if isinstance(lock, NotDue):
        return lock
    running = _DreamRun(dreamer, context, lock)
    try:
        return await running.dream()
    except Exception as error:  # noqa: BLE001 - a dreamer may raise anything; the lock must be released
        context.announce(TroubleNoted("dream", repr(error)))
        return running.ended("failed", str(error) or repr(error))
    except asyncio.CancelledError:
        running.ended("killed", "it was stopped")
        raise
    finally:
        # A second release does nothing.
        lock.release("failed")
        context.workshop.clear()


class _DreamRun:
    """The stages of one dream, and its status file."""

    def __init__(self, dreamer: Dreamer, context: DreamContext, lock: HeldLock) -> None:
        self._dreamer = dreamer
        self._context = context
        self._lock = lock
        self._status = Status(context.id, context.pid, context.clock.now())

    async def dream(self) -> Report:
        context = self._context
        self._write_status()
        before = await asyncio.to_thread(context.workshop.snapshot)
        folder = await asyncio.to_thread(context.workshop.open, before)
        branch = Branch(
            folder,
            before,
            context.today,
            context.workshop.write,
            self._progress,
            read=lambda: context.workshop.read().files,
            reset=lambda: context.workshop.open(before),
        )
        result = await self._unless_stopped(branch)
        if result is None:
            return self.ended("killed", "it was stopped by hand")
        content = await asyncio.to_thread(context.workshop.read)
        plan_ = await asyncio.to_thread(plan, before, content.files, result.reasons, context)
        if context.stop():
            return self.ended("killed", "it was stopped by hand")
        report = await asyncio.to_thread(self._merge, plan_)
        report = replace(report, ignored=content.refused, flags=result.flags)
        return self._completed(replace(report, notes=result.notes, model=result.model))

    def _progress(self, turn: Turn) -> None:
        self._status = self._status.with_turn(turn)
        self._write_status()

    def _write_status(self) -> None:
        """Write the status; a failure here must not fail the dream."""
        try:
            self._context.tell(self._status)
        except (ReverieError, OSError) as error:
            self._context.announce(TroubleNoted("dream.status", repr(error)))

    async def _unless_stopped(self, branch: Branch) -> Dreamt | None:
        """Run the dreamer; None when a stop was requested meanwhile."""
        work = asyncio.ensure_future(self._dreamer(branch))
        watch = asyncio.ensure_future(self._stopped())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() and not self._context.stop() else None
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _stopped(self) -> None:
        while not self._context.stop():
            await self._context.pause()

    def _merge(self, plan_: Plan) -> Report:
        """Merge the accepted changes, or keep them as proposals."""
        context = self._context
        report = self._report("completed")
        objections = plan_.judged.objections
        if context.dry or context.review:
            entries = entries_of(plan_.judged.accepted, "proposed", (), objections)
            return replace(report, entries=entries, dry=context.dry)
        merge, revision = merge_into_live(
            plan_.judged.accepted, context.store, context.author, self._lock, plan_.reindexed
        )
        reindexed = [change for change in plan_.judged.accepted if change.kind == "re-index"]
        entries = entries_of((*merge.made, *reindexed), "made", merge.waiting, objections)
        return replace(report, entries=entries, revision=revision.id if revision else "")

    def _completed(self, report: Report) -> Report:
        # A dry run must not update the time of the last dream.
        self._lock.release("failed" if self._context.dry else "completed")
        self._write_end("completed", "")
        return report

    def ended(self, state: End, why: str) -> Report:
        """End without success; the time of the last dream stays."""
        self._lock.release(state)
        self._write_end(state, why)
        return replace(self._report(state), why=why)

    def _write_end(self, state: End, why: str) -> None:
        self._status = replace(self._status, state=state, why=why)
        self._write_status()

    def _report(self, state: End) -> Report:
        return Report(self._context.id, self._status.began, self._context.clock.now(), state)


class LockLost(ReverieError):
    """Another process took over the lock, because this dream took more than an hour."""


def merge_into_live(
    changes: tuple[Change, ...],
    store: TopicStore,
    author: Author,
    lock: HeldLock,
    reindexed: Reindexed | None = None,
) -> tuple[Merge, Revision | None]:
    """Commit the changes under the memory's lock; where a live file changed too, the change waits."""
    merge = Merge({})

    def planned() -> Mapping[str, bytes | None]:
        nonlocal merge
        if not lock.is_ours:
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
    ruled: RuledCues | None = None,
) -> Dreamer:
    """A dreamer without a model, which makes only certain changes."""

    async def dream(branch: Branch) -> Dreamt:
        result = await asyncio.to_thread(
            tidied, branch.files, branch.today, anchors, recalled, ruled
        )
        touched = sorted(result.reasons)
        for name in touched:
            branch.write(name, result.files.get(name))
        if touched:
            branch.progress(Turn("tidied by rules", len(touched), tuple(touched)))
        return Dreamt(result.reasons, result.flags)

    return dream
