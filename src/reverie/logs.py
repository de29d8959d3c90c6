"""Loggers that say nothing unless somebody asked: a library is silent by default."""

from __future__ import annotations

import logging
from collections.abc import Callable


def logger(name: str) -> logging.Logger:
    """The logger of a module; the root of ours never falls through to stderr."""
    root = logging.getLogger("reverie")
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    return logging.getLogger(name)


class WithoutSecrets(logging.Formatter):
    """Another formatter's lines, scrubbed: a log file outlives the error it tells of."""

    def __init__(self, lines: logging.Formatter, scrub: Callable[[str], str]) -> None:
        super().__init__()
        self._lines = lines
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        return self._scrub(self._lines.format(record))
