"""The instrument itself: it sees every call, stops a process at one, and makes one fail."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.faults.tracing import Fate, traced, why_no_failures, why_not

REPOSITORY = Path(__file__).parents[2]
CALLS = ["openat", "write", "fsync", "rename"]


def work(path: str) -> Callable[[], None]:
    def save() -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.write(file, b"words")
        os.fsync(file)
        Path(path).rename(f"{path}.new")

    return save


def run(path: Path, at: int, error: int | None = None) -> dict[str, Any]:
    """In a process of its own: forking one with threads is asking for trouble."""
    command = [
        sys.executable,
        "-m",
        "tests.faults.test_tracing",
        str(path),
        str(at),
        str(error or 0),
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    ran: dict[str, Any] = json.loads(done.stdout)
    ran["names"] = [call["name"] for call in ran["calls"]]
    return ran


def needed(why: str | None) -> pytest.MarkDecorator:
    return pytest.mark.skipif(why is not None, reason=why or "")


@needed(why_not())
def test_it_sees_every_call(tmp_path: Path) -> None:
    ran = run(tmp_path / "a", 0)
    assert (ran["end"], ran["code"], ran["names"]) == ("exited", 0, CALLS)
    assert ran["calls"][1]["path"] == str(tmp_path / "a")
    assert ran["calls"][3]["path"] == f"{tmp_path / 'a'} -> {tmp_path / 'a.new'}"


@needed(why_not())
@pytest.mark.parametrize(
    ("at", "there", "size"), [(1, False, 0), (2, True, 0), (3, True, 5), (4, True, 5)]
)
def test_it_kills_before_the_call(tmp_path: Path, at: int, there: bool, size: int) -> None:
    path = tmp_path / "a"
    ran = run(path, at)
    assert (ran["end"], ran["names"]) == ("killed", CALLS[:at])
    assert path.exists() is there
    assert not there or path.stat().st_size == size
    assert not (tmp_path / "a.new").exists()


@needed(why_no_failures())
def test_it_makes_a_call_fail(tmp_path: Path) -> None:
    ran = run(tmp_path / "a", 4, errno.ENOSPC)
    assert (ran["end"], ran["code"]) == ("exited", errno.ENOSPC)
    assert (tmp_path / "a").exists()


if __name__ == "__main__":

    def told() -> None:
        try:
            work(sys.argv[1])()
        except OSError as refused:
            sys.exit(refused.errno)

    fate = Fate(int(sys.argv[2]), int(sys.argv[3]) or None)
    print(json.dumps(asdict(traced(told, fate))))
