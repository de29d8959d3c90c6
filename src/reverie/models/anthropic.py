"""Anthropic's Messages API through the official SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from reverie.core.messages import Block, GrowingMap, Message, Opaque, Text, Thinking, ToolUse
from reverie.core.request import (
    Cleared,
    Reply,
    Request,
    StopReason,
    StreamItem,
    TextDelta,
    ThinkingDelta,
    ToolUseStarted,
)
from reverie.core.usage import Prices, Usage
from reverie.core.window import Capabilities, Ttl, split_suffix
from reverie.errors import ReplyBroken
from reverie.models import anthropic_wire as wire
from reverie.models.failures import (
    CONNECT_SECONDS,
    IDLE_SECONDS,
    sdk_failures,
    sdk_missing,
    streamed,
)

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "paused",
    "model_context_window_exceeded": "window_full",
    "compaction": "compaction",
}


class AnthropicModel:
    """A model of Anthropic, or of a server with the same API."""

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
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self.prices = prices
        self._key = api_key
        self._base_url = base_url
        self._retries = retries
        self._idle_timeout = idle_timeout
        self._client: AsyncAnthropic | None = None
        self._messages: GrowingMap[Message, wire.Wire | None] = GrowingMap(
            lambda message, _: wire.message_to_wire(message)
        )

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        body = self.body(request)
        with sdk_failures(self.name) as call:
            if self._client is None:
                # The SDK takes a second to import; do not block the event loop.
                await asyncio.to_thread(lambda: self.sdk().beta.messages)
            events = await self.sdk().beta.messages.create(**body, stream=True)
            async for item in streamed(events, MessageAccumulator(), call):
                yield item

    async def count_tokens(self, request: Request) -> int:
        unwanted = {"max_tokens", "diagnostics", "stop_sequences", "compaction"}
        body = {key: value for key, value in self.body(request).items() if key not in unwanted}
        with sdk_failures(self.name):
            counted = await self.sdk().beta.messages.count_tokens(**body)
            return counted.input_tokens

    async def look_up_window(self) -> int | None:
        with sdk_failures(self.name):
            model = await self.sdk().models.retrieve(split_suffix(self.name)[0])
            return model.max_input_tokens

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def body(self, request: Request) -> dict[str, Any]:
        """The request as SDK arguments; messages converted by an earlier call are reused."""
        body = wire.head_to_wire(request.head, request.breakpoints)
        messages = self._messages(request.messages)
        for index, marks in _message_marks(request).items():
            messages[index] = wire.message_to_wire(request.messages[index], marks)
        body["messages"] = [message for message in messages if message is not None]
        if betas := wire.betas(request):
            body["betas"] = betas
        if request.options.summarize is None:
            body["diagnostics"] = {"previous_message_id": request.previous_response}
        return body

    def sdk(self) -> AsyncAnthropic:
        if self._client is None:
            with sdk_missing("anthropic"):
                from anthropic import AsyncAnthropic, Timeout
            self._client = AsyncAnthropic(
                api_key=self._key,
                base_url=self._base_url,
                max_retries=self._retries,
                timeout=Timeout(
                    self._idle_timeout, connect=min(self._idle_timeout, CONNECT_SECONDS)
                ),
            )
        return self._client


def _message_marks(request: Request) -> dict[int, dict[int, Ttl]]:
    marks: dict[int, dict[int, Ttl]] = {}
    for point in request.breakpoints:
        if point.section == "messages":
            marks.setdefault(point.index, {})[point.block] = point.ttl
    return marks


class MessageAccumulator:
    """Turns raw stream events into deltas and, at the end, the whole reply."""

    def __init__(self) -> None:
        self._start: dict[str, Any] = {}
        self._end: dict[str, Any] = {}
        self._blocks: list[dict[str, Any]] = []
        self._finished = False

    def feed(self, event: dict[str, Any]) -> list[StreamItem]:
        match event.get("type"):
            case "message_start":
                self._start = event["message"]
            case "content_block_start":
                return self._open(event["content_block"])
            case "content_block_delta":
                return self._grow(event["delta"])
            case "message_delta":
                self._end = event
            case "message_stop":
                self._finished = True
            case _:
                pass
        return []

    def reply(self) -> Reply:
        if not self._finished or not self._start:
            raise ReplyBroken("the stream was cut before the reply was complete; try again")
        end = self._end
        whole = self._start | {
            "content": self._blocks,
            "stop_reason": (end.get("delta") or {}).get("stop_reason"),
            "usage": _merged(self._start.get("usage"), end.get("usage")),
            "context_management": end.get("context_management"),
        }
        return whole_reply(whole)

    def _open(self, block: dict[str, Any]) -> list[StreamItem]:
        self._blocks.append({**block, "_json": ""})
        if block["type"] == "tool_use":
            return [ToolUseStarted(block["id"], block["name"])]
        return []

    def _grow(self, delta: dict[str, Any]) -> list[StreamItem]:
        block = self._blocks[-1]
        match delta["type"]:
            case "text_delta":
                block["text"] += delta["text"]
                return [TextDelta(delta["text"])]
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
                return [ThinkingDelta(delta["thinking"])]
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "input_json_delta":
                block["_json"] += delta["partial_json"]
            case "compaction_delta":
                block |= {key: value for key, value in delta.items() if key != "type"}
            case _:
                pass
        return []


def whole_reply(message: dict[str, Any]) -> Reply:
    """Convert a complete message to a reply."""
    return Reply(
        id=message["id"],
        model=message["model"],
        blocks=tuple(_block(dict(block)) for block in message["content"]),
        stop=_STOPS.get(message.get("stop_reason") or "", "end"),
        usage=_usage(message.get("usage") or {}),
        diagnosis=_diagnosis(message),
        cleared=_cleared(message.get("context_management")),
    )


def _block(raw: dict[str, Any]) -> Block:
    arguments = raw.pop("_json", "")
    match raw["type"]:
        case "text":
            return Text(raw["text"])
        case "thinking":
            return Thinking(raw["thinking"], raw.get("signature"))
        case "redacted_thinking":
            return Thinking("", raw["data"], redacted=True)
        case "tool_use":
            whole = arguments or json.dumps(raw.get("input") or {})
            return ToolUse(raw["id"], raw["name"], whole)
        case _:
            present = {key: value for key, value in raw.items() if value is not None}
            return Opaque(wire.PROVIDER, json.dumps(present, ensure_ascii=False))


def _merged(start: dict[str, Any] | None, end: dict[str, Any] | None) -> dict[str, Any]:
    """The counts of the last event, with those of the first event where it has none."""
    known = {key: value for key, value in (end or {}).items() if value is not None}
    return (start or {}) | known


def _usage(raw: dict[str, Any]) -> Usage:
    """Billed tokens: the reply, and any compaction, which the top-level counts leave out."""
    extra = [i for i in raw.get("iterations") or () if i.get("type") == "compaction"]
    return sum((_counts(iteration) for iteration in extra), _counts(raw))


def _counts(raw: dict[str, Any]) -> Usage:
    written = raw.get("cache_creation_input_tokens") or 0
    hour = (raw.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
    return Usage(
        input=raw.get("input_tokens") or 0,
        cache_read=raw.get("cache_read_input_tokens") or 0,
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        output=raw.get("output_tokens") or 0,
    )


def _diagnosis(message: dict[str, Any]) -> str:
    reason = (message.get("diagnostics") or {}).get("cache_miss_reason") or {}
    return str(reason.get("type") or "")


def _cleared(management: dict[str, Any] | None) -> tuple[Cleared, ...]:
    return tuple(_cleared_edit(edit) for edit in (management or {}).get("applied_edits") or ())


def _cleared_edit(edit: dict[str, Any]) -> Cleared:
    tokens = edit.get("cleared_input_tokens") or 0
    if edit.get("cleared_tool_uses") is not None:
        return Cleared("tool_uses", edit["cleared_tool_uses"], tokens)
    if edit.get("cleared_thinking_turns") is not None:
        return Cleared("thinking", edit["cleared_thinking_turns"], tokens)
    return Cleared("other", 0, tokens)
