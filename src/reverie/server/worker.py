"""Workers: take jobs from the queue in the database, any number of them, on any machine.

PgQueuer gives a job to one worker, and to another one if that worker died. A job's effect and the
note that it was done are one transaction, so that it takes effect once even if it is delivered
twice.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import psycopg
from pgqueuer import PgQueuer
from pgqueuer.db import PsycopgDriver
from pgqueuer.errors import RetryRequested

from reverie.memory.postgres.database import Away, Connection, Database
from reverie.memory.postgres.rows import ProjectRow
from reverie.server.large import ask_if_large
from reverie.server.search import EMBED, embed_pending
from reverie.server.telemetry import Telemetry

if TYPE_CHECKING:
    from pgqueuer.models import Job

    from reverie.ports import Embedder

log = logging.getLogger(__name__)

# A worker without a heartbeat for this long is dead, and its jobs go to others.
HEARTBEAT = timedelta(seconds=30)
_PORTION = 64
_AGAIN = timedelta(seconds=1)
_LONGEST_PAUSE = 5.0

# The effect of a job, in a transaction with the identity of the job's space.
Effect = Callable[[Connection, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class JobRun:
    """One job: transactions in its space, and the note that it took effect."""

    database: Database
    detail: Mapping[str, Any]
    name: str

    @property
    def project(self) -> ProjectRow:
        return ProjectRow(self.detail["org"], self.detail["space"], self.detail["project"])

    @contextmanager
    def entered(self) -> Iterator[Connection]:
        with self.database.entered_for(self.detail["org"], self.detail["space"]) as connection:
            yield connection

    def was_noted(self, connection: Connection) -> bool:
        """Whether the job already took effect."""
        found = connection.execute("SELECT 1 FROM reverie.effects WHERE job = %s", (self.name,))
        return found.fetchone() is not None

    def note(self, connection: Connection) -> bool:
        """Note the effect in its own transaction; False if the job already took effect."""
        return bool(
            connection.execute(
                "INSERT INTO reverie.effects (org, job) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (self.detail["org"], self.name),
            ).rowcount
        )


# Runs a job as a whole, and notes its effect itself.
Work = Callable[[JobRun], None]


@dataclass(frozen=True, slots=True)
class Worker:
    """Runs jobs of the kinds it knows."""

    database: Database
    effects: Mapping[str, Effect]
    # Long jobs, which do most of their work outside the transaction of their effect.
    works: Mapping[str, Work] = field(default_factory=dict)
    heartbeat: timedelta = HEARTBEAT
    batch: int = 10
    telemetry: Telemetry = field(default_factory=Telemetry)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop; retry while the database is unavailable."""
        pause = 0.1
        while not stop.is_set():
            try:
                await self._connected(stop)
                pause = 0.1
            except (psycopg.Error, OSError, RuntimeError) as error:
                log.warning("the queue cannot be reached (%s); trying again", error)
                pause = min(pause * 2, _LONGEST_PAUSE)
                await _wait(stop, pause)

    async def _connected(self, stop: asyncio.Event) -> None:
        async with await psycopg.AsyncConnection.connect(
            self.database.url, autocommit=True
        ) as connection:
            queue = PgQueuer(PsycopgDriver(connection))
            for kind in (*self.effects, *self.works):
                queue.entrypoint(kind, on_failure="hold")(self._entry(kind))
            watching = asyncio.create_task(_shut_down(stop, queue))
            try:
                await queue.run(
                    batch_size=self.batch,
                    dequeue_timeout=timedelta(seconds=2),
                    heartbeat_timeout=self.heartbeat,
                )
            finally:
                watching.cancel()

    def _entry(self, kind: str) -> Callable[[Job], Any]:
        async def work(job: Job) -> None:
            try:
                await asyncio.to_thread(self._once, kind, job.id, job.payload or b"{}")
            except Away as error:
                raise RetryRequested(_AGAIN, str(error)) from error

        return work

    def _once(self, kind: str, number: int, payload: bytes) -> None:
        job = JobRun(self.database, json.loads(payload), f"{kind}/{number}")
        with self.telemetry.span(f"job {kind}"):
            if kind in self.works:
                self.works[kind](job)
                return
            with job.entered() as connection:
                if job.note(connection):
                    self.effects[kind](connection, job.detail)


async def _shut_down(stop: asyncio.Event, queue: PgQueuer) -> None:
    await stop.wait()
    queue.shutdown.set()


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return


def embed(embedder: Embedder | None, connection: Connection, detail: Mapping[str, Any]) -> None:
    """Compute the vectors of a project's new memories and messages, and check whether it is large now."""
    if embedder is not None:
        for table in ("passages", "episodes"):
            while (
                embed_pending(connection, detail["project"], embedder, _PORTION, table) == _PORTION
            ):
                continue
    ask_if_large(connection, detail)


def usual_effects(embedder: Embedder | None) -> dict[str, Effect]:
    """The kinds of jobs that the service makes."""
    return {EMBED: partial(embed, embedder)}


async def run_until_signal(worker: Worker) -> None:
    """Work until SIGTERM or SIGINT; running jobs are finished."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await worker.run(stop)
