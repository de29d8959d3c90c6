"""A service on loopback, in a thread, and a plain HTTP client."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from reverie.memory.postgres.database import Database
from reverie.memory.postgres.tenants import Tenancy
from reverie.server.running import embedder, service, usual_worker
from reverie.server.worker import usual_effects
from reverie.workspace import SystemClock

if TYPE_CHECKING:
    from tests.postgres.running import Fleet

    from reverie.ports import Clock
    from reverie.server.side_model import SideModel


class Running:
    """The service of a fleet; `url` is where it listens."""

    def __init__(self, fleet: Fleet, home: Path, clock: Clock | None = None, port: int = 0) -> None:
        self.fleet = fleet
        self.home = home
        self.clock = clock or SystemClock()
        # What workers learn with besides the rules.
        self.model: SideModel | None = None
        self.service = service(fleet.app_url, self.clock, home)
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(self.service.app, log_level="critical", access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def work_off(self) -> None:
        """Run the jobs that wait, all of them."""
        from datetime import timedelta

        import psycopg
        from pgqueuer import PgQueuer
        from pgqueuer.db import PsycopgDriver
        from pgqueuer.types import QueueExecutionMode

        database = Database(self.fleet.worker_url).open()
        worker = usual_worker(database, self.clock, self.home, model=self.model)

        async def run() -> None:
            async with await psycopg.AsyncConnection.connect(
                self.fleet.worker_url, autocommit=True
            ) as connection:
                queue = PgQueuer(PsycopgDriver(connection))
                for kind in (*worker.effects, *worker.works):
                    queue.entrypoint(kind, on_failure="hold")(worker._entry(kind))
                await queue.run(
                    mode=QueueExecutionMode.drain, dequeue_timeout=timedelta(seconds=0.1)
                )

        asyncio.run(run())
        database.close()

    def embed(self, key: str) -> None:
        """Make the vectors of everything a key sees, without the queue."""
        database = Database(self.fleet.worker_url).open()
        effect = usual_effects(embedder())["embed"]
        for row in self.ask(key, "GET", "/v1/projects")[1]["projects"]:
            found = Tenancy(self.fleet.database, key).row(row["project"])
            with database.entered_for(found.org, found.space) as connection:
                effect(connection, {"project": found.project})
        database.close()

    def ask(
        self, token: str | None, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        """Status, parsed body and headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {key.replace("_", "-"): value for key, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request(method, path, data, sent)
        answer = connection.getresponse()
        raw = answer.read()
        told = {key.lower(): value for key, value in answer.getheaders()}
        connection.close()
        is_json = "json" in told.get("content-type", "")
        return answer.status, json.loads(raw) if is_json and raw else raw, told
