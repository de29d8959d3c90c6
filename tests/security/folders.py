"""Folders as a stranger hands them over: archives, clones and pointers to other people's repositories."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.place import git

# A user of the machine that is neither us nor root.
STRANGER = 54321


def given_away(*paths: Path) -> None:
    """Let another user own these; only root can do that."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in paths:
        os.lchown(path, STRANGER, STRANGER)


def no_git(root: Path) -> None:
    """An archive without git."""


def empty_git(root: Path) -> None:
    (root / ".git").mkdir()


def pointer(root: Path) -> None:
    """`.git` is a file that leads to a folder of the archive itself."""
    (root / "g").mkdir()
    (root / ".git").write_text("gitdir: ./g\n")


def untracked(root: Path) -> None:
    """A real repository whose index does not name the file."""
    git(root, "init", "-q")


def _tracked(root: Path, *settings: str) -> None:
    git(root, "init", "-q")
    for setting in settings:
        key, _, value = setting.partition("=")
        git(root, "config", key, value)
    (root / ".reverie" / "settings.local.zzz").write_text("a longer name before it\n")
    git(root, "add", "-f", ".")
    git(root, "commit", "-q", "-m", "first")


def tracked(root: Path) -> None:
    _tracked(root)


def index_4(root: Path) -> None:
    """Names in the index are cut to what differs from the name before."""
    _tracked(root, "index.version=4")


def many_files(root: Path) -> None:
    _tracked(root, "feature.manyFiles=true")


def split_index(root: Path) -> None:
    """The index holds only what changed since another file was written."""
    _tracked(root, "core.splitIndex=true", "splitIndex.maxPercentChange=0")
    git(root, "update-index", "--split-index")


HANDED_OVER: tuple[Callable[[Path], None], ...] = (
    no_git,
    empty_git,
    pointer,
    untracked,
    tracked,
    index_4,
    many_files,
    split_index,
)
