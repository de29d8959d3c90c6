"""Folders of one's own: the home, what lies in it, and who owns a file somewhere else."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

_READABLE = 60


def make_private(folder: Path) -> None:
    """Make a folder and whatever is missing on the way to it, each with mode 0700."""
    if not folder.parent.is_dir():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def project_folder(home: Path, root: Path) -> Path:
    """Where Reverie keeps everything about a project: under the home, never inside the project."""
    return home / "projects" / slug(root)


def slug(root: Path) -> str:
    """A folder name a person recognises, and that no other root shares."""
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", str(root)).strip("-")[-_READABLE:]
    digest = hashlib.blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=4)
    return f"{readable}-{digest.hexdigest()}".lstrip("-.")


def owned_by_us(status: os.stat_result, user: int | None = None) -> bool:
    """Is it ours, or the system's? What another user of the machine made speaks for them, not for us."""
    return status.st_uid in (0, os.geteuid() if user is None else user)
