"""`reverie install` and `reverie uninstall`: put Reverie into a coding agent's configuration, and take it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from reverie.cli.invocation import Invocation, at_terminal, reverie_command
from reverie.cli.memories import shown_path
from reverie.cli.wiring import client_plans
from reverie.clients.install.clients import CLIENTS
from reverie.clients.install.plan import SCOPES, Installation, Plan, Scope, install, uninstall
from reverie.clients.install.wiring import WAYS, InstallOptions, Way, program
from reverie.clients.mcp import INSTALL_PACKAGE, package_installed
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.workspace import Workspace

CLAUDE_CODE = "claude-code"

_WAYS = {
    "adopt": "its memory directory is adopted, here now and elsewhere when a session starts; "
    "`reverie adopt --undo` takes that back.",
    "beside": "its own memory is switched off while Reverie is installed (autoMemoryEnabled).",
    "mcp": "no hooks: nothing is recalled or learnt unless the model asks for it.",
}

_LEFT_OUT = (
    "The MCP server was left out, since the package mcp is not installed. To add it: "
    f"{INSTALL_PACKAGE}, then `{{again}}`."
)


@reverie_command(name="install")
@client_plans.names
@click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="user",
    show_default=True,
    help="For you in every project, or for this project.",
)
@click.option("--no-mcp", is_flag=True, help="Hooks only, without the MCP server.")
@click.option(
    "--proxy", is_flag=True, help="Instead of hooks: set its base URL to `reverie proxy`."
)
@click.option(
    "--memory",
    "chosen",
    type=click.Choice(WAYS),
    help="For claude-code: adopt its memory directory, keep ours beside it (its own is switched off), "
    "or install the MCP server alone.",
)
@client_plans.dry_run
@client_plans.yes
def install_command(
    frame: Invocation,
    names: tuple[str, ...],
    scope: Scope,
    no_mcp: bool,
    proxy: bool,
    chosen: Way | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Give a coding agent Reverie's memory: hooks and the MCP server.

    CLIENT is one or more of claude-code, codex, gemini, opencode, cursor. The diff of every file is
    shown first; everything else in those files stays as it is, and `reverie uninstall` takes it
    back. Installing again changes nothing, or brings the path of reverie up to date.

    \b
    reverie install claude-code --dry-run
    reverie install claude-code --memory adopt
    reverie install claude-code codex --yes
    reverie install cursor --scope project --no-mcp
    reverie install claude-code --proxy
    """
    from reverie.clients.install.plan import open_clients

    app = frame.app()
    if proxy:
        _install_proxy(frame, app, names, scope, dry=dry_run, yes=yes)
        return
    clients = open_clients(app)
    installed = client_plans.installations(clients)
    places, path, home = client_plans.places_of(app), program(), client_plans.home_of(app)
    mcp = not no_mcp and package_installed()
    plans: list[Plan] = []
    for name in dict.fromkeys(names):
        bare = client_plans.bare(app, name, scope, path)
        known = client_plans.known(bare, installed)
        if name == CLAUDE_CODE:
            way = chosen or _way(frame, app, known, asked=yes or dry_run)
            _require_possible(app, way, mcp=mcp)
            bare = replace(bare, way=way)
        files = CLIENTS[name].files(
            InstallOptions(places, scope, path, mcp, home, _valid(bare.way))
        )
        plans.append(install(bare, files, known, clients.files))
    left_out = [] if mcp or no_mcp else [_LEFT_OUT.format(again=_again(names, scope))]
    notes = {plan.record.client: [*left_out, *_notes(app, plan, installed)] for plan in plans}
    go = client_plans.settle(frame, app, plans, notes, asked=yes, dry=dry_run)
    if go:
        client_plans.carry_out(clients, plans)
    if not dry_run and any(plan.record.way == "adopt" for plan in plans):
        _adopt(app)
    if frame.as_json:
        frame.show(client_plans.as_json(plans, notes, written=go), ())
    elif go:
        frame.show(None, "Installed. `reverie doctor` tries the hooks.")


