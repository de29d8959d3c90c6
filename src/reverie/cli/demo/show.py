"""The whole show: the session as it is, told turn by turn, and then again without each layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.cli.demo.afternoon import AFTERNOON
from reverie.cli.demo.live import LiveView
from reverie.cli.demo.morning import MORNING
from reverie.cli.demo.runs import VARIANTS, Run, Turn
from reverie.cli.demo.stage import Stage, StageClock
from reverie.cli.screen import start_logging
from reverie.workspace import SystemClock

if TYPE_CHECKING:
    from rich.console import Console

SCENES = (*MORNING, *AFTERNOON)


async def play(folder: Path, screen: Console | None, pace: float, verbose: int) -> list[Run]:
    """All variants, the one with every layer first; without a screen nobody is told anything."""
    began = _this_morning()
    whole, *others = (
        Stage(folder / str(number), variant, StageClock(began))
        for number, variant in enumerate(VARIANTS, 1)
    )
    start_logging(whole.app.settings, verbose)
    if screen is None:
        return [await stage.play(SCENES, _silently) for stage in (whole, *others)]
    view = LiveView(screen, pace)
    view.open(len(SCENES))
    runs = [await whole.play(SCENES, view.tell)]
    view.close(runs[0])
    with _progress(screen, len(others)) as begin:
        for stage in others:
            begin(stage.variant.name)
            runs.append(await stage.play(SCENES, _silently))
    return runs


async def _silently(turn: Turn) -> None:
    """For replays: only their sums are shown."""


def _this_morning() -> float:
    """Ten past nine today: the session is over before midnight, wherever and whenever it is played."""
    now = datetime.fromtimestamp(SystemClock().now())
    return now.replace(hour=9, minute=10, second=0, microsecond=0).timestamp()


@contextmanager
def _progress(screen: Console, total: int) -> Iterator[Callable[[str], None]]:
    """Tells which replay is under way: with a bar on a terminal, in a line elsewhere."""
    from rich.progress import BarColumn, Progress, TextColumn

    screen.print()
    if not screen.is_terminal:
        yield lambda name: screen.print(f"Playing it again: {name} …")
        return
    text = TextColumn("Playing it again: {task.description}")
    with Progress(text, BarColumn(), console=screen, transient=True) as progress:
        task = progress.add_task("", total=total)

        def begin(name: str) -> None:
            progress.update(task, description=name)
            progress.advance(task)

        yield begin
