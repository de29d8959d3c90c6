"""`Agent`: Reverie's own agent loop as a library."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any, TypeVar

from reverie.agent.permissions import Ask, Mode, deny_unasked
from reverie.agent.tools import Tool
from reverie.api.location import Location, Overrides
from reverie.api.memory import Remembering, open_for
from reverie.errors import InputError
from reverie.events import Event
from reverie.session.build import open_session
from reverie.session.options import SessionOptions
from reverie.subagents.identity import answer

if TYPE_CHECKING:
    from os import PathLike

    from reverie.ports import Model
    from reverie.session.query import Session

T = TypeVar("T")


class Agent:
    """An agent that reads, edits, runs and remembers, in one conversation.

    The conversation begins with the first `run` or `ask` and continues with the next. Close the agent
    with `async with`, `aclose()`, or (where it was used without async) `with` or `close()`.
    """

    def __init__(  # noqa: PLR0913 - what an agent is made of
        self,
        model: str | Model | None = None,
        *,
        memory: Remembering = None,
        tools: Sequence[Tool] = (),
        system: str = "",
        mode: Mode | None = None,
        approve: Ask = deny_unasked,
        resume: str | None = None,
        listener: Callable[[Event], None] | None = None,
        project: str | PathLike[str] | None = None,
        home: str | PathLike[str] | None = None,
        settings: Overrides | None = None,
        user: str | None = None,
    ) -> None:
        """`model` is a name as in `models.main` (its default), or a Model.

        `memory` defaults to the project's; False turns it off. `tools` are added to the agent's
        own, `system` to its prompt. `mode` says what it may do without asking; `approve` is called
        for the rest, which is refused without it. `resume` is the id of a conversation to continue.
        `listener` is called with every event, including those of background work.
        """
        self._app, opened = open_for(memory, Location.of(project, home, settings, user=user))
        named = model if isinstance(model, str | None) else None
        self._options = SessionOptions(
            model=named,
            ready=None if isinstance(model, str | None) else model,
            resume=None if resume is None else self._app.transcript(resume),
            mode=mode,
            ask=approve,
            tools=tuple(_checked(tool) for tool in tools),
            system=system,
            memory=opened,
        )
        self._listener = listener
        self._stack = AsyncExitStack()
        self._session: Session | None = None
        self._busy = False
        self._ended = False
        self._runner: asyncio.Runner | None = None

    @property
    def session(self) -> str | None:
        """The id by which the conversation can be resumed; None before it begins."""
        return None if self._session is None else self._session.conversation.state.session

    async def run(self, prompt: str) -> AsyncGenerator[Event, None]:
        """Send a prompt and yield the events of the turn. Closing the stream interrupts the turn."""
        if self._busy:
            raise InputError("this agent is still working; finish or close its stream first")
        self._busy = True
        try:
            session = await self._opened()
            async with aclosing(session.run(prompt)) as events:
                async for event in events:
                    yield event
        finally:
            self._busy = False

    async def ask(self, prompt: str) -> str:
        """Send a prompt and return the answer: the agent's text after its last tool call."""
        return await answer(self.run(prompt))

    def run_sync(self, prompt: str) -> Iterator[Event]:
        """`run` for synchronous code; leaving the loop interrupts the turn."""
        self._require_no_loop("run_sync", "async for event in agent.run(…)")
        events = self.run(prompt)
        try:
            while (event := self._wait(_next(events))) is not None:
                yield event
        finally:
            self._wait(_closed(events))

    def ask_sync(self, prompt: str) -> str:
        """`ask` for synchronous code."""
        self._require_no_loop("ask_sync", "await agent.ask(…)")
        return self._wait(self.ask(prompt))

    async def aclose(self) -> None:
        """Wait for background work, and close the session."""
        self._ended = True
        if self._session is not None:
            await self._session.aclose()
        await self._stack.aclose()

    def close(self) -> None:
        """`aclose` for synchronous code."""
        self._require_no_loop("close", "await agent.aclose()")
        try:
            self._wait(self.aclose())
        finally:
            if self._runner is not None:
                self._runner.close()
            self._runner = None

    async def __aenter__(self) -> Agent:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def _opened(self) -> Session:
        if self._ended:
            raise InputError("this agent is closed; create another, with resume=… to continue")
        if self._session is None:
            session = await self._stack.enter_async_context(open_session(self._app, self._options))
            if self._listener is not None:
                self._stack.enter_context(session.announce.subscribed(self._listener))
            self._session = session
        return self._session

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop this agent keeps for synchronous callers."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(work)

    def _require_no_loop(self, name: str, instead: str) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        raise InputError(f"{name}() cannot wait inside a running event loop; there, use: {instead}")


async def _next(events: AsyncGenerator[Event, None]) -> Event | None:
    return await anext(events, None)


async def _closed(events: AsyncGenerator[Event, None]) -> None:
    await events.aclose()


def _checked(tool: object) -> Tool:
    if isinstance(tool, Tool):
        return tool
    name = getattr(tool, "__name__", repr(tool))
    raise InputError(f"{name} is not a tool; decorate the function with @reverie.tool")
