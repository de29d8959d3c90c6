"""`reverie team`: the memory a team shares through a git remote."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, require_team, up_to_date
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.workspace import Workspace

ACTIONS = ("status", "sync", "remote")


@reverie_command(name="team")
@click.argument("action", type=click.Choice(ACTIONS), default="status")
@click.argument("url", required=False)
@click.option("--branch", default="main", show_default=True, help="With remote: the branch there.")
def command(frame: Invocation, action: str, url: str | None, branch: str) -> None:
    """Share a part of memory with your team, through git.

    remote URL sets the remote; sync pulls, merges each file and pushes; status shows what is unsent.

    \b
    reverie settings set features.team true
    reverie team remote git@example.com:team/memory.git
    reverie team sync
    """
    if (action == "remote") != (url is not None):
        raise click.UsageError("give a URL with `remote`, and only there")
    from reverie.workspace.syncing import team_address

    app = frame.app()
    if action == "sync":
        _sync(frame, app)
        return
    if url is not None:
        team_address(app, (url, branch))
    data = _status(app)
    frame.show(data, lambda console: _print_status(console, data))


def _status(app: Workspace) -> dict[str, Any]:
    from reverie.memory.team.sync import unsent
    from reverie.workspace.syncing import team_address

    memory = up_to_date(app.memory(team=True))
    address = team_address(app)
    return {
        "on": app.settings.flag("features.team"),
        "remote": address.remote({}).name if address else None,
        "branch": address.branch if address else None,
        "memories": len(memory.store.entries()),
        "unsent": list(unsent(memory.history)),
    }


def _print_status(console: Console, data: dict[str, Any]) -> None:
    if not data["on"]:
        console.print("Team memory is off; turn it on with features.team = true in the settings.")
    if data["remote"]:
        console.print(
            printable(f"remote {data['remote']}, branch {data['branch']}"), soft_wrap=True
        )
    else:
        console.print("No remote yet: reverie team remote URL")
    waiting = f"; not sent yet: {', '.join(data['unsent'])}" if data["unsent"] else ""
    console.print(
        printable(f"{counted(data['memories'], 'shared memory', 'shared memories')}{waiting}"),
        soft_wrap=True,
    )


def _sync(frame: Invocation, app: Workspace) -> None:
    from reverie.workspace.syncing import sync_team, team_address

    require_team(app, team=True)
    address = team_address(app)
    if address is None:
        raise InputError("no remote yet; set one with: reverie team remote URL")
    data = asdict(sync_team(app, address, PERSON))
    frame.show(data, lambda console: _print_report(console, data))


def _print_report(console: Console, data: dict[str, Any]) -> None:
    lines = [f"{word}: {', '.join(data[word])}" for word in ("pulled", "pushed") if data[word]]
    lines += ["The branch did not exist; it was created."] if data["started"] else []
    for one in data["conflicts"]:
        kept = f"; yours is kept in {one['beside']}" if one["beside"] else ""
        lines.append(f"conflict in {one['file']}: {one['reason']}{kept}")
    lines += [f"refused {one['file']}: {one['reason']}" for one in data["refused"]]
    for line in lines or ["Nothing new on either side."]:
        console.print(printable(line), soft_wrap=True)
