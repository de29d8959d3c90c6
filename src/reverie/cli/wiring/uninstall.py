"""`reverie uninstall`: remove Reverie from a coding agent."""

from __future__ import annotations

import click

from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.wiring import client_plans
from reverie.clients.install.clients import CLIENTS
from reverie.clients.install.plan import SCOPES, Plan, Scope, uninstall
from reverie.clients.install.wiring import InstallOptions


@reverie_command(name="uninstall")
@client_plans.names
@click.option(
    "--scope", type=click.Choice(SCOPES), help="Only yours, or only this project's (default: both)."
)
@client_plans.dry_run
@client_plans.yes
def command(
    frame: Invocation, names: tuple[str, ...], scope: Scope | None, dry_run: bool, yes: bool
) -> None:
    """Remove Reverie from a coding agent.

    A file that was not edited since is restored byte for byte; from an edited file only Reverie's
    own entries are removed. Memories stay where they are.

    \b
    reverie uninstall claude-code --dry-run
    reverie uninstall codex gemini --yes
    """
    from reverie.clients.files import open_clients

    app = frame.app()
    clients = open_clients(app)
    installed = client_plans.installations(clients)
    places = client_plans.places_of(app)
    plans: list[Plan] = []
    for name in dict.fromkeys(names):
        for one in SCOPES if scope is None else (scope,):
            bare = client_plans.bare(app, name, one)
            known = client_plans.known(bare, installed)
            files = CLIENTS[name].files(InstallOptions(places, one, known.program if known else ""))
            plan = uninstall(known or bare, files, clients.files)
            if known or not plan.empty:
                plans.append(plan)
    go = client_plans.settle(frame, app, plans, {}, asked=yes, dry=dry_run)
    if go or (plans and not dry_run):
        client_plans.carry_out(clients, plans)
    if frame.as_json:
        frame.show(client_plans.as_json(plans, {}, written=go), lambda _: None)
    else:
        message = "Uninstalled." if go else "Nothing of Reverie is installed there."
        if go or not plans:
            frame.show(None, lambda out: out.print(message))
