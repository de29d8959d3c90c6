"""Dreams put together: the lock, the scratch folder, recall as the judge, and what is kept of each."""

from __future__ import annotations

import os
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reverie.context import NotDue
from reverie.core.usage import DREAM
from reverie.errors import InputError
from reverie.events import Announce, unheard
from reverie.files.folders import make_private
from reverie.files.json_files import read_json, write_json
from reverie.files.locks import gone
from reverie.learning.dreaming import facts
from reverie.learning.dreaming.checks import Budget
from reverie.learning.dreaming.daily_log import Undistilled, mark_distilled, undistilled
from reverie.learning.dreaming.dream import (
    DreamContext,
    Dreamer,
    HeldLock,
    bring_home,
    run,
    tidy_dreamer,
)
from reverie.learning.dreaming.gates import FILE, Busy, ConsolidateLock, Due, Gates, Thresholds
from reverie.learning.dreaming.in_session import dreamer_of
from reverie.learning.dreaming.log import log_dreamer
from reverie.learning.dreaming.prompts import Surroundings
from reverie.learning.dreaming.review import (
    Report,
    Status,
    chosen,
    parse_report,
    parse_status,
    report_json,
    status_json,
    without_secrets,
)
from reverie.learning.service import SourceReader, instructions_for
from reverie.learning.side_models import fresh_agents, means_for
from reverie.memory.format.manifest import is_index
from reverie.memory.format.revisions import Author, Revision, version
from reverie.memory.scratch import Scratch
from reverie.memory.uses import UseCounts
from reverie.models.selection import OFFLINE
from reverie.recall import attachment as anchors
from reverie.recall import lexical as queries
from reverie.recall.documents import MemoryDoc, Signature
from reverie.recall.index import RecallIndex
from reverie.recall.service import EmbedderChoice, chosen_meaning

if TYPE_CHECKING:
    from reverie.agent.fork import Forks, SideAgents, Task
    from reverie.agent.turns import Finished
    from reverie.core.usage import Entry
    from reverie.learning.dreaming.probes import Search
    from reverie.memory.format.topic import Topic
    from reverie.memory.locations import MemoryLocation
    from reverie.memory.opening import OpenMemory
    from reverie.ports import Clock, Embedder
    from reverie.settings.projects import Project
    from reverie.workspace import Workspace

DREAMS = "dreams"
BRANCHES = "branches"
STATUS = "status.json"
STOP = "stop"
TRIED = "tried"
REST_SECONDS = 3_600.0


# --- gates ---


def lock_of(place: MemoryLocation, clock: Clock) -> ConsolidateLock:
    """In our own directory; never inside another client's."""
    ours = place.directory.parent == place.state
    return ConsolidateLock((place.directory if ours else place.state) / FILE, clock)


def gates_for(app: Workspace, memory: OpenMemory, session: str = "") -> Gates:
    """To be kept for a session and asked at the end of every turn."""
    hours, sessions = app.settings["dream.hours"], app.settings["dream.sessions"]
    return Gates(
        lock_of(memory.place, app.clock).last_dream,
        partial(_sessions_since, app.project, session),
        app.clock,
        Thresholds(cast("float", hours), cast("int", sessions)),
    )


