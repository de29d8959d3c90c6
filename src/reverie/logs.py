"""Loggers, silent unless the application configures logging; and the log files of our own processes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

LONGEST_LOG = 1024 * 1024


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


def log_to(path: Path, scrub: Callable[[str], str]) -> None:
    """Log to this file, too; it is made with its first line."""
    # It imports sockets and pickle, which no logger needs.
    from logging.handlers import RotatingFileHandler  # noqa: PLC0415

    handler = RotatingFileHandler(
        path, maxBytes=LONGEST_LOG, backupCount=1, encoding="utf-8", delay=True
    )
    lines = logging.Formatter("%(asctime)s %(levelname).1s %(name)s: %(message)s")
    handler.setFormatter(WithoutSecrets(lines, scrub))
    root = logging.getLogger("reverie")
    root.addHandler(handler)
    root.setLevel(min(root.level or logging.INFO, logging.INFO))
