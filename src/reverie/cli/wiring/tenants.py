"""`reverie tenants`: organisations, spaces and keys of the memory service."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.wiring.serve import prepared_database
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.postgres.tenants import Scope, Tenancy
    from reverie.server.running import Addresses

ACTIONS = ("organisation", "space", "create", "list", "rotate", "revoke")


@reverie_command(name="tenants")
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("name", required=False)
@click.option("--database", metavar="URL", help="A PostgreSQL address; without: an embedded one.")
@click.option("--key", metavar="TOKEN", help="An admin key; without: REVERIE_KEY.")
@click.option(
    "--kind", type=click.Choice(("private", "team")), default="private", help="Of a space."
)
@click.option("--read", multiple=True, metavar="SPACE", help="With create: a space it may read.")
@click.option("--write", multiple=True, metavar="SPACE", help="With create: a space it may write.")
@click.option("--admin", is_flag=True, help="With create: an admin of the organisation.")
@click.option("--days", type=click.FloatRange(min=0, min_open=True), help="With create: lifetime.")
def command(frame: Invocation, action: str, name: str | None, **options: Any) -> None:
    """Manage organisations, spaces and keys of the memory service.

    organisation NAME makes one and prints its first admin key. All other actions use an admin key of
    the organisation. A token is printed once; only its digest is kept.

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
    told = {k: [_plain(row) for row in v] if k == "keys" else v for k, v in _plain(data).items()}
    frame.show(told, lambda console: _print(console, told))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    kept = (str, bool, int, float, list, dict, type(None))
    return {key: value if isinstance(value, kept) else str(value) for key, value in row.items()}


def _print(console: Console, data: dict[str, Any]) -> None:
    for row in data.get("keys", [data] if "keys" not in data else []):
        if "key" not in row:
            line = ", ".join(f"{key}: {value}" for key, value in row.items())
        else:
            spaces = ", ".join(f"{name} ({scope})" for name, scope in row["spaces"].items())
            state = "revoked" if row["revoked"] else "admin" if row["admin"] else spaces
            line = f"{row['key']}  {row['label']}  {state}"
        console.print(printable(line), soft_wrap=True)
