"""`reverie serve`: the memory service for many people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.server.running import Addresses
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
        from reverie.memory.postgres.embedded import EmbeddedPostgres

        embedded = EmbeddedPostgres.default(app.settings.home)
        if stop_database:
            embedded.stop()
            return
        told = {
            "host": str(embedded.socket),
            "programs": str(embedded.programs()),
            "address": embedded.url(),
        }
        frame.show(
            told,
            lambda console: console.print("\n".join(map(": ".join, told.items())), soft_wrap=True),
        )
        return
    addresses = prepared_database(app, database)
    if migrate_only:
        return
    from reverie.server.running import serve, service, usual_worker, working
    from reverie.server.side_model import SideModel
    from reverie.server.telemetry import Telemetry

    home = app.settings.home
    telemetry = Telemetry(enabled=app.settings.flag("telemetry.enabled"))
    made = service(addresses.app, app.clock, home, telemetry=telemetry)

    def tell(url: str) -> None:
        if not frame.quiet:
            click.echo(f"Reverie serves on {url}; stop it with Ctrl-C.", err=True)

    model = SideModel.of(app)
    serve(
        made,
        host,
        port,
        lambda: working(
            workers,
            addresses.worker,
            lambda pool: usual_worker(pool, app.clock, home, telemetry, model),
        ),
        tell,
    )


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
