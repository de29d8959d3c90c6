from collections.abc import Iterator

import pytest
from tests.postgres.running import Fleet


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    made = Fleet()
    yield made
    made.close()
