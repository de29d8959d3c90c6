"""Convert requests and replies of the Chat Completions API, which most compatible servers offer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    ResultContent,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.core.request import (
    Head,
    Options,
    Reply,
    StopReason,
    StreamItem,
    TextDelta,
    ThinkingDelta,
    ToolUseStarted,
    attachment_text,
    wire_text,
)
from reverie.core.usage import Usage
from reverie.core.window import split_suffix
from reverie.errors import ReplyBroken

Wire = dict[str, Any]

_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


def head_to_wire(head: Head, *, compatible: bool) -> Wire:
    """Convert everything but the messages; `compatible` uses only fields that every server accepts."""
    body: Wire = {
        "model": split_suffix(head.model)[0],
        "max_tokens" if compatible else "max_completion_tokens": head.options.max_tokens,
        "stream_options": {"include_usage": True},
    }
    if head.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": json.loads(tool.schema),
                },
            }
            for tool in head.tools
        ]
    return body | _options(head.options)


def system_to_wire(head: Head) -> list[Wire]:
    text = "\n\n".join(block.text for block in head.system)
    return [{"role": "system", "content": wire_text(text)}] if text else []


def _options(options: Options) -> Wire:
    wire: Wire = {}
    if options.temperature is not None:
        wire["temperature"] = options.temperature
    if options.effort:
        wire["reasoning_effort"] = options.effort
    if options.stop:
        wire["stop"] = list(options.stop)
    if options.tool_choice:
        wire["tool_choice"] = _tool_choice(options.tool_choice)
    if options.output_schema:
        schema = {"name": "reply", "schema": json.loads(options.output_schema), "strict": True}
        wire["response_format"] = {"type": "json_schema", "json_schema": schema}
    return wire


def _tool_choice(choice: str) -> Any:
    known = {"auto": "auto", "none": "none", "any": "required"}
    return known.get(choice) or {"type": "function", "function": {"name": choice}}


def message_to_wire(message: Message) -> list[Wire]:
    """Convert a message, which becomes several: each tool result is a message of its own."""
    if message.role == "assistant":
        return _assistant(message)
    results = [
        {"role": "tool", "tool_call_id": result.tool_use_id, "content": _result_text(result)}
        for result in message.tool_results
    ]
    parts = _parts(block for block in message.blocks if not isinstance(block, ToolResult))
    if not parts:
        return results
    # Send plain text as a string: some servers accept nothing else.
    plain = all(part["type"] == "text" for part in parts)
    content = "\n\n".join(part["text"] for part in parts) if plain else parts
    return [*results, {"role": message.role, "content": content}]


def _assistant(message: Message) -> list[Wire]:
    calls = [
        {
            "id": use.id,
            "type": "function",
            "function": {"name": use.name, "arguments": use.arguments},
        }
        for use in message.tool_uses
    ]
    text = wire_text(message.text)
    if not text and not calls:
        return []
    wire: Wire = {"role": "assistant", "content": text or None}
    return [wire | {"tool_calls": calls}] if calls else [wire]


def _parts(blocks: Iterable[Block]) -> list[Wire]:
    parts: list[Wire] = []
    for block in blocks:
        match block:
            case Text(text) if text:
                parts.append({"type": "text", "text": wire_text(text)})
            case Attachment():
                parts.append({"type": "text", "text": wire_text(attachment_text(block))})
            case Image(media_type, data, url):
                address = url or f"data:{media_type};base64,{data}"
                parts.append({"type": "image_url", "image_url": {"url": address}})
            case Document():
                parts.append(_document(block))
            case _:
                pass
    return parts


def _document(block: Document) -> Wire:
    if block.media_type.startswith("text/"):
        return {"type": "text", "text": wire_text(block.data)}
    data = f"data:{block.media_type};base64,{block.data}"
    return {"type": "file", "file": {"filename": block.title or "document", "file_data": data}}


def _result_text(result: ToolResult) -> str:
    return wire_text("\n".join(content_text(part) for part in result.content))


def content_text(part: ResultContent) -> str:
    """Tool results can only be text; other content is replaced by its name."""
    return part.text if isinstance(part, Text) else f"[{part.kind}: {part.media_type}]"


class ChatAccumulator:
    """Turns stream chunks into deltas and, at the end, the whole reply."""

    def __init__(self) -> None:
        self._id = self._model = self._text = self._reasoning = ""
        self._finish: str | None = None
        self._calls: dict[int, dict[str, str]] = {}
        self._usage: Wire = {}

    def feed(self, chunk: Wire) -> list[StreamItem]:
        self._id = chunk.get("id") or self._id
        self._model = chunk.get("model") or self._model
        self._usage = chunk.get("usage") or self._usage
        items: list[StreamItem] = []
        for choice in (chunk.get("choices") or [])[:1]:
            self._finish = choice.get("finish_reason") or self._finish
            items += self._grow(choice.get("delta") or {})
        return items

    def _grow(self, delta: Wire) -> list[StreamItem]:
        items: list[StreamItem] = []
        if text := delta.get("content"):
            self._text += text
            items.append(TextDelta(text))
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            self._reasoning += thought
            items.append(ThinkingDelta(thought))
        for call in delta.get("tool_calls") or []:
            items += self._call(call)
        return items

    def _call(self, delta: Wire) -> list[StreamItem]:
        index = delta.get("index") or 0
        function = delta.get("function") or {}
        new = index not in self._calls
        # A few servers send no id; use the position in the reply.
        fresh = {"id": delta.get("id") or f"{self._id}-{index}", "name": "", "arguments": ""}
        call = self._calls.setdefault(index, fresh)
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""
        return [ToolUseStarted(call["id"], call["name"])] if new else []

    def reply(self) -> Reply:
        if self._finish is None:
            raise ReplyBroken("the stream was cut before the reply was complete; try again")
        blocks: list[Block] = []
        if self._reasoning:
            blocks.append(Thinking(self._reasoning))
        if self._text:
            blocks.append(Text(self._text))
        blocks += [
            ToolUse(call["id"], call["name"], call["arguments"] or "{}")
            for _, call in sorted(self._calls.items())
        ]
        stop = "tool_use" if self._calls else _STOPS.get(self._finish, "end")
        return Reply(self._id, self._model, tuple(blocks), stop, chat_usage(self._usage))


def whole_reply(completion: Wire) -> Reply:
    """Convert a completion that was not streamed."""
    choice = completion["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    delta = choice["message"] | {
        "tool_calls": [{**call, "index": index} for index, call in enumerate(calls)]
    }
    accumulator = ChatAccumulator()
    accumulator.feed(completion | {"choices": [choice | {"delta": delta}]})
    return accumulator.reply()


def chat_usage(raw: Wire) -> Usage:
    """Convert usage: OpenAI's input count includes cached tokens, `Usage.input` does not."""
    details = raw.get("prompt_tokens_details") or {}
    read = details.get("cached_tokens") or 0
    written = details.get("cache_write_tokens") or 0
    return Usage(
        input=max(0, (raw.get("prompt_tokens") or 0) - read - written),
        cache_read=read,
        cache_write_5m=written,
        output=raw.get("completion_tokens") or 0,
    )
