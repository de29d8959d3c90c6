"""Loggers, silent unless the application configures logging."""

from __future__ import annotations

import logging
from collections.abc import Callable


def logger(name: str) -> logging.Logger:
    """The logger of a module; our root logger never falls through to stderr."""
    root = logging.getLogger("reverie")
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    return logging.getLogger(name)


class WithoutSecrets(logging.Formatter):
    """Scrubs the lines of another formatter, because a log file outlives the error it reports."""

    def __init__(self, lines: logging.Formatter, scrub: Callable[[str], str]) -> None:
        super().__init__()
        self._lines = lines
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        return self._scrub(self._lines.format(record))
