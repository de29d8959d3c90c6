"""Paths as a model writes them, as they are, and as they are shown."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from reverie.agent.tools import Arguments, Workplace
from reverie.errors import InputError

_MOST_SUGGESTED = 5


def located(name: str, workplace: Workplace) -> Path:
    """The absolute path a name stands for: from the root, from home, or as it is."""
    if not name or "\0" in name:
        raise InputError(f"{name!r} is not a path")
    if name == "~" or name.startswith("~/"):
        home = workplace.environment.get("HOME") or str(Path.home())
        name = home + name[1:]
    # Links stay as they are; `..` is taken as people mean it.
    path = Path(os.path.normpath(workplace.root / name))
    return path if workplace.workshop is None else workplace.workshop.inside(path)


def real(path: Path) -> Path:
    """Where the content is, past every link: what would be written."""
    try:
        return path.resolve()
    except RuntimeError as error:
        raise InputError(f"{path} is a link that leads back to itself") from error


def written(arguments: Arguments, workplace: Workplace) -> tuple[Path, ...]:
    """The file a call with a `path` writes, past every link."""
    return (real(located(arguments["path"], workplace)),)


def shown(path: Path, workplace: Workplace) -> str:
    """Short inside the root, whole outside; always printable text."""
    path = path if workplace.workshop is None else workplace.workshop.outside(path)
    inside = path.is_relative_to(workplace.root)
    return printable(str(path.relative_to(workplace.root) if inside else path))


def printable(text: str) -> str:
    """Names and files on disk need not be text; what is not becomes a question mark in a box."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def missing(path: Path, workplace: Workplace) -> str:
    """Says that there is no such file, and what there is instead."""
    said = f"There is no file {shown(path, workplace)}."
    folder = path.parent
    if not folder.is_dir():
        while not folder.is_dir():
            folder = folder.parent
        return f"{said} The nearest folder that exists is {shown(folder, workplace)}."
    near = [shown(folder / name, workplace) for name in _near(path.name, folder)]
    return f"{said} Did you mean {' or '.join(near)}?" if near else said


def _near(name: str, folder: Path) -> list[str]:
    """Names that differ in case, ending, or a few letters."""
    readable = os.access(folder, os.R_OK)
    names = sorted(entry.name for entry in folder.iterdir()) if readable else []
    stem = Path(name).stem.casefold()
    same = [other for other in names if Path(other).stem.casefold() == stem]
    close = difflib.get_close_matches(name, names, _MOST_SUGGESTED)
    return list(dict.fromkeys([*same, *close]))[:_MOST_SUGGESTED]
