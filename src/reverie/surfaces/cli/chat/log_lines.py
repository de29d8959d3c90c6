"""Log records as lines of the conversation: on a screen that is drawn, nobody else may write."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

from reverie.surfaces.cli.chat import render
from reverie.surfaces.cli.chat.terminal import Screen


class LogLines(logging.Handler):
    """Shows what is logged, whichever thread logs it."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        line = render.aside(f"{record.levelname.lower()}: {record.getMessage()}", "yellow")
        self._loop.call_soon_threadsafe(self._screen.show, line)


@contextmanager
def logged_on(screen: Screen) -> Iterator[None]:
    """In place of what logs to the terminal; a log file is written as before."""
    log = logging.getLogger("reverie")
    before = list(log.handlers)
    log.handlers = [handler for handler in before if isinstance(handler, logging.FileHandler)]
    log.addHandler(LogLines(screen))
    try:
        yield
    finally:
        log.handlers = before
