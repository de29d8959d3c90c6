"""The plugin folder before Claude Code's own validator."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.clients

FOLDER = Path(__file__).parents[2] / "integrations" / "claude-code-plugin"


def test_the_clients_own_validator_has_nothing_to_say(tmp_path: Path) -> None:
    claude = shutil.which("claude")
    if claude is None:
        pytest.skip("claude is not on PATH")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"),
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    checked = subprocess.run(
        [claude, "plugin", "validate", "--strict", str(FOLDER)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
