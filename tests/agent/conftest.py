"""What the tests of the agent's tools share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agent.workplaces import workplace

from reverie.agent.tools import Workplace


@pytest.fixture
def desk(tmp_path: Path) -> Workplace:
    """A workplace in an empty folder."""
    root = tmp_path / "desk"
    root.mkdir()
    return workplace(root)
