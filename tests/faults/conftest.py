"""Where the trials are held."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

# A killed process loses nothing the kernel has: in memory all is the same, only faster.
MEMORY = Path("/dev/shm")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    base = MEMORY if os.access(MEMORY, os.W_OK) else tmp_path
    place = base / f"reverie-trial-{os.getpid()}"
    place.mkdir()
    yield place
    shutil.rmtree(place)
