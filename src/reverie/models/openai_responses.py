"""Convert requests and replies of OpenAI's Responses API, used without server-side state."""

from __future__ import annotations

import json
from typing import Any

from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
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
from reverie.errors import ReplyBroken, RequestRefused
from reverie.models.openai_chat import content_text

Wire = dict[str, Any]

PROVIDER = "openai"


def head_to_wire(head: Head) -> Wire:
    """Convert everything but the input items; the server stores nothing."""
    body: Wire = {
        "model": split_suffix(head.model)[0],
        "max_output_tokens": head.options.max_tokens,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if head.system:
        body["instructions"] = wire_text("\n\n".join(block.text for block in head.system))
    if head.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": json.loads(tool.schema),
                "strict": False,
            }
            for tool in head.tools
        ]
    return body | _options(head.options)


def _options(options: Options) -> Wire:
    wire: Wire = {}
    if options.effort:
        wire["reasoning"] = {"effort": options.effort}
    if options.temperature is not None:
        wire["temperature"] = options.temperature
    if options.tool_choice:
        known = {"auto": "auto", "none": "none", "any": "required"}
        named = {"type": "function", "name": options.tool_choice}
        wire["tool_choice"] = known.get(options.tool_choice) or named
    if options.output_schema:
        schema = json.loads(options.output_schema)
        form = {"type": "json_schema", "name": "reply", "schema": schema, "strict": True}
        wire["text"] = {"format": form}
    return wire


def message_to_wire(message: Message) -> list[Wire]:
    """Convert a message to input items; adjacent text blocks share an item."""
    items: list[Wire] = []
    for block in message.blocks:
        item = _item(block)
        part = _part(block, message.role)
        if item is not None:
            items.append(item)
        elif part is not None:
            if not items or items[-1].get("type") != "message":
                items.append({"type": "message", "role": message.role, "content": []})
            items[-1]["content"].append(part)
    return items


def _item(block: Block) -> Wire | None:
    match block:
        case ToolUse(id_, name, arguments):
            return {"type": "function_call", "call_id": id_, "name": name, "arguments": arguments}
        case ToolResult(id_, content, _):
            text = wire_text("\n".join(content_text(part) for part in content))
            return {"type": "function_call_output", "call_id": id_, "output": text}
        case Opaque(provider, payload) if provider == PROVIDER:
            item: Wire = json.loads(payload)
            return item
        case _:
            return None


def _part(block: Block, role: str) -> Wire | None:
    kind = "output_text" if role == "assistant" else "input_text"
    match block:
        case Text(text) if text:
            return {"type": kind, "text": wire_text(text)}
        case Attachment():
            return {"type": kind, "text": wire_text(attachment_text(block))}
        case Image(media_type, data, url):
            address = url or f"data:{media_type};base64,{data}"
            return {"type": "input_image", "image_url": address, "detail": "auto"}
        case Document(media_type, data, title):
            address = f"data:{media_type};base64,{data}"
            return {"type": "input_file", "filename": title or "document", "file_data": address}
        case _:
            return None


class ResponsesAccumulator:
    """Turns response events into deltas and, at the end, the whole reply."""

    def __init__(self) -> None:
        self._items: list[Wire] = []
        self._response: Wire | None = None

    def feed(self, event: Wire) -> list[StreamItem]:
        match event.get("type"):
            case "response.output_text.delta":
                return [TextDelta(event["delta"])]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return [ThinkingDelta(event["delta"])]
            case "response.output_item.added" if event["item"]["type"] == "function_call":
                return [ToolUseStarted(event["item"]["call_id"], event["item"]["name"])]
            case "response.output_item.done":
                self._items.append(event["item"])
            case "response.completed" | "response.incomplete":
                self._response = event["response"]
            case "response.failed" | "error":
                raise RequestRefused(f"the provider gave up on the reply: {_failure(event)}")
            case _:
                pass
        return []

    def reply(self) -> Reply:
        response = self._response
        if response is None:
            raise ReplyBroken("the stream was cut before the reply was complete; try again")
        blocks = tuple(block for item in self._items for block in item_to_blocks(item))
        usage = responses_usage(response.get("usage") or {})
        return Reply(response["id"], response["model"], blocks, _stop(response, blocks), usage)


def whole_reply(response: Wire) -> Reply:
    """Convert a response that was not streamed."""
    accumulator = ResponsesAccumulator()
    for item in response["output"]:
        accumulator.feed({"type": "response.output_item.done", "item": item})
    accumulator.feed({"type": f"response.{response.get('status')}", "response": response})
    return accumulator.reply()


def _failure(event: Wire) -> str:
    error = (event.get("response") or {}).get("error") or event
    return str(error.get("message") or error.get("code") or "no reason given")


def _stop(response: Wire, blocks: tuple[Block, ...]) -> StopReason:
    reason = (response.get("incomplete_details") or {}).get("reason")
    if reason == "max_output_tokens":
        return "max_tokens"
    if reason == "content_filter":
        return "refusal"
    return "tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end"


def item_to_blocks(item: Wire) -> list[Block]:
    """Convert an output item; unknown ones (reasoning, compaction) are kept and sent back unchanged."""
    match item["type"]:
        case "message":
            return [Text(part["text"]) for part in item["content"] if part["type"] == "output_text"]
        case "function_call":
            return [ToolUse(item["call_id"], item["name"], item.get("arguments") or "{}")]
        case _:
            return [Opaque(PROVIDER, verbatim(item))]


def verbatim(item: Wire) -> str:
    """An item as it is sent back, without unset fields."""
    present = {key: value for key, value in item.items() if value is not None}
    return json.dumps(present, ensure_ascii=False)


def responses_usage(raw: Wire) -> Usage:
    """Convert usage: OpenAI's input count includes cached tokens, `Usage.input` does not."""
    details = raw.get("input_tokens_details") or {}
    read = details.get("cached_tokens") or 0
    written = details.get("cache_write_tokens") or 0
    return Usage(
        input=max(0, (raw.get("input_tokens") or 0) - read - written),
        cache_read=read,
        cache_write_5m=written,
        output=raw.get("output_tokens") or 0,
    )
