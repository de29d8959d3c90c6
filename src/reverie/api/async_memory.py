"""`AsyncMemory`: the same memory for programs with an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from reverie.api.location import Location
from reverie.api.memory import Memory

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from reverie.api.location import Overrides
    from reverie.ports import Clock

P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """The method as a coroutine: it reads and writes files, which would hold up the loop."""

    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(partial(method, self.sync, *args, **kwargs))

    # Not functools.wraps, which hides the changed signature from type checkers.
    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class AsyncMemory:
    """`Memory` with coroutines: the same names, arguments and results, off the event loop.

    `sync` is the memory itself; pass that to `Context(memory=…)` or `Agent(memory=…)`.
    """

    def __init__(self, memory: Memory) -> None:
        """Use `await AsyncMemory.open()`, or wrap a memory that is open."""
        self.sync = memory

    @classmethod
    async def open(
        cls,
        project: str | PathLike[str] | None = None,
        *,
        home: str | PathLike[str] | None = None,
        settings: Overrides | None = None,
        clock: Clock | None = None,
        user: str | None = None,
        key: str = "",
    ) -> AsyncMemory:
        """As `Memory.open`."""
        place = Location.of(project, home, settings, clock, user, key)
        return cls(await asyncio.to_thread(Memory, place))

    @property
    def directory(self) -> Path:
        return self.sync.directory

    remember = _in_thread(Memory.remember)
    add = _in_thread(Memory.add)
    recall = _in_thread(Memory.recall)
    search = _in_thread(Memory.search)
    get = _in_thread(Memory.get)
    list = _in_thread(Memory.list)
    update = _in_thread(Memory.update)
    delete = _in_thread(Memory.delete)
    delete_all = _in_thread(Memory.delete_all)
    read = _in_thread(Memory.read)
    forget = _in_thread(Memory.forget)
    history = _in_thread(Memory.history)
    undo = _in_thread(Memory.undo)
    redo = _in_thread(Memory.redo)
    move = _in_thread(Memory.move)
    import_ = _in_thread(Memory.import_)
    export = _in_thread(Memory.export)
    aclose = _in_thread(Memory.close)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
