"""The dream service: running a dream, stored reports and their review."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reverie.context import NotDue
from reverie.core.usage import DREAM
from reverie.errors import InputError, ReverieError
from reverie.events import Announce, no_listener
from reverie.files.atomic import read_json, write_json
from reverie.files.locks import gone
from reverie.learning.dreaming import facts
from reverie.learning.dreaming.changes import Change, RuledCues, ruled_cues
from reverie.learning.dreaming.dream import (
    DreamContext,
    Dreamer,
    HeldLock,
    merge_into_live,
    run,
    tidy_dreamer,
)
from reverie.learning.dreaming.dreamer import Surroundings, dreamer_of
from reverie.learning.dreaming.gates import DREAMS, Busy, ConsolidateLock, lock_of
from reverie.learning.dreaming.judging import Budget, open_prober
from reverie.learning.dreaming.log import Undistilled, log_dreamer, mark_distilled, undistilled
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
from reverie.learning.side_models import choose_model, fresh_agents
from reverie.memory.directory import Scratch
from reverie.memory.format.revisions import Author, Revision
from reverie.memory.uses import UseCounts
from reverie.models.selection import OFFLINE
from reverie.recall import attachment as anchors
from reverie.recall.service import choose_embedder

if TYPE_CHECKING:
    from reverie.agent.fork import Finished, Forks, SideAgents, Task
    from reverie.core.usage import Entry
    from reverie.memory.format.topic import Topic
    from reverie.memory.opening import OpenMemory
    from reverie.memory.store import FileStore
    from reverie.ports import Clock
    from reverie.workspace import Workspace

BRANCHES = "branches"
STATUS = "status.json"
STOP = "stop"


# --- a dream ---


@dataclass(frozen=True, slots=True)
class DreamOptions:
    """How to dream: as a fork of a conversation or not, and with a model or not.

    `review` leaves the changes as proposals; `dry` runs the rules and changes nothing.
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
    announce: Announce = no_listener,
) -> Report | NotDue:
    """Dream now, regardless of the gates, and store the report. Only one dream runs at a time.

    Chat, command line, timer and daemon all use this function. The side model dreams, or the main
    one (as a fork, if there is a conversation), or the rules alone; `dreamer` replaces them all.
    """
    now = app.clock.now()
    id_ = f"{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    log = undistilled(app, memory)
    paid_before = len(_paid(app))
    with _dream_context(app, memory, id_, log, announce) as context:
        context = replace(context, review=options.review or context.review, dry=options.dry)
        choice = _DreamerChoice(app, memory, context, log)
        report = await run(dreamer or choice.dreamer(options), context)
    facts.forget()
    if isinstance(report, NotDue):
        return report
    notes = (*report.notes, *choice.notes)
    report = replace(report, notes=notes, cost=_cost(_paid(app)[paid_before:]))
    report = without_secrets(report, memory.scrubber)
    if not options.dry:
        keep(memory, report)
        if report.state == "completed" and log.entries:
            read_all = bool(report.model) or not choice.asked
            mark_distilled(memory, report, log.entries, read_all=read_all)
    return report


def _paid(app: Workspace) -> list[Entry]:
    return [entry for entry in app.ledger.entries() if entry.purpose == DREAM]


def _cost(entries: Sequence[Entry]) -> float | None:
    """The sum in dollars; None when the price of a call is not known."""
    costs = [entry.cost for entry in entries]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


@dataclass(slots=True)
class _DreamerChoice:
    """Chooses the dreamer: a model followed by the rules, or the rules alone."""

    app: Workspace
    memory: OpenMemory
    context: DreamContext
    log: Undistilled
    # Whether a model was meant to be used.
    asked: bool = False
    notes: tuple[str, ...] = ()

    def dreamer(self, options: DreamOptions) -> Dreamer:
        instructions = instructions_for(self.app.settings, self.memory)
        self.notes = instructions.notes
        if self.log.waiting:
            note = f"{self.log.waiting} entries of the daily log wait for the next dream"
            self.notes = (*self.notes, note)
        tidy = tidy_dreamer(self._anchors, self.context.recalled, self.context.ruled)
        rules = tidy
        if self.log.entries:
            rules = log_dreamer(self.log.entries, instructions.keeps_out, tidy)
        agents, model = self._agents(options)
        if agents is None:
            return rules
        self.asked = True
        around = Surroundings(
            self.app.project.sessions,
            self.memory.place.directory,
            self.log.entries,
            instructions.section,
        )
        return dreamer_of(agents, around, model, after=tidy, instead=rules)

    def _agents(self, options: DreamOptions) -> tuple[SideAgents | None, str]:
        """The agents and their model; the main model runs as a fork to share the conversation's cache."""
        choice, forks = choose_model(self.app, DREAM, use_model=options.use_model), options.forks
        if options.dry or not options.use_model:
            return None, ""
        if forks is not None and self.app.settings.model("side") == OFFLINE:
            return forks, forks.conversation.model.name
        if not choice.model:
            return None, ""
        return _LazyAgents(
            self.app, choice.model, f"dream-{self.context.id}", self.context.announce
        ), choice.model

    def _anchors(self, topic: Topic) -> tuple[str, ...]:
        return anchors.check(topic.anchors, self.app.project.root)


