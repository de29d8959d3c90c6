"""Learning on workers: extraction from posted conversations, and dreams under a lease.

Rules, checks and probes are those of files. What a job changes and the note that it was done are one
transaction, so that a job that comes twice has one effect.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from reverie.context import NotDue
from reverie.errors import ReverieError
from reverie.learning import extraction
from reverie.learning.dreaming import facts
from reverie.learning.dreaming.dream import DreamContext, Dreamer, run, tidy_dreamer
from reverie.learning.dreaming.review import End, Report, report_json, without_secrets
from reverie.learning.dreaming.snapshot_search import RecallProber
from reverie.learning.extraction import Candidate, Known, ToInbox
from reverie.learning.extraction.cursor import Utterance, utterances
from reverie.learning.extraction.fork import settle
from reverie.learning.service import proposal_of, proposed_by
from reverie.memory.changes.draft import Remembered, infer_scope
from reverie.memory.changes.inbox import Forgotten, approve
from reverie.memory.changes.keeper import Keeper
from reverie.memory.format import instructions
from reverie.memory.format.instructions import LearningInstructions
from reverie.memory.format.proposals import Item, Proposal, item_to_json
from reverie.memory.format.revisions import Author, Revision
from reverie.memory.format.taxonomy import labelled, split
from reverie.memory.postgres import sharing
from reverie.memory.postgres.database import Connection
from reverie.memory.postgres.rows import ProjectRow
from reverie.memory.postgres.store import Meaning, PostgresStore, no_meaning
from reverie.memory.scratch import Scratch
from reverie.memory.service.opening import PERSON
from reverie.server.conversations import DREAM, EXTRACT, messages_of
from reverie.server.search import PostgresRecall, index_files, meaning_by
from reverie.server.worker import JobRun, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from reverie.memory.format.taxonomy import MemoryScope
    from reverie.ports import Clock, Embedder, Scrubber

# Enough similar memories to find what a sentence repeats or contradicts.
_NEAR = 8
LEASE = "dream"
# A lease is renewed while its dream runs; a dead worker's ends after this.
LEASE_SECONDS = 600.0
_RENEW_AFTER = 60.0


@dataclass(frozen=True, slots=True)
class Learner:
    """What every job of learning needs."""

    clock: Clock
    scrubber: Scrubber
    embedder: Embedder | None

    @property
    def works(self) -> dict[str, Work]:
        return {EXTRACT: self.extract, DREAM: self.dream}

    def extract(self, job: JobRun) -> None:
        """Learn from what is new in a conversation: its memories, its proposals, and the cursor."""
        session = job.detail["session"]
        with job.entered() as connection:
            if not job.note(connection):
                return
            found = connection.execute(
                "SELECT learnt FROM reverie.conversations WHERE project = %s AND session = %s "
                "FOR UPDATE",
                (job.project.project, session),
            ).fetchone()
            if found is None:
                return
            messages = messages_of(connection, job.project.project, session)
            earlier, new = messages[: found["learnt"]], messages[found["learnt"] :]
            if candidates := extraction.find(new, earlier):
                store = ProjectLearning.open(self, job, connection, session)
                settle(store, candidates, messages, store.near(candidates))
            connection.execute(
                "UPDATE reverie.conversations SET learnt = %s WHERE project = %s AND session = %s",
                (len(messages), job.project.project, session),
            )

    def dream(self, job: JobRun) -> None:
        """Dream on a copy of a project's memory, if no other dream has its lease."""
        id_ = f"{datetime.fromtimestamp(self.clock.now(), UTC):%Y%m%d-%H%M%S}-{job.name[-6:]}"
        dreaming = Dreaming(self, job, id_.replace("/", "-"))
        dreaming.run(tidy_dreamer())


class JobStore(PostgresStore):
    """A project's memory with the identity of a job instead of a key."""

    def __init__(
        self,
        job: JobRun,
        clock: Clock,
        project: ProjectRow | None = None,
        meaning: Meaning = no_meaning,
    ) -> None:
        super().__init__(job.database, "", project or job.project, clock, index_files, meaning)
        self.job = job

    @contextmanager
    def _entered(self) -> Iterator[Connection]:
        with self.job.entered() as connection:
            yield connection


# --- extraction ---


