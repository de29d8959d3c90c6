"""Runs programs in their own process groups, so that ending one also ends its children."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from reverie.errors import InputError, ReverieError
from reverie.events import Announce, Event, TroubleNoted

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


class Background:
    """Named tasks, one at a time for each name. Failures are announced, never raised."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, Callable[[], None]] = {}

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(name for name, task in self._tasks.items() if not task.done())

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Running tasks that cannot be stopped without loss."""
        return tuple(name for name in self.running if name not in self._stops)

    def start(
        self, name: str, work: Coroutine[Any, Any, None], stop: Callable[[], None] | None = None
    ) -> bool:
        """Start work unless a task of that name is running; `stop` ends it early, without loss."""
        if name in self.running:
            work.close()
            return False
        if stop is not None:
            self._stops[name] = stop
        self._tasks[name] = asyncio.create_task(self._watched(name, work), name=name)
        return True

    async def drain(self, seconds: float | None = None) -> None:
        """Wait for running tasks for at most `seconds`, then cancel them."""
        for stop in self._stops.values():
            stop()
        tasks = [task for task in self._tasks.values() if not task.done()]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=seconds)
        finally:
            await self.cancel()

    async def cancel(self, name: str | None = None) -> None:
        tasks = [task for key, task in self._tasks.items() if name in (None, key)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watched(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - the task is not awaited: the error would be lost
            known = isinstance(error, ReverieError | OSError)
            self._announce(TroubleNoted(name, str(error) if known else repr(error)))


log = logging.getLogger(__name__)


class Broadcast:
    """Passes every announced event to the listeners registered at that time."""

    def __init__(self) -> None:
        self._listeners: list[Announce] = []

    def __call__(self, event: Event) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                # A listener is foreign code: its failure must not fail the turn.
                log.exception("a listener failed on %s", type(event).__name__)

    @contextmanager
    def subscribed(self, listener: Announce) -> Iterator[None]:
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    async def during(self, work: asyncio.Task[None]) -> AsyncGenerator[Event, None]:
        """Yield events until `work` is done; its exception is raised after the last event."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        work.add_done_callback(lambda _: queue.put_nowait(None))
        with self.subscribed(queue.put_nowait):
            while (event := await queue.get()) is not None:
                yield event
        await work
