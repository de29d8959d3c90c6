"""A desk with a daemon that is gone after the test."""

from collections.abc import Iterator

import pytest
from tests.place import Place, git
from tests.provider.provider import Provider
from tests.provider.server import ProviderServer
from tests.real_clients.desk import Desk


@pytest.fixture
def desk(place: Place, provider_server: ProviderServer) -> Iterator[Desk]:
    git(place.root, "init", "-q")
    found = Desk(place, provider_server.serve(Provider()))
    yield found
    found.reverie("daemon", "stop")
