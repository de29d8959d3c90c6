"""The command line starts logging for its process; a test gives it back."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    log = logging.getLogger("reverie")
    before, level = list(log.handlers), log.level
    yield
    for handler in [handler for handler in log.handlers if handler not in before]:
        log.removeHandler(handler)
        handler.close()
    log.setLevel(level)
