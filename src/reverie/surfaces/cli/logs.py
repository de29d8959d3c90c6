"""Logging for the command line: silent by default, structured when asked for."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from reverie.app import without_secrets
from reverie.core.foreign_text import printable, printable_json
from reverie.errors import SettingsError
from reverie.logs import WithoutSecrets
from reverie.settings import Settings

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and whatever `extra` held."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            extra["error"] = self.formatException(record.exc_info)
        return printable_json(line | extra)


class Lines(logging.Formatter):
    """One record for the eye; what it quotes cannot steer the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def start_logging(settings: Settings, verbose: int) -> None:
    """To the log file if one is set; to stderr with -v."""
    log = logging.getLogger("reverie")
    level = logging.getLevelName(str(settings["log.level"]).upper())
    log.setLevel(min(level, {0: level, 1: logging.INFO}.get(verbose, logging.DEBUG)))
    file = settings["log.file"]
    if isinstance(file, Path):
        log.addHandler(_file_handler(file))
    if verbose:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(Lines("%(levelname).1s %(name)s: %(message)s"))
        log.addHandler(handler)


def _file_handler(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"log.file: cannot write {path} ({error.strerror})") from error
    handler.setFormatter(WithoutSecrets(JsonLines(), without_secrets))
    return handler
