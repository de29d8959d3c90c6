"""`reverie keys`: which API keys are known, and set or remove one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import shown_path
from reverie.errors import InputError
from reverie.settings import keys

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.workspace import Workspace

ACTIONS = ("list", "set", "remove")


@reverie_command(name="keys")
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("name", required=False)
def command(frame: Invocation, action: str, name: str | None) -> None:
    """List the API keys that are known, set one, or remove one.

    NAME is a provider (anthropic, openai) or the name of a variable. The key is asked for, or read
    from standard input: it is never an argument. It goes to the system's keyring if there is one,
    else to a file in the home that only you can read. A variable of that name comes first.

    \b
    reverie keys set anthropic
    pass show openai | reverie keys set OPENAI_API_KEY
    reverie keys remove anthropic
    """
    app = frame.app()
    if action == "list":
        rows = _rows(app)
        frame.answer(rows, lambda console: _print(console, rows))
        return
    if name is None:
        raise click.UsageError(f"say which: reverie keys {action} anthropic")
    variable = _variable(app, name)
    if action == "remove":
        _remove(frame, app, variable)
    else:
        _set(frame, app, variable)


def _variable(app: Workspace, name: str) -> str:
    if name.lower() in app.settings.provider_names:
        provider = app.settings.provider(name.lower())
        if provider.api_key_env is None:
            raise InputError(
                f"{name} needs no key (providers.{name.lower()}.api_key_env is not set)"
            )
        return provider.api_key_env
    keys.check_name(name)
    return name


def _set(frame: Invocation, app: Workspace, variable: str) -> None:
    where = keys.store_key(variable, _asked(variable), app.settings.home)
    place = "the keyring" if where == "keyring" else shown_path(app, app.settings.home / keys.FILE)
    text = f"Stored {variable} in {place}."
    frame.show(
        {"name": variable, "where": where}, lambda console: console.print(text, soft_wrap=True)
    )
    found = keys.find_key(variable, home=app.settings.home)
    if found is not None and found[1] == "environment":
        frame.warn(f"the variable {variable} of this shell comes first")


def _asked(variable: str) -> str:
    if sys.stdin.isatty():
        typed: str = click.prompt(f"{variable}", hide_input=True, err=True)
        return typed
    return sys.stdin.readline()


def _remove(frame: Invocation, app: Workspace, variable: str) -> None:
    if not keys.remove_key(variable, app.settings.home):
        raise InputError(f"no {variable} is stored; `reverie keys` lists what is known")
    frame.show({"removed": variable}, lambda console: console.print(f"Removed {variable}."))


def _rows(app: Workspace) -> list[dict[str, Any]]:
    providers = [app.settings.provider(name) for name in app.settings.provider_names]
    users = {p.api_key_env: p.name for p in providers if p.api_key_env}
    names = dict.fromkeys((*users, *keys.stored_names(app.settings.home)))
    rows = []
    for name in names:
        found = keys.find_key(name, home=app.settings.home)
        rows.append({"name": name, "for": users.get(name), "where": found[1] if found else None})
    return rows


def _print(console: Console, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table("key", "for", "found in", box=None, pad_edge=False)
    for row in rows:
        advice = f"– (reverie keys set {row['name']})"
        table.add_row(row["name"], row["for"] or "–", row["where"] or advice)
    console.print(table)
