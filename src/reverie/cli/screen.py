"""A console that escapes control characters in text, and logging."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from reverie.core.foreign_text import printable, printable_json
from reverie.errors import SettingsError
from reverie.logs import WithoutSecrets
from reverie.settings import Settings
from reverie.workspace import without_secrets


class Screen(Console):
    """A console that escapes control characters in all text.

    Rich writes colours and cursor movements as styles and control segments, never as text. A
    control character in text therefore comes from outside, wherever in a table or list it stands.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            yield segment if control else Segment(printable(text), style)

    def on_broken_pipe(self) -> None:
        # Rich would exit with 1; LazyGroup exits with 0.
        raise BrokenPipeError


_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, logger, message and the fields of `extra`."""

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
    """One readable line per record, with control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def start_logging(settings: Settings, verbose: int) -> None:
    """Log to the file in `log.file`, if set, and to stderr with -v."""
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


Result = TypeVar("Result")

_ENDING = (signal.SIGTERM, signal.SIGHUP)

# Shells report 128 + N for a command that signal N ended.
_SIGNAL_EXIT = 128


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Like asyncio.run, but SIGTERM and SIGHUP cancel the work, so that everything is closed."""
    return asyncio.run(_until_signal(work))


def _discard_output() -> None:
    """The terminal is closed: discard further output instead of failing."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


async def _until_signal(work: Coroutine[Any, Any, Result]) -> Result:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in _ENDING:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if signal.SIGHUP in received:
            _discard_output()
        if received:
            raise click.exceptions.Exit(_SIGNAL_EXIT + received[0]) from None
        raise
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
