"""The seams: what the middle of Reverie needs from the outside, as small protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from reverie.core.capabilities import Capabilities
from reverie.core.reply import Reply, StreamItem
from reverie.core.request import Request
from reverie.core.spend import Caps, Decision, Entry, Purpose
from reverie.core.usage import Prices
from reverie.errors import ReplyBroken


class Clock(Protocol):
    """Time, owned by whoever composes the system: tests own theirs."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...


class Model(Protocol):
    """A language model, reached in one way: stream a request."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def prices(self) -> Prices | None:
        """None when nobody told us: such calls cannot be held to a cap."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Deltas as they come, then exactly one Reply. Failures are `ModelError`s."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class ExactCounter(Protocol):
    """A model whose provider can be asked for sizes. Never on the hot path."""

    async def count_tokens(self, request: Request) -> int: ...

    async def look_up_window(self) -> int | None: ...


class SpendLedger(Protocol):
    """Where money is written down, and asked for before it is spent."""

    def reserve(self, purpose: Purpose, session: str, ceiling: float, caps: Caps) -> Decision:
        """Ask for up to `ceiling` dollars; when allowed, they count as spent until settled."""
        ...

    def settle(self, ticket: str, entry: Entry | None) -> None:
        """The call is over: what it really cost replaces its reservation; None if it never began."""
        ...


async def complete(model: Model, request: Request) -> Reply:
    """The whole reply, for callers who do not care about the pieces."""
    reply: Reply | None = None
    async for item in model.stream(request):
        if isinstance(item, Reply):
            reply = item
    if reply is None:
        raise ReplyBroken(f"{model.name} ended its stream without a reply; try again")
    return reply
