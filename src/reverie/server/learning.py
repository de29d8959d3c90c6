"""Learning on workers: extraction from posted conversations, by rules and with a model.

Rules and trust are those of files. A job's changes and the note that it was done are one
transaction, so that a job delivered twice takes effect once.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg.types.json import Jsonb

from reverie.errors import ReverieError
from reverie.learning import extraction
from reverie.learning.extraction import Candidate, Known, ToInbox
from reverie.learning.extraction.fork import proposals, settle
from reverie.learning.extraction.prompts import batches, occasion
from reverie.learning.service import MOST_LISTED, ScratchCopy, proposal_of, proposed_by
from reverie.memory.changes.draft import Remembered
from reverie.memory.changes.keeper import Keeper
from reverie.memory.changes.undo import Forgotten, approve
from reverie.memory.directory import Scratch
from reverie.memory.format import instructions, manifest
from reverie.memory.format.instructions import LearningInstructions
from reverie.memory.format.kinds import infer_scope
from reverie.memory.format.proposals import Item, Proposal, item_to_json
from reverie.memory.format.revisions import Author
from reverie.memory.format.taxonomy import labelled, split
from reverie.memory.postgres.database import Away, Connection
from reverie.memory.postgres.rows import ProjectRow
from reverie.memory.postgres.store import Meaning, PostgresStore, no_meaning
from reverie.memory.service.opening import PERSON
from reverie.server.conversations import messages_of
from reverie.server.search import PostgresRecall, index_files, meaning_by
from reverie.server.side_model import MEMORY, SideModel
from reverie.server.worker import JobRun

if TYPE_CHECKING:
    from reverie.core.messages import Message
    from reverie.memory.format.taxonomy import MemoryScope
    from reverie.ports import Clock, Embedder, Scrubber

log = logging.getLogger(__name__)

# Enough similar memories to find what a sentence repeats or contradicts.
_NEAR = 8


@dataclass(frozen=True, slots=True)
class Learner:
    """What every learning job needs."""

    clock: Clock
    scrubber: Scrubber
    embedder: Embedder | None
    # None: the rules learn alone.
    model: SideModel | None = None

    def extract(self, job: JobRun) -> None:
        """Learn from new messages of a conversation: save memories, proposals, and the cursor."""
        session = job.detail["session"]
        before, proposed = self._proposed(job, session)
        with job.entered() as connection:
            if not job.note(connection):
                return
            conversation = new_in(connection, job.project.project, session, lock=True)
            if conversation is None:
                return
            earlier, new = conversation
            messages = [*earlier, *new]
            rules = extraction.find(new, earlier)
            # Another job has meanwhile read these messages, also with the model.
            proposed = proposed if len(earlier) == before else []
            if rules or proposed:
                store = ProjectLearning.open(self, job, connection, session)
                settle(store, rules, messages, store.near(rules))
                if proposed and self.model is not None:
                    store = replace(store, model=self.model.name)
                    settle(store, proposed, messages, store.near(proposed))
            connection.execute(
                "UPDATE reverie.conversations SET learnt = %s WHERE project = %s AND session = %s",
                (len(messages), job.project.project, session),
            )

    def _proposed(self, job: JobRun, session: str) -> tuple[int, list[Candidate]]:
        """How many messages were read before, and what a model would save from the others.

        The model runs outside any transaction. If it fails, or a cap forbids it, the result is
        empty and only the rules learn.
        """
        if self.model is None:
            return 0, []
        with job.entered() as connection:
            conversation = new_in(connection, job.project.project, session)
            learning = instructions_of(connection, job.project)
            noted = job.was_noted(connection)
        if noted or conversation is None or occasion(conversation[1]) is None:
            return 0, []
        earlier, new = conversation
        copied = CopiedProject(JobStore(job, self.clock), learning)
        try:
            return len(earlier), asyncio.run(self._asked(self.model, job, copied, new))
        except Away:
            raise
        except ReverieError as error:
            log.warning("%s: the rules learn alone: %s", job.name, error)
            return len(earlier), []

    async def _asked(
        self, model: SideModel, job: JobRun, copied: CopiedProject, new: Sequence[Message]
    ) -> list[Candidate]:
        found: list[Candidate] = []
        with tempfile.TemporaryDirectory(prefix="reverie-extract-") as folder:
            async with model.agents(job, job.detail["session"], Path(folder)) as agents:
                for piece in batches(new):
                    found += await proposals(agents, copied, piece, past=True)
        return found


def new_in(
    connection: Connection, project: str, session: str, *, lock: bool = False
) -> tuple[list[Message], list[Message]] | None:
    """The messages of a conversation that were learnt from, and the new ones."""
    found = connection.execute(
        "SELECT learnt FROM reverie.conversations WHERE project = %s AND session = %s"
        f"{' FOR UPDATE' if lock else ''}".encode(),
        (project, session),
    ).fetchone()
    if found is None:
        return None
    messages = messages_of(connection, project, session)
    return messages[: found["learnt"]], messages[found["learnt"] :]


def instructions_of(connection: Connection, project: ProjectRow) -> LearningInstructions:
    """What a project's space wants remembered, and what never."""
    found = connection.execute(
        "SELECT learning FROM reverie.spaces WHERE space = %s", (project.space,)
    ).fetchone()
    return instructions.parse([("learning", "" if found is None else found["learning"])])


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


@dataclass(frozen=True, slots=True)
class CopiedProject:
    """A project's memory as a model gets it: a copy, under a name that reveals nothing."""

    store: JobStore
    told: LearningInstructions

    @property
    def directory(self) -> Path:
        return MEMORY

    def instructions(self) -> LearningInstructions:
        return self.told

    def manifest(self) -> str:
        entries = self.store.some((), MOST_LISTED)
        return manifest.render(entry for entry in entries if entry.listed)

    @contextmanager
    def scratch_copy(self) -> Iterator[ScratchCopy]:
        with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
            scratch = Scratch(Path(folder) / "work" / "bench", self.store)
            with self.store.connection():
                files = scratch.snapshot()
            scratch.open(files)
            yield ScratchCopy(scratch)


@dataclass(frozen=True, slots=True)
class ProjectLearning:
    """A project's memory, and the one about its person, in the transaction of an extraction."""

    learner: Learner
    connection: Connection
    stores: Mapping[MemoryScope, PostgresStore]
    session: str
    told: LearningInstructions
    # The model whose candidates are saved; empty: those of the rules.
    model: str = ""

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
        # Both are now locked, always in the same order, so that two extractions cannot deadlock.
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
        return cls(learner, connection, stores, session, instructions_of(connection, here))

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
        author = Author("extract", self.session, candidate.sources, self.model)
        keeper = Keeper(self.stores[scope], self.learner.clock, self.learner.scrubber)
        item = Item(proposal.id, proposal, self.learner.clock.now())
        try:
            # A savepoint, so that a failure leaves nothing behind.
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
        """Put a proposal into the project's inbox, unless it was decided before."""
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
