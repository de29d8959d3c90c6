"""Embeddings from an OpenAI-compatible server, through the official SDK.

After a failed call the server is not asked for a while, so that not every turn waits for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reverie.core.usage import Allowed, Caps, Entry, Prices, Purpose, Refused, Usage
from reverie.core.window import text_tokens
from reverie.errors import ModelError, ReplyBroken, SpendCapReached
from reverie.events import Announce, MoneySpent, no_listener
from reverie.models.failures import sdk_failures, sdk_missing
from reverie.models.metered import CEILING_MARGIN
from reverie.ports import QUESTIONS, Clock, SpendLedger, TextKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from openai import OpenAI

RECALL: Purpose = "recall"
# US dollars per million tokens of OpenAI's own models.
PRICES = {"text-embedding-3-small": 0.02, "text-embedding-3-large": 0.13}
# In seconds. A turn waits for a question; passages are encoded in the background.
_QUESTION_TIMEOUT = 5.0
_PASSAGE_TIMEOUT = 15.0
_REST = 60.0
_BATCH = 128
# Characters; servers refuse longer inputs or cut them silently.
_LONGEST = 8_000


@dataclass(frozen=True, slots=True)
class Meter:
    """Reserves each call in the ledger and records its cost afterwards."""

    ledger: SpendLedger
    caps: Caps
    clock: Clock
    session: str
    price: float | None
    announce: Announce = no_listener

    def reserve(self, model: str, tokens: int) -> str:
        decision = self._decide(model, tokens)
        if isinstance(decision, Refused):
            raise SpendCapReached(decision.reason)
        return decision.ticket

    def settle(self, ticket: str, model: str, tokens: int | None) -> None:
        """Record a call's cost; `tokens` is None if the call failed."""
        if tokens is None:
            self.ledger.settle(ticket, None)
            return
        usage = Usage(input=tokens)
        cost = None if self.price is None else self._prices.cost(usage)
        entry = Entry(self.clock.now(), RECALL, self.session, model, usage, cost)
        self.ledger.settle(ticket, entry)
        self.announce(MoneySpent(entry))

    def _decide(self, model: str, tokens: int) -> Allowed | Refused:
        if self.price is None:
            if not self.caps.any:
                return Allowed()
            return Refused(
                f"the price of {model} is not known, so a spend cap cannot be kept; "
                f'set prices."{model}".input (dollars per million tokens; 0 for your own server)'
            )
        ceiling = self._prices.ceiling(int(tokens * CEILING_MARGIN), 0)
        return self.ledger.reserve(RECALL, self.session, ceiling, self.caps)

    @property
    def _prices(self) -> Prices:
        price = self.price or 0.0
        return Prices(price, 0.0, price, price, price)


class EndpointEmbedder:
    """An embedding model of an OpenAI-compatible server."""

    context: tuple[float, ...] = ()
    together = 0.0
    portion = _BATCH
    apart = False

    def __init__(
        self, model: str, *, base_url: str | None, api_key: str | None, meter: Meter
    ) -> None:
        self.name = f"{base_url or 'openai'}#{model}"
        self._model = model
        self._base_url = base_url
        self._key = api_key
        self._meter = meter
        self._client: OpenAI | None = None
        self._failed: tuple[float, ModelError] | None = None

    def encode(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        self._raise_while_resting()
        timeout = _QUESTION_TIMEOUT if kind in QUESTIONS else _PASSAGE_TIMEOUT
        # Most servers refuse empty inputs.
        filled = [i for i, text in enumerate(texts) if text.strip()]
        found: dict[int, list[float]] = {}
        for start in range(0, len(filled), _BATCH):
            batch = filled[start : start + _BATCH]
            rows = self._asked([texts[i][:_LONGEST] for i in batch], timeout)
            found |= dict(zip(batch, rows, strict=True))
        return _matrix(found, len(texts), self._model)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _raise_while_resting(self) -> None:
        if self._failed is not None and self._meter.clock.now() < self._failed[0]:
            raise self._failed[1]
        self._failed = None

    def _asked(self, texts: list[str], timeout: float) -> list[list[float]]:
        try:
            return self._ask(texts, timeout)
        except ModelError as error:
            self._failed = (self._meter.clock.now() + _REST, error)
            raise

    def _ask(self, texts: list[str], timeout: float) -> list[list[float]]:
        tokens = sum(map(text_tokens, texts))
        ticket = self._meter.reserve(self._model, tokens)
        used: int | None = None
        try:
            with sdk_failures(self._model):
                reply = self._sdk().embeddings.create(
                    model=self._model, input=texts, encoding_format="float", timeout=timeout
                )
                used = _billed(reply, tokens)
                return _rows(reply, len(texts), self._model)
        finally:
            self._meter.settle(ticket, self._model, used)

    def _sdk(self) -> OpenAI:
        if self._client is None:
            with sdk_missing("openai"):
                from openai import OpenAI
            key = self._key or ("none" if self._base_url else None)
            self._client = OpenAI(api_key=key, base_url=self._base_url, max_retries=0)
        return self._client


def _billed(reply: Any, estimate: int) -> int:
    """The server's token count, or the estimate if it gives none, as some local servers do."""
    tokens = getattr(getattr(reply, "usage", None), "prompt_tokens", None)
    return tokens if isinstance(tokens, int) else estimate


def _rows(reply: Any, count: int, model: str) -> list[list[float]]:
    """The vectors in the order of the texts; ReplyBroken if any is missing or not numeric."""
    items = sorted(reply.data or (), key=lambda item: item.index)
    rows = [item.embedding for item in items]
    if [item.index for item in items] != list(range(count)) or not all(map(_sound, rows)):
        raise ReplyBroken(f"{model} did not answer {count} texts with {count} vectors; try again")
    return rows


def _sound(row: Any) -> bool:
    return (
        isinstance(row, list)
        and bool(row)
        and all(isinstance(x, int | float) and math.isfinite(x) for x in row)
    )


def _matrix(found: dict[int, list[float]], count: int, model: str) -> NDArray[np.float32]:
    import numpy as np

    sizes = {len(row) for row in found.values()}
    if len(sizes) > 1:
        raise ReplyBroken(f"{model} answered with vectors of several sizes: {sorted(sizes)}")
    rows = np.zeros((count, max(sizes, default=0)), np.float32)
    for i, row in found.items():
        rows[i] = row
    return rows
