"""`reverie uninstall`: remove Reverie from a coding agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.wiring import client_plans
from reverie.clients.install.clients import CLIENTS
from reverie.clients.install.plan import SCOPES, Plan, Scope, uninstall
from reverie.clients.install.wiring import InstallOptions

if TYPE_CHECKING:
    from reverie.workspace import Workspace


@reverie_command(name="uninstall")
@client_plans.names
@click.option(
    "--scope", type=click.Choice(SCOPES), help="Only yours, or only this project's (default: both)."
)
@click.option("--proxy", is_flag=True, help="Only the base URL that leads to `reverie proxy`.")
@client_plans.dry_run
@client_plans.yes
def command(
    frame: Invocation,
    names: tuple[str, ...],
    scope: Scope | None,
    proxy: bool,
    dry_run: bool,
    yes: bool,
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
    proxied = _uninstall_proxy(frame, app, names, scope, dry=dry_run, yes=yes)
    if proxy:
        client_plans.show_uninstalled(frame, proxied, written=not dry_run)
        return
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
    client_plans.show_uninstalled(frame, [*proxied, *plans], written=go)


def _uninstall_proxy(
    frame: Invocation,
    app: Workspace,
    names: tuple[str, ...],
    scope: Scope | None,
    *,
    dry: bool,
    yes: bool,
) -> list[Plan]:
    """Restore the base URLs that `reverie install --proxy` set."""
    from reverie.clients.files import open_proxied
    from reverie.clients.install.base_urls import base_url_files

    proxied = open_proxied(app)
    places = client_plans.places_of(app)
    plans: list[Plan] = []
    for known in client_plans.installations(proxied):
        here = known.root in ("", str(app.project.root))
        if known.client in names and here and scope in (None, known.scope):
            files = base_url_files(
                known.client, places, known.program, project=known.scope == "project"
            )
            plans.append(uninstall(known, files, proxied.files))
    go = client_plans.settle(frame, app, plans, {}, asked=yes, dry=dry)
    if go or (plans and not dry):
        client_plans.carry_out(proxied, plans)
    return plans