def gate_with_rest(app: Workspace, memory: OpenMemory, session: str) -> Callable[[], Due | NotDue]:
    """The gates for the end of a turn: after a dream that did not end well, an hour of rest.

    A dream that is stopped each time somebody leaves would otherwise be paid for again and again.
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
    """Sessions newer than a moment, ours and other clients'; this session's own left out."""
    ours = _changed_since(project.sessions, moment)
    journals = sum(name.endswith(".jsonl") and name != f"{session}.jsonl" for name in ours)
    return journals + len(_changed_since(project.folder / "hooks", moment))


def _changed_since(folder: Path, moment: float) -> list[str]:
    try:
        with os.scandir(folder) as listing:
            return [item.name for item in listing if item.stat().st_mtime > moment]
    except OSError:
        return []


# --- a dream ---


@dataclass(frozen=True, slots=True)
class DreamOptions:
    """How to dream: on whose conversation, if any, with a model or not, and what becomes of it.

    `review` leaves the changes as a proposal; `dry` is a trial by rules that changes nothing.
    """

    forks: Forks | None = None
    use_model: bool = True
    review: bool = False
    dry: bool = False


_USUAL = DreamOptions()


async def dream(
    app: Workspace,
    memory: OpenMemory,
    options: DreamOptions = _USUAL,
    *,
    dreamer: Dreamer | None = None,
    announce: Announce = unheard,
) -> Report | NotDue:
    """Dream now, whatever the gates say; only one at a time. What became of it is kept.

    The one way for chat, the command line, its timer and the daemon. The side model dreams, or the
    main one (as a fork, where there is a conversation), or the rules alone. `dreamer` is for whoever
    brings their own.
    """
    now = app.clock.now()
    made = f"{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    log = undistilled(app, memory)
    paid_before = len(_paid(app))
    with _desk(app, memory, made, log, announce) as desk:
        desk = replace(desk, review=options.review or desk.review, dry=options.dry)
        mind = _Mind(app, memory, desk, log)
        report = await run(dreamer or mind.dreamer(options), desk)
    facts.forget()
    if isinstance(report, NotDue):
        return report
    notes = (*report.notes, *mind.notes)
    report = replace(report, notes=notes, cost=_cost(_paid(app)[paid_before:]))
    report = without_secrets(report, memory.scrubber)
    if not options.dry:
        keep(memory, report)
        if report.state == "completed" and log.entries:
            read_all = bool(report.model) or not mind.asked
            mark_distilled(memory, report, log.entries, read_all=read_all)
    return report


def _paid(app: Workspace) -> list[Entry]:
    return [entry for entry in app.ledger.entries() if entry.purpose == DREAM]


def _cost(entries: Sequence[Entry]) -> float | None:
    """Dollars; None when the price of a call is not known."""
    costs = [entry.cost for entry in entries]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


@dataclass(slots=True)
class _Mind:
    """Who dreams: a model with the rules around it, or the rules alone."""

    app: Workspace
    memory: OpenMemory
    desk: DreamContext
    log: Undistilled
    # Was a model to be asked?
    asked: bool = False
    notes: tuple[str, ...] = ()

    def dreamer(self, options: DreamOptions) -> Dreamer:
        instructions = instructions_for(self.app.settings, self.memory)
        self.notes = instructions.notes
        if self.log.waiting:
            left = f"{self.log.waiting} entries of the daily log wait for the next dream"
            self.notes = (*self.notes, left)
        tidy = tidy_dreamer(self._anchors, self.desk.recalled)
        alone = tidy
        if self.log.entries:
            alone = log_dreamer(self.log.entries, instructions.keeps_out, tidy)
        agents, model = self._agents(options)
        if agents is None:
            return alone
        self.asked = True
        around = Surroundings(
            self.app.project.sessions,
            self.memory.place.directory,
            self.log.entries,
            instructions.section,
        )
        return dreamer_of(agents, around, model, after=tidy, instead=alone)

    def _agents(self, options: DreamOptions) -> tuple[SideAgents | None, str]:
        """A fork shares the conversation's cache, so the main model dreams as one; the side model has none."""
        means, forks = means_for(self.app, DREAM, use_model=options.use_model), options.forks
        if options.dry or not options.use_model:
            return None, ""
        if forks is not None and self.app.settings.model("side") == OFFLINE:
            return forks, forks.conversation.model.name
        if not means.model:
            return None, ""
        return _OnDemand(
            self.app, means.model, f"dream-{self.desk.id}", self.desk.announce
        ), means.model

    def _anchors(self, topic: Topic) -> tuple[str, ...]:
        return anchors.check(topic.anchors, self.app.project.root)


@dataclass(frozen=True, slots=True)
class _OnDemand:
    """A model that is opened when the dream gets to it: one that cannot be opened has failed there."""

    app: Workspace
    model: str
    session: str
    announce: Announce

    async def run(self, task: Task, hear: Announce = unheard) -> Finished:
        folder = self.app.project.sessions / self.session / "forks"
        async with fresh_agents(
            self.app, self.model, self.session, folder, self.announce
        ) as agents:
            return await agents.run(task, hear)


@contextmanager
def _desk(
    app: Workspace, memory: OpenMemory, id_: str, log: Undistilled, announce: Announce
) -> Iterator[DreamContext]:
    folder = memory.place.state / DREAMS
    scratch = Scratch(folder / BRANCHES / id_, memory.store)
    with open_prober(scratch, app.clock, chosen_meaning(app, announce=announce)) as prober:
        yield DreamContext(
            id=id_,
            pid=os.getpid(),
            workshop=scratch,
            store=memory.store,
            prober=prober,
            scrubber=memory.scrubber,
            clock=app.clock,
            acquire=partial(acquired, lock_of(memory.place, app.clock)),
            tell=lambda status: write_json(folder / STATUS, status_json(status)),
            author=Author("dream", dream=id_),
            budget=Budget(cast("float", app.settings["dream.loss_share"])),
            review=app.settings.flag("dream.review"),
            recalled=UseCounts(memory.place.state, app.clock).counts("used"),
            stop=lambda: _said(folder / STOP) == id_,
            announce=announce,
            said=SourceReader(app.project, (entry.said for entry in log.entries)),
            kept_out=instructions_for(app.settings, memory).excluded,
        )


def acquired(lock: ConsolidateLock) -> HeldLock | NotDue:
    taken = lock.acquire()
    return NotDue(taken.reason) if isinstance(taken, Busy) else taken


