"""Pytest fixtures: one server for the session, a fresh provider for every test.

A suite uses them with `from tests.provider.fixtures import provider, provider_server` in its
conftest.
"""

from collections.abc import Iterator

import pytest
from tests.provider.provider import Provider
from tests.provider.server import ProviderServer


@pytest.fixture(scope="session")
def provider_server() -> Iterator[ProviderServer]:
    server = ProviderServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def provider(provider_server: ProviderServer) -> Iterator[Provider]:
    """A provider nobody has spoken to yet; the test fails if it was spoken to wrongly."""
    fresh = provider_server.serve(Provider())
    yield fresh
    fresh.close()
    found = fresh.problems()
    if found:
        pytest.fail("\n".join(found), pytrace=False)
