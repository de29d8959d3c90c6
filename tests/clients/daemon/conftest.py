"""Hooks with a daemon that is gone after the test."""

from collections.abc import Iterator

import pytest
from tests.clients.hooks.running import Hooks
from tests.place import Place


@pytest.fixture
def hooks(place: Place) -> Iterator[Hooks]:
    found = Hooks(place)
    yield found
    found.finish()
