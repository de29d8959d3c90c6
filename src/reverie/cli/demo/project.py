"""The made-up project the demo works on: a planner for ferries, with bugs and a timetable."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

# The files lie in the package with this ending, so that no tool takes them for ours.
_ENDING = ".txt"

_LINES = (
    ("Vestvik", "Storholm", 35, 6400),
    ("Storholm", "Lyngoy", 25, 4205),
    ("Lyngoy", "Sandvar", 40, 5150),
    ("Storholm", "Krokan", 55, 7890),
    ("Krokan", "Ytre", 30, 3890),
    ("Vestvik", "Heim", 20, 2890),
    ("Heim", "Torsby", 45, 6150),
    ("Torsby", "Ytre", 50, 7290),
)
_SHIPS = ("Terne", "Lomvi", "Alke", "Havhest", "Krykkje")
_DAYS = ("Mo-Su", "Mo-Fr", "Fr-Mo", "Mo-Su", "Mo,We,Sa")
_NOTES = ("", "no cars", "bookable until an hour before", "calls only when asked to", "")
_OUTWARD = 16
_EVERY = 70


def lay_out(root: Path) -> None:
    """Write the project into a folder."""
    for name, text in _sources(files(__package__) / "ferry", Path()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    data = root / "data" / "sailings.csv"
    data.parent.mkdir()
    data.write_text("\n".join(_timetable()) + "\n", encoding="utf-8")
    # As bare as Python starts: a demo runs them dozens of times.
    python = f"exec {shlex.quote(sys.executable)} -E -s -S -B"
    _program(root / "check", f'{python} tests/run.py "$@"')
    _program(root / "plan", f'{python} -m ferry "$@"')


def _program(path: Path, command: str) -> None:
    path.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    path.chmod(0o755)


def _sources(folder: Traversable, name: Path) -> Iterator[tuple[Path, str]]:
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            yield from _sources(one, name / one.name)
        elif one.name.endswith(_ENDING):
            yield name / one.name.removesuffix(_ENDING), one.read_text(encoding="utf-8")


def _timetable() -> Iterator[str]:
    yield "number;ship;from;leaves;to;arrives;days;price;note"
    for line, (one, other, takes, price) in enumerate(_LINES):
        for number in range(2 * _OUTWARD - 1):
            back, turn = divmod(number, _OUTWARD)
            leaves = 6 * 60 + line * 2 + back * takes + turn * _EVERY
            origin, target = (other, one) if back else (one, other)
            kind = line + number
            yield (
                f"{line + 1}{number:02};{_SHIPS[kind % 5]};{origin};{_clock(leaves)};{target};"
                f"{_clock(leaves + takes)};{_DAYS[kind % 5]};{price / 100:.2f};{_NOTES[kind % 5]}"
            )


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
