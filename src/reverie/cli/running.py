"""Running a conversation to its end, or until a signal ends it: tidily, either way."""

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


# What a shell reports of a command that a signal ended.
_BY_SIGNAL = 128


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Like asyncio.run; when the terminal closes, or somebody ends it, everything is closed first."""
    return asyncio.run(_watched(work))


def _let_go_of_the_terminal() -> None:
    """It is closed: what is still to be written has no reader, and is no failure."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


async def _watched(work: Coroutine[Any, Any, Result]) -> Result:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    came: list[int] = []

    def stop(number: int) -> None:
        came.append(number)
        task.cancel()

    for number in _ENDING:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if signal.SIGHUP in came:
            _let_go_of_the_terminal()
        if came:
            raise click.exceptions.Exit(_BY_SIGNAL + came[0]) from None
        raise
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
