"""`reverie serve`: the memory service for many people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.memory.postgres.database import Database
    from reverie.server.running import Addresses
    from reverie.server.worker import Worker
    from reverie.workspace import Workspace

DEFAULT_PORT = 8642
PASSWORD = "REVERIE_DATABASE_PASSWORD"


@reverie_command(name="serve")
@click.option("--database", metavar="URL", help="A PostgreSQL address; without: an embedded one.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True)
@click.option(
    "--workers", type=click.IntRange(0, 64), default=1, show_default=True, help="Workers beside it."
)
@click.option("--migrate-only", is_flag=True, help="Bring the schema up to date, and stop.")
@click.option("--stop-database", is_flag=True, help="Stop the embedded PostgreSQL.")
@click.option("--show-database", is_flag=True, help="Where the embedded PostgreSQL is, and stop.")
def command(
    frame: Invocation,
    database: str | None,
    host: str,
    port: int,
    workers: int,
    migrate_only: bool,
    stop_database: bool,
    show_database: bool,
) -> None:
    """Run the memory service for many people, on PostgreSQL.

    With the owner's address the schema is brought up to date, and the roles reverie_app and
    reverie_worker get the password in REVERIE_DATABASE_PASSWORD. The service works as reverie_app, which
    sees only what a key may see; it can be started with that role's address alone. Organisations and
    keys: `reverie tenants`. It stops on SIGTERM after finishing its requests.

    \b
    reverie serve
    reverie serve --stop-database
    reverie serve --show-database
    reverie serve --database postgresql://owner@db/reverie --host 0.0.0.0 --workers 0
    """
    app = frame.app()
    if stop_database or show_database:
        _embedded(frame, app, stop=stop_database)
        return
    addresses = prepared_database(app, database)
    if not migrate_only:
        _serve(frame, app, addresses, (host, port), workers)


def _embedded(frame: Invocation, app: Workspace, *, stop: bool) -> None:
    """Stop the embedded PostgreSQL, or show where it is."""
    from reverie.memory.postgres.embedded import EmbeddedPostgres

    embedded = EmbeddedPostgres.default(app.settings.home)
    if stop:
        embedded.stop()
        return
    facts = {
        "host": str(embedded.socket),
        "programs": str(embedded.programs()),
        "address": embedded.url(),
    }
    lines = "\n".join(map(": ".join, facts.items()))
    frame.show(facts, lambda console: console.print(lines, soft_wrap=True))


def _serve(
    frame: Invocation, app: Workspace, addresses: Addresses, at: tuple[str, int], workers: int
) -> None:
    from reverie.server.running import serve, service, usual_worker, working
    from reverie.server.side_model import SideModel
    from reverie.server.telemetry import Telemetry

    home = app.settings.home
    telemetry = Telemetry(enabled=app.settings.flag("telemetry.enabled"))
    made = service(addresses.app, app.clock, home, telemetry=telemetry)
    model = SideModel.of(app)

    def announce(url: str) -> None:
        if not frame.quiet:
            click.echo(f"Reverie serves on {url}; stop it with Ctrl-C.", err=True)

    def make_worker(database: Database) -> Worker:
        return usual_worker(database, app.clock, home, telemetry, model)

    serve(made, *at, lambda: working(workers, addresses.worker, make_worker), announce)


def prepared_database(app: Workspace, url: str | None) -> Addresses:
    """The database as owner, application and worker; the message says what is missing."""
    from reverie.settings.sources import environment

    try:
        from reverie.server.running import prepared
    except ImportError as error:
        raise InputError(
            f"this needs packages of the service ({error.name}): pip install 'reverie[server]'"
        ) from error
    from psycopg import Error

    password = environment().get(PASSWORD) or None
    try:
        return prepared(url or environment().get("REVERIE_DATABASE"), app.settings.home, password)
    except Error as error:
        first = printable((str(error).splitlines() or [""])[0])
        raise InputError(f"the database cannot be used: {first}; check --database") from error
