"""The command line. `main` is the entry point; each command lives in its own module."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; a hook skips click and its imports, since a client waits for it."""
    arguments = sys.argv[2:]
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & {*arguments}:
        _hook(arguments)
        return
    from reverie.cli.group import main as run

    run()


def _hook(arguments: list[str]) -> None:
    """Run a hook and always exit with 0: exit code 2 would block the client."""
    from reverie.clients import hook_client

    try:
        if not hook_client.run(arguments):
            from reverie.cli.wiring.processes import hook as command

            command.main(arguments, prog_name="reverie hook", standalone_mode=False)
    except Exception as error:  # noqa: BLE001 - a failing hook must not break the client
        message = str(error) or type(error).__name__
        hook_client.note(hook_client.default_home(), f"hook {' '.join(arguments)}: {message}")
