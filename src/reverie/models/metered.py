"""A model that reserves each call in the ledger and records its cost afterwards."""

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
from reverie.core.usage import MAIN, Allowed, Caps, Entry, Prices, Purpose, Refused, Usage
from reverie.core.window import text_tokens
from reverie.errors import SpendCapReached, StorageError
from reverie.events import Announce, CapReached, MoneySpent, TroubleNoted, no_listener
from reverie.models.wrappers import ModelWrapper
from reverie.ports import Clock, Model, SpendLedger

# The estimate of four bytes per token is too low for code and JSON; a ceiling must not be.
CEILING_MARGIN = 1.5
# A reply shorter than this is not worth its prompt.
LEAST_OUTPUT = 1_024


@dataclass(slots=True)
class MeteredModel(ModelWrapper):
    """One model, used for one purpose in one session."""

    model: Model
    ledger: SpendLedger
    caps: Caps
    clock: Clock
    session: str
    purpose: Purpose = MAIN
    announce: Announce = no_listener
    # Dollars that all calls of this instance together may cost, if the price is known.
    most: float | None = None
    _spent: float = 0.0
    _announced: bool = False

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        request, ticket = self._fitted(request)
        received: int | None = None
        reply: Reply | None = None
        try:
            async for item in self.model.stream(request):
                received = received or 0
                if isinstance(item, Reply):
                    reply = item
                elif isinstance(item, TextDelta | ThinkingDelta):
                    received += text_tokens(item.text)
                yield item
        finally:
            self.settle(ticket, request, reply, received)

    def ask(self, request: Request) -> str:
        """Reserve a call and return its ticket; SpendCapReached if a cap forbids it."""
        return self._ticket(self._decide(request))

    def _fitted(self, request: Request) -> tuple[Request, str]:
        """The request and its ticket; its reply limit is lowered if only that fits under the cap."""
        decision = self._decide(request)
        if isinstance(decision, Refused) and self.prices is not None:
            least = _least_output(request.options)
            affordable = self._affordable(request, self.prices, decision.left)
            if affordable < least:
                needed = self._ceiling(request, self.prices, least)
                left = max(decision.left, 0)
                advice = f"this call needs at least ${needed:.4f}, and ${left:.4f} is left"
                decision = replace(decision, reason=f"{decision.reason} ({advice})")
            elif affordable < request.options.max_tokens:
                request = _with_most(request, affordable)
                decision = self._decide(request)
        return request, self._ticket(decision)

    def _affordable(self, request: Request, prices: Prices, left: float) -> int:
        """How many output tokens the remaining money buys."""
        prompt = self._ceiling(request, prices, 0)
        each = (self._ceiling(request, prices, 1_000) - prompt) / 1_000
        return int((left - prompt) / each) if each > 0 else 0

    def _ceiling(self, request: Request, prices: Prices, output: int) -> float:
        return prices.ceiling(int(estimated_size(request) * CEILING_MARGIN), output)

    def _ticket(self, decision: Allowed | Refused) -> str:
        if isinstance(decision, Refused):
            self._announce_cap(decision.reason, stopped=True)
            raise SpendCapReached(decision.reason)
        if decision.warning:
            self._announce_cap(decision.warning, stopped=False)
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
        self, ticket: str, request: Request, reply: Reply | None, received: int | None = None
    ) -> None:
        """Record the cost of a call; an interrupted stream is billed, too, so estimate its cost.

        `received` is the number of tokens of an interrupted stream; None if it never began.
        """
        if reply is None and received is None:
            self._settle(ticket, None)
            return
        usage = reply.usage if reply else Usage(estimated_size(request), output=received or 0)
        cost = self.prices.cost(usage) if self.prices else None
        self._spent += cost or 0.0
        now = self.clock.now()
        entry = Entry(now, self.purpose, self.session, self.name, usage, cost, reply is None)
        self._settle(ticket, entry)
        self.announce(MoneySpent(entry))

    def _settle(self, ticket: str, entry: Entry | None) -> None:
        """Record the cost; a failed write must not lose a reply that was paid for."""
        try:
            self.ledger.settle(ticket, entry)
        except StorageError as error:
            self.announce(TroubleNoted("ledger", f"{error}; the cost is recorded later"))

    def _announce_cap(self, reason: str, *, stopped: bool) -> None:
        """Announce a reached cap once, so that a loop of retries does not fill the screen."""
        if not self._announced:
            self._announced = True
            self.announce(CapReached(self.purpose, reason, stopped))


def _least_output(options: Options) -> int:
    """The shortest useful reply, plus the budget for thinking."""
    least = min(options.max_tokens, LEAST_OUTPUT)
    budget = (options.thinking or "").partition("budget:")[2]
    return least + int(budget) if budget.isdecimal() else least


def _with_most(request: Request, tokens: int) -> Request:
    # The limit is not part of the cache key, so the prefix stays cached.
    head = request.head
    return replace(request, head=replace(head, options=replace(head.options, max_tokens=tokens)))
