"""What a proxied session costs: the client's own requests and the requests sent, side by side.

Both are counted on a simulation of the provider's cache. It decides the marks to send and what
clearing may cost, and `reverie proxy savings` shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reverie.context.microcompaction import USUAL_RATES
from reverie.conversation.conversation import Assembled, Assembler
from reverie.core.prompt_cache import Mark, no_marks
from reverie.core.prompt_cache.tracker import Call, Simulator
from reverie.core.usage import Usage
from reverie.proxy.marks import ClientMarks, chain_marks
from reverie.proxy.turns import Sent, Turn

if TYPE_CHECKING:
    from reverie.ports import Model

# How far our cost may exceed the client's own before anything was saved, as a share of it.
ADVANCE = 0.005


@dataclass(slots=True)
class SessionCosts:
    """The running cost of both. `safe`: ours must not become dearer than the client's own."""

    model: Model
    safe: bool
    client: float = 0.0
    ours: float = 0.0
    _requests: int = 0
    _client_cache: Simulator = field(init=False)
    _our_cache: Simulator = field(init=False)
    _unchanged: Assembler = field(init=False)

    def __post_init__(self) -> None:
        can = self.model.capabilities
        self._client_cache, self._our_cache = Simulator(can.cache), Simulator(can.cache)
        self._unchanged = Assembler(replace(can, thinking_bound=False), no_marks)

    @property
    def budget(self) -> float | None:
        """What clearing may cost at once: the savings so far, and a little more; None: no limit.

        Clearing only pays off in a session that continues, which is not known.
        """
        if not self.safe or self.model.prices is None:
            return None
        return max(0.0, self.client * (1 + ADVANCE) - self.ours)

    def client_request(
        self, turns: Sequence[Turn], asked: Assembled, theirs: ClientMarks | None, now: float
    ) -> Usage:
        """Count the client's own request, as if it followed its own earlier ones."""
        made = self._unchanged.assemble(asked.request.head, [turn.message for turn in turns])
        own = [Sent(turn.message, i) for i, turn in enumerate(turns)]
        kept = () if theirs is None else chain_marks(theirs, made.chain, turns, own)
        used = self._client_cache.run(Call(made.chain, now), kept)
        self.client += self._price(used)
        return used

    def prefers_ours(
        self, asked: Assembled, kept: Sequence[Mark], theirs: ClientMarks, now: float
    ) -> bool:
        """Whether to send our marks: they may cost more at once to cost less later."""
        if not theirs.count:
            # A client without marks pays in full every time; a single request gains nothing.
            return self._requests > 0
        cost = self._tried(asked, asked.marks, now)
        if not self.safe or cost <= self._tried(asked, kept, now):
            return True
        return self.ours + cost <= self.client * (1 + ADVANCE)

    def send(self, asked: Assembled, marks: Sequence[Mark], now: float) -> Usage:
        """Count the request that is sent."""
        self._requests += 1
        used = self._our_cache.run(Call(asked.chain, now), tuple(marks))
        self.ours += self._price(used)
        return used

    def _tried(self, asked: Assembled, marks: Sequence[Mark], now: float) -> float:
        copy = Simulator(self._our_cache.rules, dict(self._our_cache.entries))
        return self._price(copy.run(Call(asked.chain, now), tuple(marks)))

    def _price(self, usage: Usage) -> float:
        """In dollars; by the usual ratios if the price is unknown."""
        return (self.model.prices or USUAL_RATES).cost(usage)
