"""Loggers that say nothing unless somebody asked: a library is silent by default."""

from __future__ import annotations

import logging


def logger(name: str) -> logging.Logger:
    """The logger of a module; the root of ours never falls through to stderr."""
    root = logging.getLogger("reverie")
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    return logging.getLogger(name)
