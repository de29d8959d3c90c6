"""The files below a folder, in order, without version control's own and what it ignores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.searching.ignoring import Rules, ignored, rules_above, rules_in

VERSION_CONTROL = (".git", ".hg", ".jj", ".svn")


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file, and the way to it from the folder that was searched."""

    path: Path
    parts: tuple[str, ...]
    ignored: bool
    link: bool


def files_below(
    folder: Path, enter: Callable[[tuple[str, ...]], bool] = lambda parts: True
) -> Iterator[FoundFile]:
    """Every file, by name; ignored folders are not entered, ignored files are marked.

    `enter` says which folders are worth looking into. Links are not followed.
    """
    base = Path(os.path.abspath(folder))  # noqa: PTH100 - links above the folder stay as they are
    yield from _below(base, (), rules_above(base), enter)


def _below(
    folder: Path,
    parts: tuple[str, ...],
    above: tuple[Rules, ...],
    enter: Callable[[tuple[str, ...]], bool],
) -> Iterator[FoundFile]:
    own = rules_in(folder)
    layers = (*above, own) if own.rules else above
    for entry in _entries(folder):
        if entry.name in VERSION_CONTROL:
            continue
        inner = (*parts, entry.name)
        path = folder / entry.name
        if not entry.is_dir(follow_symlinks=False):
            skipped = ignored(path.parts, layers, folder=False)
            yield FoundFile(path, inner, skipped, entry.is_symlink())
        elif enter(inner) and not ignored(path.parts, layers, folder=True):
            # A repository inside this one has rules of its own.
            apart = (path / ".git").exists()
            yield from _below(path, inner, () if apart else layers, enter)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
