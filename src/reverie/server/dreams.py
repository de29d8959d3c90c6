"""Dreams on workers: under a lease in the database, on a copy, merged in one transaction."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from psycopg.types.json import Jsonb

from reverie.agent.fork import Task
from reverie.context import NotDue
from reverie.errors import ReverieError
from reverie.events import Announce, no_listener
from reverie.learning.dreaming import facts
from reverie.learning.dreaming.dream import DreamContext, Dreamer, run, tidy_dreamer
from reverie.learning.dreaming.dreamer import Surroundings, dreamer_of
from reverie.learning.dreaming.judging import RecallProber
from reverie.learning.dreaming.review import End, Report, report_json, without_secrets
from reverie.learning.extraction.reading import Utterance, utterances
from reverie.memory.directory import Scratch
from reverie.memory.format.revisions import Author, Revision
from reverie.memory.postgres import sharing
from reverie.server.conversations import messages_of
from reverie.server.learning import JobStore, Learner, instructions_of
from reverie.server.side_model import MEMORY, SideModel
from reverie.server.worker import JobRun

if TYPE_CHECKING:
    from reverie.agent.fork import Finished
    from reverie.ports import Clock

LEASE = "dream"
# A lease is renewed while its dream runs; a dead worker's ends after this.
LEASE_SECONDS = 600.0
_RENEW_AFTER = 60.0
CONVERSATIONS = "conversations"
# How many past conversations a model finds beside its copy, newest first.
_MOST_CONVERSATIONS = 20


def dream(learner: Learner, job: JobRun) -> None:
    """Dream on a copy of a project's memory, if no other dream has its lease."""
    id_ = f"{datetime.fromtimestamp(learner.clock.now(), UTC):%Y%m%d-%H%M%S}-{job.name[-6:]}"
    Dreaming(learner, job, id_.replace("/", "-")).run()


@dataclass(slots=True)
class Lease:
    """The lease of a dream in the database, which keeps other workers and clients from dreaming."""

    job: JobRun
    store: JobStore
    taken: float = field(default_factory=time.monotonic)

    def acquire(self) -> Lease | NotDue:
        return self if self._take() else NotDue("another worker or client is dreaming")

    def _take(self) -> bool:
        with self.job.entered() as connection:
            self.taken = time.monotonic()
            place, holder = self.job.project, self.job.name
            return sharing.take_lease(connection, place, LEASE, holder, LEASE_SECONDS)

    def renewed(self) -> None:
        """Renew the lease when due; if the database is unavailable, try again next time."""
        if time.monotonic() - self.taken > _RENEW_AFTER:
            with suppress(ReverieError):
                self._take()

    @property
    def is_ours(self) -> bool:
        """Called in the transaction of the merge, which keeps the lease ours until the commit."""
        with self.store.connection() as connection:
            return sharing.holds_lease(connection, self.job.project, LEASE, self.job.name)

    def release(self, end: End) -> object:
        with suppress(ReverieError), self.job.entered() as connection:
            sharing.give_lease_back(connection, self.job.project, LEASE, self.job.name)
        return None


class DreamStore(JobStore):
    """The memory of a dream, whose change, job note and row are one transaction."""

    def __init__(self, job: JobRun, clock: Clock, dream: str) -> None:
        super().__init__(job, clock)
        self._dream = dream

    def restore(
        self, plan: Callable[[], Mapping[str, bytes | None]], author: Author, summary: str
    ) -> Revision | None:
        with self.connection() as connection:
            if not self.job.note(connection):
                return None
            place = self.project
            connection.execute(
                "INSERT INTO reverie.dreams (org, space, project, id, state, report) "
                "VALUES (%s, %s, %s, %s, 'completed', '{}')",
                (place.org, place.space, place.project, self._dream),
            )
            return super().restore(plan, author, summary)


