"""`reverie daemon`: the process behind the hooks, which starts by itself; for people who wonder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command

if TYPE_CHECKING:
    from rich.console import Console

ACTIONS = ("status", "start", "stop", "run")


@reverie_command(name="daemon")
@click.argument("action", type=click.Choice(ACTIONS), default="status")
def command(frame: Invocation, action: str) -> None:
    """The process behind the hooks: status, start, stop; run serves here.

    It starts with the first hook of a coding agent and ends when none came for so many minutes as
    the setting daemon.idle_minutes says.
    It listens on this machine only: a socket in Reverie's home, and a port of 127.0.0.1 for HTTP
    hooks that know its token (both in daemon/daemon.json).

    \b
    reverie daemon
    reverie daemon stop
    """
    from reverie.clients import hook_client
    from reverie.clients.daemon import control

    # Not from the settings: a daemon can be found and stopped while they are broken.
    home = frame.home.expanduser().absolute() if frame.home else Path(hook_client.default_home())
    match action:
        case "run":
            from reverie.clients.daemon.running import run

            ending = run(home)
            frame.show({"ending": ending}, lambda console: console.print(f"It ended: {ending}."))
        case "start":
            _show(frame, control.start(home))
        case "stop":
            ended = control.stop(home)
            said = "It ended." if ended else "No daemon was running."
            frame.show({"stopped": ended}, lambda console: console.print(said))
        case _:
            _show(frame, control.status(home))


def _show(frame: Invocation, told: dict[str, Any] | None) -> None:
    if told is None:
        frame.show({"running": False}, lambda console: console.print("No daemon is running."))
    else:
        frame.show({"running": True, **told}, lambda console: _print(console, told))


def _print(console: Console, told: dict[str, Any]) -> None:
    console.print(
        f"Running: pid {told['pid']}, port {told['port']}, version {told['version']}, "
        f"for {told['uptime_seconds']:,.0f} s; {told['errors']} errors, "
        f"{told['hook_errors']} hooks without an answer."
    )
    for name, event in told["events"].items():
        taken = "" if event["median_ms"] is None else f", {event['median_ms']:g} ms (median)"
        errors = f", {event['errors']} errors" if event["errors"] else ""
        console.print(printable(f"  {name}: {event['count']}×{taken}{errors}"), soft_wrap=True)
    console.print(printable(f"Log: {told['log']}"), soft_wrap=True)
