"""Folders of one's own: the home and what lies in it is for its owner's eyes alone."""

from __future__ import annotations

from pathlib import Path


def make_private(folder: Path) -> None:
    """Make a folder and whatever is missing on the way to it, each with mode 0700."""
    if not folder.parent.is_dir():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
