"""Private folders, project folders under the home, and file ownership."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

_READABLE = 60


def make_private(folder: Path) -> None:
    """Make a folder and its missing parents, each with mode 0700."""
    if not folder.parent.is_dir():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def project_folder(home: Path, root: Path) -> Path:
    """Where Reverie keeps a project's data: under the home, never inside the project."""
    return home / "projects" / slug(root)


def slug(root: Path) -> str:
    """A readable folder name that is unique to this root."""
    readable = re.sub(r"[^A-Za-z0-9._]+", "-", str(root)).strip("-")[-_READABLE:]
    digest = hashlib.blake2b(str(root).encode("utf-8", "surrogateescape"), digest_size=4)
    return f"{readable}-{digest.hexdigest()}".lstrip("-.")


def owned_by_us(status: os.stat_result, user: int | None = None) -> bool:
    """Whether the file belongs to this user or to root; other users' files are not trusted."""
    return status.st_uid in (0, os.geteuid() if user is None else user)