@dataclass(frozen=True, slots=True)
class _DreamAgents:
    """Opens the model when the dream asks it, so that failing to open is a failure of the model."""

    model: SideModel
    job: JobRun
    session: str
    folder: Path

    async def run(self, task: Task, hear: Announce = no_listener) -> Finished:
        own, talks = self.folder / "agents", self.folder / CONVERSATIONS
        async with self.model.agents(self.job, self.session, own, talks) as agents:
            return await agents.run(task, hear)


@dataclass(frozen=True, slots=True)
class Dreaming:
    """One dream of a worker, from lease to report."""

    learner: Learner
    job: JobRun
    id: str

    def run(self, dreamer: Dreamer | None = None) -> None:
        """Dream with the service's model and then the rules, unless another dreamer is given."""
        with self.job.entered() as connection:
            done = self.job.was_noted(connection)
        if not done:
            with tempfile.TemporaryDirectory(prefix="reverie-dream-") as folder:
                report = self._dreamt(dreamer, Path(folder))
            facts.forget()
            if isinstance(report, Report):
                self._keep(without_secrets(report, self.learner.scrubber))

    def _dreamt(self, dreamer: Dreamer | None, folder: Path) -> Report | NotDue:
        learner, job = self.learner, self.job
        store = DreamStore(job, learner.clock, self.id)
        lease = Lease(job, store)
        with job.entered() as connection:
            wanted = instructions_of(connection, job.project)
        scratch = Scratch(folder / "work" / "copy", store)
        prober = RecallProber(scratch, learner.clock, folder, learner.embedder)

        def stop() -> bool:
            lease.renewed()
            return False

        context = DreamContext(
            id=self.id,
            pid=0,
            workshop=scratch,
            store=store,
            prober=prober,
            scrubber=learner.scrubber,
            clock=learner.clock,
            acquire=lease.acquire,
            tell=lambda status: None,
            author=Author("dream", dream=self.id),
            stop=stop,
            said=self._said,
            kept_out=wanted.excluded,
        )
        try:
            usual = dreamer or self._dreamer(folder, wanted.section)
            return asyncio.run(run(usual, context))
        finally:
            prober.close()

    def _dreamer(self, folder: Path, section: str) -> Dreamer:
        rules, model = tidy_dreamer(), self.learner.model
        if model is None:
            return rules
        agents = _DreamAgents(model, self.job, f"dream-{self.id}", folder)
        around = Surroundings(self._conversations(folder), MEMORY, instructions=section)
        return dreamer_of(agents, around, model.name, after=rules, instead=rules)

    def _conversations(self, folder: Path) -> Path:
        """Write the project's newest conversations into a folder, one message per line."""
        made = folder / CONVERSATIONS
        made.mkdir()
        project = self.job.project.project
        with self.job.entered() as connection:
            rows = connection.execute(
                "SELECT session FROM reverie.conversations WHERE project = %s "
                "ORDER BY updated DESC, session LIMIT %s",
                (project, _MOST_CONVERSATIONS),
            ).fetchall()
            for row in rows:
                messages = messages_of(connection, project, row["session"])
                lines = ({"id": m.id, "role": m.role, "text": m.text} for m in messages)
                text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
                (made / f"{quote(row['session'], safe='')[:200]}.jsonl").write_text(text, "utf-8")
        return made

    def _said(self, source: str) -> Sequence[Utterance]:
        """What the person said at a source: a conversation, or one message of it."""
        session, _, message = source.partition("#")
        with self.job.entered() as connection:
            messages = messages_of(connection, self.job.project.project, session)
        found = [one for one in messages if message in ("", one.id)]
        return tuple(one for one in utterances(found) if one.voice == "user")

    def _keep(self, report: Report) -> None:
        place = self.job.project
        told: dict[str, Any] = report_json(report)
        with self.job.entered() as connection:
            self.job.note(connection)
            connection.execute(
                "INSERT INTO reverie.dreams (org, space, project, id, state, report) "
                "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (project, id) "
                "DO UPDATE SET report = EXCLUDED.report, state = EXCLUDED.state",
                (place.org, place.space, place.project, self.id, report.state, Jsonb(told)),
            )
