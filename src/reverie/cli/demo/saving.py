"""Where the report goes, and writing it there: nothing that exists is overwritten."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from reverie.cli.demo import charts, page, picture
from reverie.cli.demo.runs import Run
from reverie.errors import InputError, StorageError

NAME = "reverie-demo.html"


def free(wanted: Path) -> Path:
    """The path itself, or the same with a number where that exists; in a folder, by our own name."""
    wanted = (wanted / NAME if wanted.is_dir() else wanted).absolute()
    if wanted.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"the report is a page: let {wanted.name!r} end with .html (--output)")
    if not os.access(wanted.parent, os.W_OK):
        raise InputError(f"cannot write into {str(wanted.parent)!r}; choose another --output")
    numbered = (wanted.with_stem(f"{wanted.stem}-{number}") for number in count(2))
    return next(path for path in chain((wanted,), numbered) if not _taken(path))


def save(runs: Sequence[Run], target: Path) -> list[Path]:
    """Write the page, and the plots as a picture where that is possible; gives what was written."""
    try:
        target.write_text(page.render(runs), encoding="utf-8")
        if not picture.available():
            return [target]
        drawn = _picture(target)
        picture.draw(charts.panels(runs), drawn)
    except OSError as error:
        raise StorageError(f"the report cannot be written: {error}") from error
    return [target, drawn]


def _picture(target: Path) -> Path:
    return target.with_suffix(".png")


def _taken(target: Path) -> bool:
    return target.exists() or _picture(target).exists()
