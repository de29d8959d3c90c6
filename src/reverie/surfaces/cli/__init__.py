"""The command line. `main` is the entry point; each command lives in its own module."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; a hook goes its own way, for a client waits for it."""
    if sys.argv[1:2] == ["hook"]:
        from reverie.surfaces import hook_client

        if hook_client.run(sys.argv[2:]):
            return
    from reverie.surfaces.cli.group import main as run

    run()
