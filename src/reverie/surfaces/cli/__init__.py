"""The command line. `main` is the entry point; each command lives in its own module."""

from reverie.surfaces.cli.group import main

__all__ = ["main"]