@dataclass(frozen=True, slots=True)
class ProjectLearning:
    """A project's memory in the transaction of an extraction, and the one about its person."""

    learner: Learner
    connection: Connection
    stores: Mapping[MemoryScope, PostgresStore]
    session: str
    told: LearningInstructions

    @classmethod
    def open(
        cls, learner: Learner, job: JobRun, connection: Connection, session: str
    ) -> ProjectLearning:
        here = job.project
        connection.execute(
            "INSERT INTO reverie.projects (org, space, name) VALUES (%s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            (here.org, here.space, PERSON),
        )
        # Both are locked now, in one order everywhere, so that two extractions cannot block each other.
        rows = connection.execute(
            "SELECT project, name FROM reverie.projects WHERE project = %s OR (space = %s AND "
            "name = %s) ORDER BY project FOR UPDATE",
            (here.project, here.space, PERSON),
        ).fetchall()
        about_person = next(str(row["project"]) for row in rows if row["name"] == PERSON)
        places: dict[MemoryScope, ProjectRow] = {"project": here}
        if about_person != here.project:
            places["person"] = ProjectRow(here.org, here.space, about_person, PERSON)
        meaning = meaning_by(learner.embedder)
        stores = {
            scope: JobStore(job, learner.clock, place, meaning).within(connection)
            for scope, place in places.items()
        }
        space = connection.execute(
            "SELECT learning FROM reverie.spaces WHERE space = %s", (here.space,)
        ).fetchone()
        text = "" if space is None else space["learning"]
        return cls(learner, connection, stores, session, instructions.parse([("learning", text)]))

    def instructions(self) -> LearningInstructions:
        return self.told

    def near(self, candidates: Sequence[Candidate]) -> list[Known]:
        """The memories that these candidates may repeat or contradict."""
        recall = PostgresRecall(self.learner.clock, self.learner.embedder)
        found: dict[str, Known] = {}
        for scope, store in self.stores.items():
            files = {
                hit["file"]
                for candidate in candidates
                for hit in recall(self.connection, store.project, candidate.text, _NEAR)["hits"]
            }
            for entry in store.some(sorted(files)):
                stored = store.read(entry.file)
                if stored is not None:
                    label = labelled(entry.file, scope)
                    found[label] = Known(replace(entry, file=label), stored.topic.body)
        return [found[label] for label in sorted(found)]

    def save(self, candidate: Candidate, said_on: date | None) -> str | None:
        """Save through the keeper; what it declines is not saved."""
        proposal = proposal_of(candidate, self.session, said_on)
        if proposal is None:
            return None
        scope, proposal = self._placed(proposal)
        author = Author("extract", self.session, candidate.sources)
        keeper = Keeper(self.stores[scope], self.learner.clock, self.learner.scrubber)
        item = Item(proposal.id, proposal, self.learner.clock.now())
        try:
            # A savepoint: what fails leaves nothing of itself behind.
            with self.connection.transaction():
                done = approve(item, keeper, author, even_if_known=proposal.operation == "add")
        except ReverieError:
            return None
        if isinstance(done, Remembered):
            return labelled(done.topic.file, scope)
        return labelled(done.file, scope) if isinstance(done, Forgotten) else None

    def _placed(self, proposal: Proposal) -> tuple[MemoryScope, Proposal]:
        if proposal.file:
            scope, file = split(proposal.file)
            return scope, replace(proposal, file=file)
        scope = infer_scope(proposal.text, proposal.type)
        return (scope if scope in self.stores else "project"), proposal

    def propose(self, item: ToInbox, said_on: date | None) -> bool:
        """Put a proposal into the project's inbox; one that was decided before is not offered."""
        proposal = proposed_by(item, self.session, said_on)
        if proposal is None:
            return False
        clean = replace(
            proposal,
            text=self.learner.scrubber.scrub(proposal.text).text,
            evidence=self.learner.scrubber.scrub(proposal.evidence).text,
        )
        place = self.stores["project"].project
        made = Item(clean.id, clean, self.learner.clock.now())
        done = self.connection.execute(
            "INSERT INTO reverie.proposals (org, space, project, id, item) "
            "VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (place.org, place.space, place.project, made.id, Jsonb(item_to_json(made))),
        )
        return done.rowcount > 0


# --- dreams ---


@dataclass(slots=True)
class Lease:
    """The lease of a dream in the database; no other worker or client dreams meanwhile."""

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
        """Renew it when it is due; a database that is away is asked again the next time."""
        if time.monotonic() - self.taken > _RENEW_AFTER:
            with suppress(ReverieError):
                self._take()

    @property
    def is_ours(self) -> bool:
        """Asked in the transaction of the merge, which keeps it ours until the commit."""
        with self.store.connection() as connection:
            return sharing.holds_lease(connection, self.job.project, LEASE, self.job.name)

    def release(self, end: End) -> object:
        with suppress(ReverieError), self.job.entered() as connection:
            sharing.give_lease_back(connection, self.job.project, LEASE, self.job.name)
        return None


class DreamStore(JobStore):
    """The memory of a dream: its one change, the note of its job and its row are one transaction."""

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
class Dreaming:
    """One dream of a worker, from lease to report."""

    learner: Learner
    job: JobRun
    id: str

    def run(self, dreamer: Dreamer) -> None:
        with self.job.entered() as connection:
            done = connection.execute(
                "SELECT 1 FROM reverie.effects WHERE job = %s", (self.job.name,)
            ).fetchone()
        if done is None:
            with tempfile.TemporaryDirectory(prefix="reverie-dream-") as folder:
                report = self._dreamt(dreamer, Path(folder))
            facts.forget()
            if isinstance(report, Report):
                self._keep(without_secrets(report, self.learner.scrubber))

    def _dreamt(self, dreamer: Dreamer, folder: Path) -> Report | NotDue:
        learner, job = self.learner, self.job
        store = DreamStore(job, learner.clock, self.id)
        lease = Lease(job, store)
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
            kept_out=self._instructions().excluded,
        )
        try:
            return asyncio.run(run(dreamer, context))
        finally:
            prober.close()

    def _instructions(self) -> LearningInstructions:
        with self.job.entered() as connection:
            found = connection.execute(
                "SELECT learning FROM reverie.spaces WHERE space = %s", (self.job.project.space,)
            ).fetchone()
        return instructions.parse([("learning", "" if found is None else found["learning"])])

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
