"""`reverie worker`: runs the jobs of the memory service."""

from __future__ import annotations

import asyncio

import click

from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.wiring.serve import prepared_database


@reverie_command(name="worker")
@click.option("--database", metavar="URL", help="A PostgreSQL address; without: an embedded one.")
def command(frame: Invocation, database: str | None) -> None:
    """Run the service's jobs: any number of workers, on any machine.

    A worker has no state. If it dies, others take its jobs over, and each takes effect once. On SIGTERM
    it finishes what it began. With a model in `server.model` it extracts and dreams with that, under the
    caps of each organisation; otherwise by rules.

    \b
    reverie worker --database postgresql://owner@db/reverie
    """
    app = frame.app()
    addresses = prepared_database(app, database)
    from reverie.memory.postgres.database import Database
    from reverie.server.running import usual_worker
    from reverie.server.side_model import SideModel
    from reverie.server.telemetry import Telemetry
    from reverie.server.worker import run_until_signal

    pool = Database(addresses.worker).open()
    try:
        telemetry = Telemetry(enabled=app.settings.flag("telemetry.enabled"))
        home, model = app.settings.home, SideModel.of(app)
        asyncio.run(run_until_signal(usual_worker(pool, app.clock, home, telemetry, model)))
    finally:
        pool.close()
