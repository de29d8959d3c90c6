"""`reverie demo`: a bundled long session, played live, then again without each layer."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reverie.cli.figures import printable
from reverie.cli.frame import Frame, console, reverie_command
from reverie.errors import InvariantBroken

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.cli.demo.runs import Run


# More than forty turns, in the time one likes to watch.
_PACE = 0.3


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
def command(frame: Frame, fast: bool, output: Path | None, no_open: bool, keep: bool) -> None:
    """A long session through the layers, live, without a key.

    It plays in a project and a home of its own, with settings of its own: --project, --home,
    --memory-dir and --set change nothing. The report is one HTML file (and a PNG, where matplotlib
    is installed); what exists is never overwritten.

    \b
    reverie demo
    reverie demo --fast --no-open --output ~/reports
    """
    from reverie.cli.demo import report, saving
    from reverie.cli.demo.show import play
    from reverie.cli.demo.stage import away_from_home
    from reverie.cli.running import run

    target = saving.free(output or Path.cwd())
    told = not (frame.as_json or frame.quiet)
    watched = told and sys.stdout.isatty()
    screen = console() if told else None
    with _scratch(keep=keep) as folder, away_from_home(folder / "person"):
        runs = run(play(folder, screen, _PACE if watched and not fast else 0.0, frame.verbose))
        files = saving.save(runs, target)
    kept = str(folder) if keep else None
    data = report.as_json(runs, [str(file) for file in files], kept)
    frame.show(data, lambda screen: _end(screen, runs, files, kept))
    if watched and not no_open and _has_display():
        click.launch(str(files[0]))
    failed = [check.name for check in report.checks(runs[0]) if not check.passed]
    if failed:
        raise InvariantBroken(f"a check of the demo failed: {'; '.join(failed)}")


@contextmanager
def _scratch(*, keep: bool) -> Iterator[Path]:
    """A folder for the demo alone; it goes however the demo ends, unless it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="reverie-demo-")).resolve()
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _end(screen: Console, runs: Sequence[Run], files: Sequence[Path], kept: str | None) -> None:
    from reverie.cli.demo import report

    report.show(screen, runs)
    for file in files:
        screen.print(f"Report: {printable(str(file))}", soft_wrap=True)
    if len(files) == 1:
        screen.print("(no PNG: matplotlib is not installed)", style="dim")
    if kept:
        where = printable(kept)
        screen.print(f"Kept: {where}; to look around: reverie --home {where}/1/home --project {where}/1/ferry context", soft_wrap=True)  # fmt: skip


def _has_display() -> bool:
    """Is there a screen a browser could open on?"""
    from reverie.settings.sources import environment

    return sys.platform == "darwin" or any(
        environment().get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
