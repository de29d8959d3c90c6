"""A write that is killed, or refused by the disk, at every single system call it makes.

Whatever the moment: each file is the old one or the new one, the next command puts the rest right
by itself, index and topics agree, and history holds all of it, in one line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.faults.stories import STORIES
from tests.faults.tracing import why_no_failures, why_not
from tests.faults.trial import FATES

REPOSITORY = Path(__file__).parents[2]


def tried(story: str, fate: str, folder: Path) -> dict[str, Any]:
    why = why_not() if FATES[fate].error is None else why_no_failures()
    if why is not None:
        pytest.skip(why)
    command = [sys.executable, "-m", "tests.faults.trial", story, fate, str(folder)]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=1_500, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert not found["wrong"], "\n".join([*found["wrong"][:30], done.stderr[-3_000:]])
    return found


def test_a_new_memory_killed_at_every_call(folder: Path) -> None:
    # At least: four objects, two references and two files, each made, flushed and named.
    assert tried("remember", "killed", folder)["calls"] > 50


def test_a_new_memory_on_a_full_disk_at_every_call(folder: Path) -> None:
    found = tried("remember", "ENOSPC", folder)
    assert found["calls"] > 50
    # Most of these calls matter, so the writer must have been told.
    assert found["told"] > found["calls"] // 2


def test_a_dreams_merge_killed_at_every_call(folder: Path) -> None:
    # The lock taken and given back, three files and the index; and the next dream runs.
    assert tried("dream", "killed", folder)["calls"] > 80


def test_packing_killed_at_every_call(folder: Path) -> None:
    # The pack and its index made, flushed and named; then each loose object removed.
    assert tried("packing", "killed", folder)["calls"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("fate", FATES)
def test_the_whole_matrix(story: str, fate: str, folder: Path) -> None:
    assert tried(story, fate, folder)["calls"] > 30
