"""No model at all: what runs on a fresh machine without a key, and says plainly what it is.

Layers have deterministic paths of their own and do not call it. It answers only a person who
talks to it: with the memories recall put beside their message, or with what can be done here.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator

from reverie.core.capabilities import Capabilities
from reverie.core.messages import Attachment, Message, Text
from reverie.core.reply import Reply, StreamItem, TextDelta
from reverie.core.request import Request, canonical_bytes
from reverie.core.usage import FREE, Prices

NAME = "offline"
FOUND = "From memory:"

# Nothing was found: one line on what this is, and what it can do.
ANSWER = (
    "Nothing in memory fits that closely, and this is Reverie's offline mode, not a language model. "
    "/remember saves, /recall shows weaker matches, /search looks through past sessions; "
    "models.main chooses a model."
)

_RECALL = "recall"


class OfflineModel:
    """Keeps the port's promises without a provider: free, instant, deterministic."""

    name = NAME
    capabilities = Capabilities(window=200_000, max_output=8_192)
    prices: Prices | None = FREE

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        digest = hashlib.blake2b(canonical_bytes(request), digest_size=8).hexdigest()
        text = _answer(request)
        yield TextDelta(text)
        yield Reply(f"offline_{digest}", NAME, (Text(text),), "end")

    async def aclose(self) -> None:
        return None


def _answer(request: Request) -> str:
    found = [_unframed(attachment) for attachment in _recalled(request)]
    return "\n\n".join([FOUND, *found]) if found else ANSWER


def _recalled(request: Request) -> list[Attachment]:
    """The memories that stand beside the last thing the person said, in their order."""
    found: list[Attachment] = []
    for message in reversed(request.messages):
        found = [*_attached(message), *found]
        if message.origin == "user" and message.text:
            return found
    return found


def _attached(message: Message) -> Iterator[Attachment]:
    for block in message.blocks:
        if isinstance(block, Attachment) and block.label == _RECALL:
            yield block


def _unframed(attachment: Attachment) -> str:
    """The memories alone: the first paragraph tells a model what they are."""
    return attachment.text.partition("\n\n")[2] or attachment.text
