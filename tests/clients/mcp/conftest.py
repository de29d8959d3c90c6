"""One server for all tests of a module, as starting one takes most of a second."""

from collections.abc import AsyncIterator, Iterator

import pytest
from mcp import Client
from tests.clients.mcp.stage import SESSION, Stage, stage


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("mcp")) as made:
        yield made
        if made.errors.exists():
            assert "Traceback" not in made.errors.read_text()


@pytest.fixture(scope="module")
async def client(place: Stage) -> AsyncIterator[Client]:
    async with place.client(CLAUDE_CODE_SESSION_ID=SESSION) as made:
        yield made
