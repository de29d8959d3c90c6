"""Starts the service: the database, its schema, the HTTP server, and workers."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import uvicorn

from reverie.http_server import HttpServer, listen
from reverie.memory.postgres.database import (
    APP,
    WORKER,
    Database,
    EmbeddedPostgres,
    migrate,
    set_passwords,
    with_role,
)
from reverie.memory.secrets.scrubber import ALLOWED, SecretScrubber
from reverie.models.embeddings.local import Missing, default_embedder
from reverie.server.app import Service
from reverie.server.calls import Parts
from reverie.server.conversations import DREAM, EXTRACT
from reverie.server.dreams import dream
from reverie.server.episodes import EpisodeSearch
from reverie.server.large import INDEX, index_project
from reverie.server.learning import Learner
from reverie.server.search import PostgresRecall, index_files, meaning_by
from reverie.server.telemetry import Telemetry
from reverie.server.worker import Work, Worker, usual_effects
from reverie.text.likeness import compare

if TYPE_CHECKING:
    from reverie.ports import Clock, Embedder
    from reverie.server.side_model import SideModel

# How long requests in flight may take to finish after SIGTERM.
GRACE = 30


@dataclass(frozen=True, slots=True)
class Addresses:
    """One database as its owner, the application and the workers."""

    owner: str
    app: str
    worker: str

    @classmethod
    def of(cls, owner: str, password: str | None = None) -> Addresses:
        """`password` is that of both roles; the embedded database needs none."""
        return cls(owner, with_role(owner, APP, password), with_role(owner, WORKER, password))


def prepared(url: str | None, home: Path, password: str | None = None) -> Addresses:
    """The database, started if it is the embedded one, with its schema up to date.

    The owner's address brings the schema up to date and sets the password of both roles; with the
    address of one of the roles, that was done before.
    """
    if url is not None and urlsplit(url).username in (APP, WORKER):
        return Addresses(url, url, url)
    owner = url or EmbeddedPostgres.default(home).start()
    migrate(owner)
    if password is not None:
        set_passwords(owner, password)
    return Addresses.of(owner, password)


def embedder() -> Embedder | None:
    """The default embedding model, if its packages are installed."""
    found = default_embedder()
    return None if isinstance(found, Missing) else found


def usual_worker(
    database: Database,
    clock: Clock,
    home: Path,
    telemetry: Telemetry | None = None,
    model: SideModel | None = None,
) -> Worker:
    """A worker for every kind of job that the service makes; with a model, it learns with that."""
    meaning = embedder()
    learner = Learner(clock, SecretScrubber(home / ALLOWED), meaning, model)
    works: dict[str, Work] = {
        EXTRACT: learner.extract,
        DREAM: partial(dream, learner),
        INDEX: index_project,
    }
    usual = telemetry or Telemetry()
    return Worker(database, usual_effects(meaning), works, telemetry=usual)


def service(
    app_url: str,
    clock: Clock,
    home: Path,
    *,
    connections: int = 16,
    telemetry: Telemetry | None = None,
) -> Service:
    """The application on an open pool of connections."""
    database = Database(app_url, most=connections).open()
    scrubber = SecretScrubber(home / ALLOWED)
    model = embedder()
    recall, search = PostgresRecall(clock, model), EpisodeSearch(clock, model)
    parts = Parts(database, clock, scrubber, index_files, meaning_by(model), recall, search)
    return Service(parts, telemetry)


def _load(parts: Parts) -> None:
    """Load what the first requests would load, and exclude it from full garbage collections.

    Models, word lists and modules live as long as the process; a collection over them stops every
    request for a hundred milliseconds.
    """
    sentence = "The port of the server is 8080."
    parts.meaning(sentence)
    parts.scrubber.scrub(sentence)
    compare(sentence, "The port of the server is 8443.")
    gc.collect()
    gc.freeze()
    # Requests leave few cycles: collecting every 700 objects would cost every seventh write
    # milliseconds.
    gc.set_threshold(20_000, 20, 20)


def serve(
    made: Service,
    host: str,
    port: int,
    workers: Callable[[], AbstractAsyncContextManager[None]],
    told: Callable[[str], None],
) -> None:
    """Serve until SIGTERM or SIGINT, with the workers that run beside it."""
    _load(made.parts)
    opened = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        made.app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE
    )
    server = HttpServer(
        config, lambda: told(f"http://{shown}:{opened.getsockname()[1]}"), stopping=made.drain
    )

    async def main() -> None:
        async with workers():
            await server.serve([opened])

    with opened:
        asyncio.run(main())


@asynccontextmanager
async def working(count: int, url: str, make: Callable[[Database], Worker]) -> AsyncIterator[None]:
    """Run this many workers in this process until the end of the block; running jobs are finished."""
    if not count:
        yield
        return
    database = Database(url).open()
    stop = asyncio.Event()
    worker = make(database)
    tasks = [asyncio.create_task(worker.run(stop)) for _ in range(count)]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        database.close()
