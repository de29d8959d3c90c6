"""Run a coroutine until it ends or a signal ends it, and close everything either way."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import click

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