@dataclass(frozen=True, slots=True)
class _LazyAgents:
    """Opens the model only when the dream runs it, so that failing to open is a failure of the model."""

    app: Workspace
    model: str
    session: str
    announce: Announce

    async def run(self, task: Task, hear: Announce = no_listener) -> Finished:
        folder = self.app.project.sessions / self.session / "forks"
        async with fresh_agents(
            self.app, self.model, self.session, folder, self.announce
        ) as agents:
            return await agents.run(task, hear)


@contextmanager
def _dream_context(
    app: Workspace, memory: OpenMemory, id_: str, log: Undistilled, announce: Announce
) -> Iterator[DreamContext]:
    folder = memory.place.state / DREAMS
    scratch = Scratch(folder / BRANCHES / id_, memory.store)
    with open_prober(scratch, app.clock, choose_embedder(app, announce=announce)) as prober:
        yield DreamContext(
            id=id_,
            pid=os.getpid(),
            workshop=scratch,
            store=memory.store,
            prober=prober,
            scrubber=memory.scrubber,
            clock=app.clock,
            acquire=partial(acquired, lock_of(memory.place, app.clock), memory.store),
            tell=lambda status: write_json(folder / STATUS, status_json(status)),
            author=Author("dream", dream=id_),
            budget=Budget(cast("float", app.settings["dream.loss_share"])),
            review=app.settings.flag("dream.review"),
            recalled=UseCounts(memory.place.state, app.clock).counts("used"),
            stop=lambda: _read_text(folder / STOP) == id_,
            announce=announce,
            said=SourceReader(app.project, (entry.said for entry in log.entries)),
            kept_out=instructions_for(app.settings, memory).excluded,
            ruled=_ruled(memory),
        )


def _ruled(memory: OpenMemory) -> RuledCues:
    """The cues that rules wrote in stored dreams; unreadable reports are skipped."""
    made: list[Change] = []
    for id_ in dreams(memory):
        with suppress(InputError):
            report = report_of(memory, id_)
            made += (*report.with_standing("made"), *report.with_standing("approved"))
    return ruled_cues(made)


def acquired(lock: ConsolidateLock, store: FileStore) -> HeldLock | NotDue:
    """The lock of this machine; for a memory that a service keeps, its lease as well."""
    taken = lock.acquire()
    if isinstance(taken, Busy):
        return NotDue(taken.reason)
    try:
        both = store.leased(taken)
    except ReverieError:
        taken.release("failed")
        raise
    if both is None:
        taken.release("failed")
        return NotDue("a dream of this memory runs on another machine")
    return both


def _read_text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


# --- stored reports and their review ---


def keep(memory: OpenMemory, report: Report) -> None:
    write_json(_folder(memory) / f"{report.id}.json", report_json(report))


def report_of(memory: OpenMemory, id_: str | None = None) -> Report:
    """The report of a dream by its id, or of the last one."""
    names = dreams(memory)
    if not names:
        raise InputError("there was no dream yet; `reverie dream` makes one")
    wanted = id_ or names[-1]
    if wanted not in names:
        raise InputError(f"no dream {wanted!r} here; the last ones: {', '.join(names[-5:])}")
    data = read_json(_folder(memory) / f"{wanted}.json")
    return parse_report(data if isinstance(data, dict) else {})


def dreams(memory: OpenMemory) -> list[str]:
    """Ids of the stored dreams, oldest first."""
    found = (path.stem for path in _folder(memory).glob("*.json") if path.name != STATUS)
    return sorted(name for name in found if not name.startswith("."))


def approve(
    app: Workspace, memory: OpenMemory, id_: str, ids: Sequence[str]
) -> tuple[Report, Revision | None]:
    """Make the changes that a person approved, where the live files allow it; the rest stays open."""
    report = report_of(memory, id_)
    wanted = chosen(report, ids)
    lock = lock_of(memory.place, app.clock)
    held = acquired(lock, memory.store)
    if isinstance(held, NotDue):
        raise InputError(f"{held.reason}; try again when it is over")
    try:
        author = Author("dream", dream=report.id)
        merge, revision = merge_into_live(wanted, memory.store, author, held)
    finally:
        held.release("failed")
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


def settle(
    app: Workspace, memory: OpenMemory, id_: str, accepted: Sequence[str], rejected: Sequence[str]
) -> Report:
    """Make the accepted changes in one commit, and drop the rejected ones."""
    # Unknown ids are refused before anything is done.
    chosen(report_of(memory, id_), (*accepted, *rejected))
    if rejected:
        reject(memory, id_, rejected)
    if accepted:
        approve(app, memory, id_, accepted)
    return report_of(memory, id_)


def status_of(memory: OpenMemory, clock: Clock) -> Status | None:
    """The status of the running or the last dream; a dream whose process died has failed."""
    found = parse_status(read_json(_folder(memory) / STATUS))
    if found is None or found.state != "running":
        return found
    holder = lock_of(memory.place, clock).holder()
    if holder is None or holder.pid != found.pid or gone(holder, clock.now()):
        return replace(found, state="failed", why="its process died")
    return found


def stop(memory: OpenMemory, clock: Clock) -> str:
    """Ask the running dream to stop, which it does within a second."""
    status = status_of(memory, clock)
    if status is None or status.state != "running":
        raise InputError("no dream is running here")
    (_folder(memory) / STOP).write_text(status.id)
    return status.id


def _folder(memory: OpenMemory) -> Path:
    return memory.place.state / DREAMS