def _install_proxy(
    frame: Invocation,
    app: Workspace,
    names: Sequence[str],
    scope: Scope,
    *,
    dry: bool,
    yes: bool,
) -> None:
    """Set the base URLs of clients to the proxy's address."""
    from reverie.clients.install.base_urls import base_url_files
    from reverie.clients.install.plan import open_proxied

    proxied = open_proxied(app)
    installed = client_plans.installations(proxied)
    places, url = client_plans.places_of(app), client_plans.proxy_url(app)
    plans = []
    for name in dict.fromkeys(names):
        bare = client_plans.bare(app, name, scope, url)
        files = base_url_files(name, places, url, project=scope == "project")
        plans.append(install(bare, files, client_plans.known(bare, installed), proxied.files))
    note = f"The client needs a running proxy at {url} from now on: start it with `reverie proxy`."
    notes = {plan.record.client: [note] for plan in plans}
    go = client_plans.settle(frame, app, plans, notes, asked=yes, dry=dry)
    if go:
        client_plans.carry_out(proxied, plans)
    if frame.as_json:
        frame.show(client_plans.as_json(plans, notes, written=go), ())
    elif go:
        frame.show(None, "Installed. `reverie doctor` looks for the proxy.")


_OFFER = """Claude Code has a memory of its own for each project. Choose one:
  adopt   one memory, in Claude Code's directory; both read and write it
  beside  Reverie's memory; Claude Code's own is off until you uninstall
  mcp     no hooks: the model asks for memories when it wants to"""


def _way(frame: Invocation, app: Workspace, known: Installation | None, *, asked: bool) -> Way:
    """The earlier choice, else what the person chooses, or what is recommended here."""
    if known is not None and known.way:
        return _valid(known.way)
    advised: Way = "adopt" if _could_adopt(app) and _holds_memories(app) else "beside"
    if asked or frame.as_json or not at_terminal():
        return advised
    click.echo(_OFFER, err=True)
    choice = click.Choice(WAYS)
    return _valid(click.prompt("Which", type=choice, default=advised, err=True))


def _valid(way: str) -> Way:
    return next((one for one in WAYS if one == way), "beside")


def _could_adopt(app: Workspace) -> bool:
    """Whether adopting would hide no memory that was saved here."""
    if app.settings.memory_directory is not None:
        return False
    return bool(app.adoption.current) or not app.memory("project").store.entries()


def _holds_memories(app: Workspace) -> bool:
    directory = app.claude_memory()
    return directory is not None and any(directory.glob("*.md"))


def _require_possible(app: Workspace, way: Way, *, mcp: bool) -> None:
    if way == "mcp" and not mcp:
        raise InputError(f"nothing is left to install without the MCP server; {INSTALL_PACKAGE}")
    if way == "adopt" and not _could_adopt(app):
        raise InputError(
            "memories saved here would become hidden; take them along: `reverie export mine.zip`, "
            "`reverie adopt claude-code --anyway`, `reverie import mine.zip`; or choose --memory beside"
        )


def _adopt(app: Workspace) -> None:
    """Adopt Claude Code's directory for this project; other projects follow when a session starts there."""
    directory = app.claude_memory()
    if directory is not None and not app.adoption.current:
        app.adoption.adopt(directory)


def _again(names: Sequence[str], scope: Scope) -> str:
    return f"reverie install {' '.join(dict.fromkeys(names))} --scope {scope}"


def _notes(app: Workspace, plan: Plan, installed: Sequence[Installation]) -> list[str]:
    """What else the user should know or do."""
    made = plan.record
    client = CLIENTS[made.client]
    home = shown_path(app, app.settings.home)
    notes = [_WAYS[made.way]] if made.way in _WAYS else []
    notes += [note.format(home=home) for note in client.notes]
    if made.scope == "project":
        notes.append("The files name a path of this machine: do not commit them.")
        notes += [client.project_note] if client.project_note else []
    roots = {"", str(app.project.root)}
    if any(
        one.client == made.client and one.scope != made.scope and one.root in roots
        for one in installed
    ):
        notes.append("It is installed in both scopes now: hooks may run twice in this project.")
    return notes


@reverie_command(name="uninstall")
@client_plans.names
@click.option(
    "--scope", type=click.Choice(SCOPES), help="Only yours, or only this project's (default: both)."
)
@click.option("--proxy", is_flag=True, help="Only the base URL that leads to `reverie proxy`.")
@client_plans.dry_run
@client_plans.yes
def uninstall_command(
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
    from reverie.clients.install.plan import open_clients

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
    from reverie.clients.install.base_urls import base_url_files
    from reverie.clients.install.plan import open_proxied

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
