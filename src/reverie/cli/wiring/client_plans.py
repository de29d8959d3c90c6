"""Shared by `install` and `uninstall`: where clients are; show, confirm and carry out a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    at_terminal,
    console,
    patch_lines,
    print_lines,
    stop_printing,
)
from reverie.cli.memories import shown_path
from reverie.clients.install.clients import CLIENTS
from reverie.clients.install.plan import Change, Installation, Plan, Scope
from reverie.clients.install.wiring import Places
from reverie.errors import InputError
from reverie.settings import projects

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.clients.install.plan import Clients
    from reverie.workspace import Workspace

names = click.argument(
    "names",
    nargs=-1,
    required=True,
    type=click.Choice(tuple(CLIENTS)),
    metavar="CLIENT...",
)
dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, and stop.")
yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")


def places_of(app: Workspace) -> Places:
    """Where the clients of this machine keep their files."""
    return Places(
        person=app.settings.person_home,
        project=app.project.root,
        claude=projects.claude_config(),
        claude_state=projects.claude_state(),
        codex=projects.codex_home(),
        opencode=projects.opencode_config(),
    )


def home_of(app: Workspace) -> str:
    """Reverie's home as commands must name it; empty for the default, which they find."""
    usual = app.settings.person_home / ".reverie"
    return "" if app.settings.home == usual else str(app.settings.home)


def proxy_url(app: Workspace) -> str:
    """Where clients on this machine find the proxy."""
    port = int(app.settings.number("proxy.port"))
    if not port:
        raise InputError("proxy.port is 0, so the address would change; set it to a fixed port")
    return f"http://127.0.0.1:{port}"


def bare(app: Workspace, client: str, scope: Scope, program: str = "") -> Installation:
    """An installation with no files written yet."""
    return Installation(client, scope, "" if scope == "user" else str(app.project.root), program)


def installations(clients: Clients) -> list[Installation]:
    """Every recorded installation that can be read."""
    return list(_readable(clients.installed()))


def _readable(rows: Sequence[dict[str, Any]]) -> Iterator[Installation]:
    for row in rows:
        with suppress(KeyError, TypeError, ValueError):
            one = Installation.read(row)
            if one.client in CLIENTS:
                yield one


def known(bare: Installation, there: Sequence[Installation]) -> Installation | None:
    return next((one for one in there if one.key == bare.key), None)


def carry_out(clients: Clients, plans: Sequence[Plan]) -> None:
    """Write and remove files, and record the installations.

    The record is written before the files, so that every file can be found after a crash.
    """
    changes = [change for plan in plans for change in plan.changes]
    for change in changes:
        if change.kind != "none":
            clients.files.check_writable(change.path)
    with clients.alone():
        _carry_out(clients, plans, changes)


def _carry_out(clients: Clients, plans: Sequence[Plan], changes: Sequence[Change]) -> None:
    kept = [plan.record for plan in plans if plan.record.files]
    planned = {plan.record.key for plan in plans}
    others = [one for one in installations(clients) if one.key not in planned]
    records = [*others, *kept]
    if kept:
        clients.write_down([one.as_json() for one in records])
    for change in changes:
        if change.kind == "none":
            continue
        if change.after is None:
            clients.files.remove(change.path)
        else:
            clients.files.write(change.path, change.after, expected=change.before)
    for change in changes:
        clients.files.tidy(change.folders)
    if not kept:
        clients.write_down([one.as_json() for one in records])


def settle(
    frame: Invocation,
    app: Workspace,
    plans: Sequence[Plan],
    notes: dict[str, list[str]],
    *,
    asked: bool,
    dry: bool,
) -> bool:
    """Show the plans and ask; True when they are to be carried out."""
    empty = all(plan.empty for plan in plans)
    if not frame.as_json and not frame.quiet:
        try:
            print_lines(console(), _plan_lines(app, plans, notes))
        except BrokenPipeError:
            if not asked:
                raise
            # `--yes` decides, whether or not the diff is read to its end.
            stop_printing()
    if dry or empty:
        return False
    if not asked:
        _ask(app, plans)
    return True


def as_json(plans: Sequence[Plan], notes: dict[str, list[str]], *, written: bool) -> dict[str, Any]:
    """The plans for programs."""
    rows = [
        {
            "client": plan.record.client,
            "scope": plan.record.scope,
            "files": [
                {
                    "path": str(change.path),
                    "change": change.kind,
                    "diff": change.diff(str(change.path)),
                }
                for change in plan.changes
            ],
            "notes": notes.get(plan.record.client, []),
        }
        for plan in plans
    ]
    return {"clients": rows, "written": written}


def show_uninstalled(frame: Invocation, plans: Sequence[Plan], *, written: bool) -> None:
    """Show the outcome of the plans."""
    changed = any(not plan.empty for plan in plans)
    if frame.as_json:
        frame.show(as_json(plans, {}, written=written and changed), ())
    elif not plans:
        frame.show(None, "Nothing of Reverie is installed there.")
    elif written and changed:
        frame.show(None, "Uninstalled.")


def _plan_lines(
    app: Workspace, plans: Sequence[Plan], notes: dict[str, list[str]]
) -> Iterator[RenderableType]:
    for plan in plans:
        title = CLIENTS[plan.record.client].title
        if plan.empty:
            yield f"{title} ({plan.record.scope}): nothing to change."
            continue
        for change in plan.changes:
            if patch := change.diff(shown_path(app, change.path)):
                yield from patch_lines(patch)
        yield from (f"{title}: {one}" for one in notes.get(plan.record.client, []))


def _ask(app: Workspace, plans: Sequence[Plan]) -> None:
    """Ask on a terminal; elsewhere --yes is required."""
    files = [
        shown_path(app, change.path)
        for plan in plans
        for change in plan.changes
        if change.kind != "none"
    ]
    named = ", ".join(files)
    if not at_terminal():
        raise InputError(f"this would change {named}; confirm with --yes, or look with --dry-run")
    if not click.confirm(f"Change {named}?", err=True):
        raise InputError("nothing was changed")
