"""No model at all: what runs on a fresh machine without a key, and says plainly what it is.

Layers have deterministic paths of their own and do not call it. It answers only a person who
talks to it, by telling what works without a model and how to choose one.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

from reverie.core.capabilities import Capabilities
from reverie.core.messages import Text
from reverie.core.reply import Reply, StreamItem, TextDelta
from reverie.core.request import Request, canonical_bytes
from reverie.core.usage import FREE, Prices

NAME = "offline"

ANSWER = (
    "I am Reverie's offline mode, not a language model: I cannot answer questions. "
    "Remembering, recalling, searching and session notes work without one. "
    "To talk to a model, set models.main, for example: "
    "reverie --set models.main=anthropic:claude-sonnet-5-5 …"
)


class OfflineModel:
    """Keeps the port's promises without a provider: free, instant, deterministic."""

    name = NAME
    capabilities = Capabilities(window=200_000, max_output=8_192)
    prices: Prices | None = FREE

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        digest = hashlib.blake2b(canonical_bytes(request), digest_size=8).hexdigest()
        yield TextDelta(ANSWER)
        yield Reply(f"offline_{digest}", NAME, (Text(ANSWER),), "end")

    async def aclose(self) -> None:
        return None
