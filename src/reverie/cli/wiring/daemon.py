"""`reverie hook` and `reverie daemon`: the command of a coding agent's hooks, and the process behind it.

`clients/hook_client.py` usually answers a hook without this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import StorageError

if TYPE_CHECKING:
    from rich.console import Console


CLIENTS = ("claude-code", "codex", "gemini", "opencode", "cursor")


@reverie_command(name="hook")
@click.argument("event", metavar="EVENT")
@click.option("--client", type=click.Choice(CLIENTS), required=True, help="Whose hook this is.")
def hook(frame: Invocation, event: str, client: str) -> None:
    """Answer a hook of a coding agent; `reverie install` sets them up.

    EVENT is the client's own name for what happens; its JSON comes on stdin, and the answer goes
    to stdout. A hook never fails: it exits with 0, and what went wrong is in hooks.log.

    \b
    echo '{"session_id": "s1", "cwd": "'$PWD'", "prompt": "which package manager?"}' |
        reverie hook UserPromptSubmit --client claude-code
    """
    from reverie.clients import hook_client

    home = str(frame.home.expanduser().absolute()) if frame.home else hook_client.default_home()
    hook_client.forward(event, client, home)


ACTIONS = ("status", "start", "stop", "run")


@reverie_command(name="daemon")
@click.argument("action", type=click.Choice(ACTIONS), default="status")
def daemon(frame: Invocation, action: str) -> None:
    """Control the process behind the hooks: status, start, stop, or run it here.

    It starts with the first hook of a coding agent and ends after daemon.idle_minutes without one.
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
            message = "It ended." if ended else "No daemon was running."
            frame.show({"stopped": ended}, lambda console: console.print(message))
        case _:
            status = control.status(home)
            pid = control.silent(home) if status is None else None
            if pid is not None:
                raise StorageError(
                    f"the daemon (process {pid}) answers nothing; {control.wake(pid)}"
                )
            _show(frame, status)


def _show(frame: Invocation, status: dict[str, Any] | None) -> None:
    if status is None:
        frame.show({"running": False}, lambda console: console.print("No daemon is running."))
    else:
        frame.show({"running": True, **status}, lambda console: _print(console, status))


def _print(console: Console, status: dict[str, Any]) -> None:
    console.print(
        f"Running: pid {status['pid']}, port {status['port']}, version {status['version']}, "
        f"for {status['uptime_seconds']:,.0f} s; {status['errors']} errors, "
        f"{status['hook_errors']} hooks without an answer."
    )
    for name, event in status["events"].items():
        taken = "" if event["median_ms"] is None else f", {event['median_ms']:g} ms (median)"
        errors = f", {event['errors']} errors" if event["errors"] else ""
        console.print(printable(f"  {name}: {event['count']}×{taken}{errors}"), soft_wrap=True)
    console.print(printable(f"Log: {status['log']}"), soft_wrap=True)
