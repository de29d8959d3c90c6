"""The path under which clients will call Reverie."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from reverie.errors import InputError
from reverie.surfaces.install.entries import NAME


def program() -> str:
    """The `reverie` that runs now: by what it was called, else the one beside this Python.

    Links are kept: what a package manager links to moves with every upgrade.
    """
    called = Path(sys.argv[0])
    beside = Path(sys.executable).with_name(NAME)
    for path in (called, beside):
        if path.name == NAME and path.is_file():
            return str(path.absolute())
    if found := shutil.which(NAME):
        return str(Path(found).absolute())
    raise InputError(
        f"there is no `{NAME}` command for clients to call; install it: pipx install {NAME}"
    )
