"""docs/fleet.md really works: `scripts/fleet_walk.py` plays it, from two machines to a restored backup."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_page_of_the_service() -> None:
    walk = [sys.executable, str(ROOT / "scripts" / "fleet_walk.py")]
    done = subprocess.run(walk, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
