"""`reverie hook`: the command of a coding agent's hooks. `hook_client` usually answers without it."""

from __future__ import annotations

import click

from reverie.cli.invocation import Invocation, reverie_command

CLIENTS = ("claude-code", "codex", "gemini", "opencode", "cursor")


@reverie_command(name="hook")
@click.argument("event", metavar="EVENT")
@click.option("--client", type=click.Choice(CLIENTS), required=True, help="Whose hook this is.")
def command(frame: Invocation, event: str, client: str) -> None:
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
