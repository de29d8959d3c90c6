"""A model with a meter: asks the ledger before each call, writes down what it cost after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from reverie.core.request import (
    Options,
    Reply,
    Request,
    StreamItem,
    TextDelta,
    ThinkingDelta,
    estimated_size,
)
from reverie.core.tokens import text_tokens
from reverie.core.usage import MAIN, Allowed, Caps, Entry, Prices, Purpose, Refused, Usage
from reverie.core.window import Capabilities
from reverie.errors import SpendCapReached
from reverie.events import Announce, CapReached, MoneySpent, unheard
from reverie.ports import Clock, Model, SpendLedger

# Our estimate of four bytes a token runs low on code and JSON; a ceiling must not.
CEILING_MARGIN = 1.5
# A reply shorter than this is not worth its prompt.
LEAST_OUTPUT = 1_024


@dataclass(slots=True)
class MeteredModel:
    """One model, used for one purpose in one session."""

    model: Model
    ledger: SpendLedger
    caps: Caps
    clock: Clock
    session: str
    purpose: Purpose = MAIN
    announce: Announce = unheard
    # Dollars that all calls through this meter may cost together, where the price is known.
    most: float | None = None
    _spent: float = 0.0
    _said: bool = False

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def capabilities(self) -> Capabilities:
        return self.model.capabilities

    @property
    def prices(self) -> Prices | None:
        return self.model.prices

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        request, ticket = self._fitted(request)
        heard: int | None = None
        reply: Reply | None = None
        try:
            async for item in self.model.stream(request):
                heard = heard or 0
                if isinstance(item, Reply):
                    reply = item
                elif isinstance(item, TextDelta | ThinkingDelta):
                    heard += text_tokens(item.text)
                yield item
        finally:
            self.settle(ticket, request, reply, heard)

    async def aclose(self) -> None:
        await self.model.aclose()

    def ask(self, request: Request) -> str:
        """May this be sent? Gives the ticket of the reservation; raises SpendCapReached."""
        return self._ticket(self._decide(request))

    def _fitted(self, request: Request) -> tuple[Request, str]:
        """The request, with a shorter reply where only that fits under the cap, and its ticket."""
        decision = self._decide(request)
        if isinstance(decision, Refused) and self.prices is not None:
            least = _least_output(request.options)
            affordable = self._affordable(request, self.prices, decision.left)
            if affordable < least:
                needed = self._ceiling(request, self.prices, least)
                advice = f"the least this call needs is ${needed:.4f}, and ${max(decision.left, 0):.4f} is left"
                decision = replace(decision, reason=f"{decision.reason} ({advice})")
            elif affordable < request.options.max_tokens:
                request = _with_most(request, affordable)
                decision = self._decide(request)
        return request, self._ticket(decision)

    def _affordable(self, request: Request, prices: Prices, left: float) -> int:
        """How many tokens of output the money that is left would buy."""
        prompt = self._ceiling(request, prices, 0)
        each = (self._ceiling(request, prices, 1_000) - prompt) / 1_000
        return int((left - prompt) / each) if each > 0 else 0

    def _ceiling(self, request: Request, prices: Prices, output: int) -> float:
        return prices.ceiling(int(estimated_size(request) * CEILING_MARGIN), output)

    def _ticket(self, decision: Allowed | Refused) -> str:
        if isinstance(decision, Refused):
            self._say(decision.reason, stopped=True)
            raise SpendCapReached(decision.reason)
        if decision.warning:
            self._say(decision.warning, stopped=False)
        return decision.ticket

    def _decide(self, request: Request) -> Allowed | Refused:
        if self.prices is None:
            return self._unpriced()
        ceiling = self._ceiling(request, self.prices, request.options.max_tokens)
        if self.most is not None and self._spent + ceiling > self.most:
            return Refused(
                f"one {self.purpose} may cost ${self.most:.2f}: ${self._spent:.4f} is spent and this "
                f"call may cost up to ${ceiling:.4f}; raise spend.{self.purpose} to allow it",
                self.most - self._spent,
            )
        return self.ledger.reserve(self.purpose, self.session, ceiling, self.caps)

    def _unpriced(self) -> Allowed | Refused:
        if not self.caps.any:
            return Allowed()
        reason = (
            f"the price of {self.name} is not known, so a spend cap cannot be kept; "
            f'set prices."{self.name}".input and .output (dollars per million tokens)'
        )
        may_pass = self.purpose == MAIN and not self.caps.main_stops
        return Allowed(reason) if may_pass else Refused(reason)

    def settle(
        self, ticket: str, request: Request, reply: Reply | None, heard: int | None = None
    ) -> None:
        """A stream that broke off was still billed for what it read and wrote: put down the estimate.

        `heard` are the tokens that came of one; None when it never began.
        """
        if reply is None and heard is None:
            self.ledger.settle(ticket, None)
            return
        usage = reply.usage if reply else Usage(input=estimated_size(request), output=heard or 0)
        cost = self.prices.cost(usage) if self.prices else None
        self._spent += cost or 0.0
        now = self.clock.now()
        entry = Entry(now, self.purpose, self.session, self.name, usage, cost, reply is None)
        self.ledger.settle(ticket, entry)
        self.announce(MoneySpent(entry))

    def _say(self, reason: str, *, stopped: bool) -> None:
        """Once: a loop that keeps knocking must not fill the screen."""
        if not self._said:
            self._said = True
            self.announce(CapReached(self.purpose, reason, stopped))


def _least_output(options: Options) -> int:
    """The shortest reply worth asking for; a budget for thinking comes on top."""
    least = min(options.max_tokens, LEAST_OUTPUT)
    budget = (options.thinking or "").partition("budget:")[2]
    return least + int(budget) if budget.isdecimal() else least


def _with_most(request: Request, tokens: int) -> Request:
    # The limit is part of no cache key: the prefix stays as it is.
    head = request.head
    return replace(request, head=replace(head, options=replace(head.options, max_tokens=tokens)))
