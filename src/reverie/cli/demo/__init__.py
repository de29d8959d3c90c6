"""`reverie demo`: a long scripted session, played live, then again without each layer."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from reverie.cli.invocation import Invocation, console, reverie_command
from reverie.errors import InvariantBroken
from reverie.settings.sources import environment

# Seconds between turns on a terminal.
_PACE = 0.3
# The demo's folder has a path of this length where it can, so that every machine counts the same tokens.
_PATH_LENGTH = 80


@reverie_command(name="demo")
@click.option("--fast", is_flag=True, help="Do not pause between turns.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Where the report goes: a file or a folder (default: reverie-demo.html here).",
)
@click.option("--no-open", is_flag=True, help="Do not show the report in a browser.")
@click.option("--keep", is_flag=True, help="Keep the project and the home it played in.")
def command(frame: Invocation, fast: bool, output: Path | None, no_open: bool, keep: bool) -> None:
    """A long session through the layers, live, without a key.

    It plays in a project and a home of its own, with settings of its own: --project, --home,
    --memory-dir and --set change nothing. The report is one HTML file (and a PNG, where matplotlib
    is installed); what exists is never overwritten.

    \b
    reverie demo
    reverie demo --fast --no-open --output ~/reports
    """
    from reverie.cli.demo import page, screen
    from reverie.cli.demo.player import away_from_home
    from reverie.cli.screen import run

    target = page.free(output or Path.cwd())
    printed = not (frame.as_json or frame.quiet)
    watched = printed and sys.stdout.isatty()
    with _scratch(keep=keep) as folder, away_from_home(folder / "person"):
        pace = _PACE if watched and not fast else 0.0
        view = screen.LiveView(console(), pace) if printed else None
        runs = run(screen.play(folder, view, frame.verbose))
        files = [str(file) for file in page.save(runs, target)]
    kept = str(folder) if keep else None
    data = screen.as_json(runs, files, kept)
    frame.show(data, lambda out: screen.show(out, runs, files, kept))
    display = sys.platform == "darwin" or any(
        map(environment().get, ("DISPLAY", "WAYLAND_DISPLAY"))
    )
    if watched and display and not no_open:
        click.launch(files[0])
    failed = [check.name for check in screen.checks(runs[0]) if not check.passed]
    if failed:
        raise InvariantBroken(f"a check of the demo failed: {'; '.join(failed)}")


@contextmanager
def _scratch(*, keep: bool) -> Iterator[Path]:
    """A folder for the demo alone, removed however the demo ends, unless it is to be kept."""
    above = Path(tempfile.gettempdir()).resolve()
    # `mkdtemp` adds eight characters.
    prefix = "reverie-demo-".ljust(_PATH_LENGTH - len(f"{above}/") - 8, "x")
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=above))
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
