"""Runs programs in their own process groups, so that ending one also ends its children."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from reverie.errors import InputError

# How long a program may take to end after SIGTERM.
_GRACE_SECONDS = 1.0


def found_program(name: str, environment: Mapping[str, str]) -> str | None:
    """The path of a program on the PATH of an environment."""
    # Like `shutil.which`, which imports three compression modules.
    folders = filter(os.path.isabs, environment.get("PATH", os.defpath).split(os.pathsep))
    candidates = (Path(folder, name) for folder in folders)
    return next((str(one) for one in candidates if one.is_file() and os.access(one, os.X_OK)), None)


class Inlet(asyncio.Protocol):
    """A pipe that a program writes into; `take` gets the data and returns whether it wants more."""

    def __init__(self, take: Callable[[bytes], bool]) -> None:
        self._take = take
        self._ended = asyncio.Event()
        self._transport: asyncio.BaseTransport | None = None
        self.writing_end = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._take(data) and self._transport:
            # The program's next write fails, and it stops.
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._ended.set()

    def close(self) -> None:
        """Close our copy of the writing end; the pipe ends when the programs close theirs."""
        if self.writing_end >= 0:
            os.close(self.writing_end)
            self.writing_end = -1

    async def drained(self, seconds: float) -> bool:
        """Wait for the end of the pipe; a process that left its group could keep it open."""
        self.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self._ended.wait()
        return False


@asynccontextmanager
async def inlet(take: Callable[[bytes], bool]) -> AsyncIterator[Inlet]:
    """An open inlet, closed afterwards even if a process still holds the pipe."""
    opened = Inlet(take)
    reading, opened.writing_end = os.pipe()
    pipe = os.fdopen(reading, "rb", buffering=0)
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: opened, pipe)
    except BaseException:
        pipe.close()
        opened.close()
        raise
    try:
        yield opened
    finally:
        opened.close()
        transport.close()
        # The transport closes its pipe in the next iteration of the event loop.
        await opened.drained(_GRACE_SECONDS)


@asynccontextmanager
async def program(
    arguments: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    output: Inlet,
    errors: Inlet | None = None,
    inherited: Sequence[int] = (),
) -> AsyncIterator[Process]:
    """Run a program without input; it and its children are ended on exit."""
    starting = asyncio.create_subprocess_exec(
        *arguments,
        cwd=folder,
        env=dict(environment),
        stdin=DEVNULL,
        stdout=output.writing_end,
        stderr=(errors or output).writing_end,
        pass_fds=inherited,
        start_new_session=True,
    )
    try:
        process = await _started(starting)
    except (OSError, ValueError) as error:
        raise InputError(f"{arguments[0]} could not be started in {folder}: {error}") from error
    try:
        yield process
    finally:
        await end_group(process)


async def _started(starting: Coroutine[Any, Any, Process]) -> Process:
    """Start a program; if cancelled meanwhile, end it and its children."""
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await end_group(await task)
        raise


async def end_group(process: Process) -> bool:
    """End a program and its children; whether any were still running after it."""
    try:
        if process.returncode is None and _signal(process, signal.SIGTERM):
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE_SECONDS):
                    await process.wait()
    finally:
        left = _signal(process, signal.SIGKILL)
    await process.wait()
    return left


def _signal(process: Process, number: signal.Signals) -> bool:
    """Signal the process group, whose id is the pid of the program even after that has ended."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
