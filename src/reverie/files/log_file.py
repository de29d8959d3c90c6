"""The log of a process that runs on its own: a file that is kept small, without secrets."""

from __future__ import annotations

import logging
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from reverie.logs import WithoutSecrets

LONGEST_LOG = 1024 * 1024


def log_to(path: Path, scrub: Callable[[str], str]) -> None:
    """Log to this file, too; it is made with its first line."""
    handler = RotatingFileHandler(
        path, maxBytes=LONGEST_LOG, backupCount=1, encoding="utf-8", delay=True
    )
    lines = logging.Formatter("%(asctime)s %(levelname).1s %(name)s: %(message)s")
    handler.setFormatter(WithoutSecrets(lines, scrub))
    root = logging.getLogger("reverie")
    root.addHandler(handler)
    root.setLevel(min(root.level or logging.INFO, logging.INFO))
