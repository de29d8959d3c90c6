from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres.running import Fleet
from tests.postgres.serving import Running


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    made = Fleet()
    yield made
    made.close()


@pytest.fixture
def running(fleet: Fleet, tmp_path: Path) -> Iterator[Running]:
    made = Running(fleet, tmp_path)
    yield made
    made.close()
