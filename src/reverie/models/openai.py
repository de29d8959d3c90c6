"""OpenAI and OpenAI-compatible servers, through the official SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reverie.core.messages import GrowingMap, Message, Opaque
from reverie.core.request import Reply, Request, StreamItem
from reverie.core.usage import Prices
from reverie.core.window import Capabilities, split_suffix
from reverie.models import openai_chat as chat
from reverie.models import openai_responses as responses
from reverie.models.failures import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    Accumulator,
    sdk_failures,
    sdk_missing,
    streamed,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Protocol: TypeAlias = Literal["chat", "responses"]


class OpenAIModel:
    """A model behind Chat Completions or Responses. Local servers need no key."""

    def __init__(  # noqa: PLR0913 - each is a fact about the provider
        self,
        name: str,
        *,
        api_key: str | None,
        capabilities: Capabilities,
        prices: Prices | None,
        base_url: str | None = None,
        retries: int = 2,
        idle_timeout: float = IDLE_SECONDS,
        protocol: Protocol = "chat",
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self.prices = prices
        self._key = api_key
        self._base_url = base_url
        self._retries = retries
        self._idle_timeout = idle_timeout
        self.protocol = protocol
        self._client: AsyncOpenAI | None = None
        to_wire = chat.message_to_wire if protocol == "chat" else responses.message_to_wire
        self._items: GrowingMap[Message, list[dict[str, Any]]] = GrowingMap(
            lambda message, _: to_wire(message)
        )

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        with sdk_failures(self.name) as call:
            if request.options.summarize is not None:
                yield await self._compact(request)
                return
            if self._client is None:
                # The SDK takes a second to import; do not block the event loop.
                await asyncio.to_thread(lambda: (self.sdk().chat, self.sdk().responses))
            accumulator = self._accumulator()
            async for item in streamed(await self._open(self.body(request)), accumulator, call):
                yield item

    async def count_tokens(self, request: Request) -> int:
        body = responses.head_to_wire(request.head)
        known = {"model", "instructions", "tools", "text", "reasoning", "tool_choice"}
        kept = {key: value for key, value in body.items() if key in known}
        items: Any = _all_items(request)
        with sdk_failures(self.name):
            counted = await self.sdk().responses.input_tokens.count(**kept, input=items)
            return counted.input_tokens

    async def look_up_window(self) -> int | None:
        """Servers such as vLLM add the window to their model list; OpenAI itself does not."""
        with sdk_failures(self.name):
            model = await self.sdk().models.retrieve(split_suffix(self.name)[0])
            found = (model.model_extra or {}).get("max_model_len")
            return found if isinstance(found, int) else None

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def body(self, request: Request) -> dict[str, Any]:
        """The request as SDK arguments; messages converted by an earlier call are reused."""
        items = [item for group in self._items(request.messages) for item in group]
        if self.protocol == "responses":
            return responses.head_to_wire(request.head) | {"input": items}
        head = chat.head_to_wire(request.head, compatible=self._base_url is not None)
        return head | {"messages": [*chat.system_to_wire(request.head), *items]}

    def _accumulator(self) -> Accumulator:
        chatting = self.protocol == "chat"
        return chat.ChatAccumulator() if chatting else responses.ResponsesAccumulator()

    async def _open(self, body: dict[str, Any]) -> Any:
        if self.protocol == "chat":
            return await self.sdk().chat.completions.create(**body, stream=True)
        return await self.sdk().responses.create(**body, stream=True)

    async def _compact(self, request: Request) -> Reply:
        """Compact on demand; the reply's opaque items replace the whole conversation."""
        items: Any = _all_items(request)
        asked = request.options.summarize
        head = responses.head_to_wire(request.head)
        instructions = "\n\n".join(
            part for part in (head.get("instructions"), asked and asked.instructions) if part
        )
        compacted = await self.sdk().responses.compact(
            model=head["model"],
            input=items,
            instructions=instructions or None,
        )
        raw = compacted.model_dump(mode="json", warnings=False, exclude_unset=True)
        blocks = tuple(_opaque(item) for item in raw["output"])
        usage = responses.responses_usage(raw.get("usage") or {})
        return Reply(raw["id"], self.name, blocks, "compaction", usage)

    def sdk(self) -> AsyncOpenAI:
        if self._client is None:
            with sdk_missing("openai"):
                from openai import AsyncOpenAI, Timeout
            key = self._key or ("none" if self._base_url else None)
            self._client = AsyncOpenAI(
                api_key=key,
                base_url=self._base_url,
                max_retries=self._retries,
                timeout=Timeout(
                    self._idle_timeout, connect=min(self._idle_timeout, CONNECT_SECONDS)
                ),
            )
        return self._client


def _opaque(item: dict[str, Any]) -> Opaque:
    return Opaque(responses.PROVIDER, responses.verbatim(item))


def _all_items(request: Request) -> list[dict[str, Any]]:
    return [item for message in request.messages for item in responses.message_to_wire(message)]
