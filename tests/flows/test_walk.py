"""docs/walk.md really happened: `scripts/walk.py` plays it and must print the same.

After a change that is meant: `make docs`, then read the diff.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def play() -> None:
    walk = [sys.executable, str(ROOT / "scripts" / "walk.py")]
    done = subprocess.run(walk, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_first_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALK_WITHOUT_CLAUDE", "1")
    play()


@pytest.mark.clients
def test_the_first_ten_minutes_with_claude_code() -> None:
    assert shutil.which("claude") is not None, "claude is missing: run `make test-clients`"
    play()
