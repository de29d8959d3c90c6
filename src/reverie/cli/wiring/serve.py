"""`reverie serve`, `worker` and `tenants`: the memory service, its jobs, and its organisations and keys."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import Invocation, printable, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.memory.postgres.database import Database
    from reverie.memory.postgres.tenants import Scope, Tenancy
    from reverie.server.running import Addresses
    from reverie.server.worker import Worker
    from reverie.workspace import Workspace

DEFAULT_PORT = 8642
PASSWORD = "REVERIE_DATABASE_PASSWORD"
_database_option = click.option(
    "--database", metavar="URL", help="A PostgreSQL address; without: an embedded one."
)


@reverie_command(name="serve")
@_database_option
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True)
@click.option(
    "--workers", type=click.IntRange(0, 64), default=1, show_default=True, help="Workers beside it."
)
@click.option("--migrate-only", is_flag=True, help="Bring the schema up to date, and stop.")
@click.option("--stop-database", is_flag=True, help="Stop the embedded PostgreSQL.")
@click.option("--show-database", is_flag=True, help="Where the embedded PostgreSQL is, and stop.")
def serve(
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
    from reverie.memory.postgres.database import EmbeddedPostgres

    embedded = EmbeddedPostgres.default(app.settings.home)
    if stop:
        embedded.stop()
        return
    facts = {
        "host": str(embedded.socket),
        "programs": str(embedded.programs()),
        "address": embedded.url(),
    }
    frame.show(facts, map(": ".join, facts.items()))


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


@reverie_command(name="worker")
@_database_option
def worker(frame: Invocation, database: str | None) -> None:
    """Run the service's jobs: any number of workers, on any machine.

    A worker has no state. If it dies, others take over its jobs, and each takes effect once. On
    SIGTERM it finishes what it has begun. It extracts and dreams with the model in `server.model`,
    under the caps of each organisation; without one, by rules.

    \b
    reverie worker --database postgresql://owner@db/reverie
    """
    app = frame.app()
    addresses = prepared_database(app, database)
    import asyncio

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


ACTIONS = ("organisation", "space", "create", "list", "rotate", "revoke")


@reverie_command(name="tenants")
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("name", required=False)
@_database_option
@click.option("--key", metavar="TOKEN", help="An admin key; without: REVERIE_KEY.")
@click.option(
    "--kind", type=click.Choice(("private", "team")), default="private", help="Of a space."
)
@click.option("--read", multiple=True, metavar="SPACE", help="With create: a space it may read.")
@click.option("--write", multiple=True, metavar="SPACE", help="With create: a space it may write.")
@click.option("--admin", is_flag=True, help="With create: an admin of the organisation.")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="With create: lifetime.")
def tenants(frame: Invocation, action: str, name: str | None, **options: Any) -> None:
    """Manage organisations, spaces and keys of the memory service.

    organisation NAME creates one and prints its first admin key. All other actions need an admin
    key of the organisation. A token is printed once; only its digest is stored.

    \b
    reverie tenants organisation acme
    reverie tenants space ada --kind private
    reverie tenants create "ada's laptop" --write ada --read everyone
    reverie tenants rotate rev0123456789abcdef
    """
    if (name is None) != (action == "list"):
        raise click.UsageError(
            f"`tenants {action}` takes {'no name' if action == 'list' else 'a name'}"
        )
    addresses = prepared_database(frame.app(), options["database"])
    if action == "organisation":
        from reverie.memory.postgres.tenants import create_organisation

        _show(frame, {"token": create_organisation(addresses.owner, name or "")})
        return
    from reverie.memory.postgres.database import Database

    database = Database(addresses.app).open()
    try:
        _show(
            frame, _done(_tenancy(database, addresses, options["key"]), action, name or "", options)
        )
    finally:
        database.close()


def _tenancy(database: Any, addresses: Addresses, key: str | None) -> Tenancy:
    from reverie.memory.postgres.tenants import Tenancy
    from reverie.settings.sources import environment

    token = key or environment().get("REVERIE_KEY", "")
    if not token:
        raise InputError("give an admin key: --key TOKEN, or REVERIE_KEY in the environment")
    return Tenancy(database, token)


def _done(tenancy: Tenancy, action: str, name: str, options: dict[str, Any]) -> dict[str, Any]:
    match action:
        case "space":
            return tenancy.create_space(name, options["kind"])
        case "create":
            spaces: dict[str, Scope] = {
                **dict.fromkeys(options["read"], "read"),
                **dict.fromkeys(options["write"], "write"),
            }
            lives = None if options["days"] is None else timedelta(days=options["days"])
            token = tenancy.create_key(name, spaces, admin=options["admin"], lives=lives)
            return {"token": token}
        case "rotate":
            return {"token": tenancy.rotate_key(name)}
        case "revoke":
            tenancy.revoke_key(name)
            return {"revoked": name}
        case _:
            return {"keys": tenancy.keys()}


def _show(frame: Invocation, data: dict[str, Any]) -> None:
    shown = {k: [_plain(row) for row in v] if k == "keys" else v for k, v in _plain(data).items()}
    frame.show(shown, map(_line, shown.get("keys", [shown])))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    kept = (str, bool, int, float, list, dict, type(None))
    return {key: value if isinstance(value, kept) else str(value) for key, value in row.items()}


def _line(row: dict[str, Any]) -> str:
    if "key" not in row:
        return ", ".join(f"{key}: {value}" for key, value in row.items())
    spaces = ", ".join(f"{name} ({scope})" for name, scope in row["spaces"].items())
    state = "revoked" if row["revoked"] else "admin" if row["admin"] else spaces
    return f"{row['key']}  {row['label']}  {state}"