def _said(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


# --- recall as the judge ---


class RecallProber:
    """Two indexes of their own, made of snapshots: the live one goes on being used by others."""

    def __init__(
        self, scratch: Scratch, clock: Clock, folder: Path, embedder: Embedder | None
    ) -> None:
        self._scratch = scratch
        self._now = clock.now()
        self._folder = folder
        self._embedder = embedder
        self._files: Mapping[str, bytes] = {}
        self._open: list[RecallIndex] = []
        self._first: Search | None = None

    def before(self) -> Search:
        if self._first is None:
            self._files = self._scratch.opened
            self._first = self._searching(self._indexed(self._path("before"), self._files))
        return self._first

    def after(self, files: Mapping[str, bytes | None]) -> Search:
        self.before()
        path = self._path(f"after-{len(self._open)}")
        with (
            closing(sqlite3.connect(self._path("before"))) as old,
            closing(sqlite3.connect(path)) as new,
        ):
            old.backup(new)
        changed = {**self._files, **files}
        present = {name: data for name, data in changed.items() if data is not None}
        return self._searching(self._indexed(path, present))

    def close(self) -> None:
        for index in self._open:
            index.close()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sqlite"

    def _indexed(self, path: Path, files: Mapping[str, bytes]) -> RecallIndex:
        index = RecallIndex.open(path, self._embedder)
        self._open.append(index)
        listing = {name: _signature(data) for name, data in files.items() if not is_index(name)}
        index.refresh(
            listing, lambda name: MemoryDoc.of(facts.parsed(files[name], name), listing[name])
        )
        return index

    def _searching(self, index: RecallIndex) -> Search:
        def search(question: str, limit: int) -> Sequence[str]:
            found = index.search(queries.plain(question), now=self._now, limit=limit)
            return [hit.key for hit in found.hits]

        return search


@lru_cache(maxsize=16_384)
def _signature(data: bytes) -> Signature:
    return (0, len(data), int(version(data)[:15], 16))


@contextmanager
def open_prober(scratch: Scratch, clock: Clock, meaning: EmbedderChoice) -> Iterator[RecallProber]:
    """The prober of one dream; its indexes are gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        prober = RecallProber(scratch, clock, Path(folder), meaning.embedder)
        try:
            yield prober
        finally:
            prober.close()
            meaning.close()


# --- what is kept, and what a person says to it ---


def keep(memory: OpenMemory, report: Report) -> None:
    write_json(_folder(memory) / f"{report.id}.json", report_json(report))


def report_of(memory: OpenMemory, id_: str | None = None) -> Report:
    """A dream by its id, or the last one."""
    names = dreams(memory)
    if not names:
        raise InputError("there was no dream yet; `reverie dream` makes one")
    wanted = id_ or names[-1]
    if wanted not in names:
        raise InputError(f"no dream {wanted!r} here; the last ones: {', '.join(names[-5:])}")
    data = read_json(_folder(memory) / f"{wanted}.json")
    return parse_report(data if isinstance(data, dict) else {})


def dreams(memory: OpenMemory) -> list[str]:
    """Ids of the dreams that are kept, oldest first."""
    found = (path.stem for path in _folder(memory).glob("*.json") if path.name != STATUS)
    return sorted(name for name in found if not name.startswith("."))


def approve(
    app: Workspace, memory: OpenMemory, id_: str, ids: Sequence[str]
) -> tuple[Report, Revision | None]:
    """Make the changes a person agreed to, where the live files allow it; the rest stays open."""
    report = report_of(memory, id_)
    wanted = chosen(report, ids)
    lock = lock_of(memory.place, app.clock)
    hold = acquired(lock)
    if isinstance(hold, NotDue):
        raise InputError(f"{hold.reason}; try again when it is over")
    try:
        author = Author("dream", dream=report.id)
        merge, revision = bring_home(wanted, memory.store, author, hold)
    finally:
        hold.release("failed")
    indexed = [change.id for change in wanted if change.kind == "re-index"]
    done = report.decided([*(change.id for change in merge.made), *indexed], "approved")
    done = done.decided((change.id for change in merge.waiting), "waiting")
    keep(memory, done)
    return done, revision


def reject(memory: OpenMemory, id_: str, ids: Sequence[str]) -> Report:
    report = report_of(memory, id_)
    done = report.decided((change.id for change in chosen(report, ids)), "rejected")
    keep(memory, done)
    return done


def status_of(memory: OpenMemory, clock: Clock) -> Status | None:
    """How far the running dream is, or how the last one ended; one whose process died has failed."""
    found = parse_status(read_json(_folder(memory) / STATUS))
    if found is None or found.state != "running":
        return found
    holder = lock_of(memory.place, clock).holder()
    if holder is None or holder.pid != found.pid or gone(holder, clock.now()):
        return replace(found, state="failed", why="its process died")
    return found


def stop(memory: OpenMemory, clock: Clock) -> str:
    """Ask the running dream to end; it does so within a second."""
    status = status_of(memory, clock)
    if status is None or status.state != "running":
        raise InputError("no dream is running here")
    (_folder(memory) / STOP).write_text(status.id)
    return status.id


def _folder(memory: OpenMemory) -> Path:
    return memory.place.state / DREAMS
