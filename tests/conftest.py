"""What all tests share: time the test owns, and folders that are nobody's."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.place import FixedClock, Place
from tests.provider.fixtures import provider, provider_server

__all__ = ["provider", "provider_server"]

# Properties measure nothing: a slow machine is not a failure.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: FixedClock) -> Place:
    """A scratch home and project; no setting and no key of the person who runs the tests."""
    kept = (
        "PATH",
        "LANG",
        "LC_ALL",
        "TZ",
        "TMPDIR",
        "COVERAGE_PROCESS_START",
        "COVERAGE_PROCESS_CONFIG",
    )
    for name in set(os.environ) - set(kept):
        if name.startswith(("REVERIE_", "GIT_", "ANTHROPIC_", "OPENAI_")):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    # A busy machine is no reason for a memory to be late.
    monkeypatch.setenv("REVERIE_RECALL_DEADLINE", "60")
    # No test waits for a pause of the person.
    monkeypatch.setenv("REVERIE_LEARNING_PAUSE", "0")
    found = Place(tmp_path, clock)
    monkeypatch.setenv("HOME", str(found.person))
    monkeypatch.chdir(found.root)
    return found


@pytest.fixture(autouse=True)
def quiet_log() -> Iterator[None]:
    """The command line starts logging for its process; a test gives it back."""
    log = logging.getLogger("reverie")
    before, level = list(log.handlers), log.level
    yield
    for handler in [handler for handler in log.handlers if handler not in before]:
        log.removeHandler(handler)
        handler.close()
    log.setLevel(level)


def pytest_sessionfinish() -> None:
    """Remove this process's PostgreSQL, if a test started one."""
    running = sys.modules.get("tests.postgres.running")
    if running is not None and running.server.cache_info().currsize:
        running.server().delete()
