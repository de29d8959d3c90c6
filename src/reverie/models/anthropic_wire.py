"""Convert requests to the JSON of the Messages API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.core.request import (
    Breakpoint,
    ClearThinking,
    ClearToolUses,
    ContextEdit,
    Head,
    Options,
    Request,
    ToolSpec,
    attachment_text,
    wire_text,
)
from reverie.core.window import Ttl, split_suffix

Wire = dict[str, Any]
Marks = Mapping[int, Ttl]

PROVIDER = "anthropic"

CONTEXT_MANAGEMENT_BETA = "context-management-2025-06-27"
COMPACTION_BETA = "compact-2026-09-04"


def head_to_wire(head: Head, breakpoints: Iterable[Breakpoint]) -> Wire:
    """Convert everything but the messages."""
    marks = {(b.section, b.index): b.ttl for b in breakpoints}
    body: Wire = {"model": split_suffix(head.model)[0], "max_tokens": head.options.max_tokens}
    if head.system:
        body["system"] = [
            _marked({"type": "text", "text": wire_text(block.text)}, marks.get(("system", i)))
            for i, block in enumerate(head.system)
        ]
    if head.tools:
        body["tools"] = [
            _marked(tool_to_wire(tool), marks.get(("tools", i)))
            for i, tool in enumerate(head.tools)
        ]
    return body | options_to_wire(head.options)


def tool_to_wire(tool: ToolSpec) -> Wire:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": json.loads(tool.schema),
    }


def options_to_wire(options: Options) -> Wire:
    wire: Wire = {}
    if options.thinking:
        wire["thinking"] = thinking_to_wire(options.thinking)
    if options.effort or options.output_schema:
        wire["output_config"] = _output_config(options)
    if options.tool_choice:
        wire["tool_choice"] = _tool_choice(options.tool_choice)
    if options.stop:
        wire["stop_sequences"] = list(options.stop)
    if options.edits:
        wire["context_management"] = {"edits": [edit_to_wire(edit) for edit in options.edits]}
    if options.summarize is not None:
        instructions = options.summarize.instructions or None
        wire["compaction"] = {"type": "summarize", "instructions": instructions}
    return wire


def betas(request: Request) -> list[str]:
    """The beta headers the request needs; a compaction block needs its own in every request."""
    found = [CONTEXT_MANAGEMENT_BETA] if request.options.edits else []
    compacted = request.options.summarize is not None or any(
        isinstance(block, Opaque) and block.provider == PROVIDER
        for message in request.messages[:1]
        for block in message.blocks
    )
    return [*found, COMPACTION_BETA] if compacted else found


def thinking_to_wire(mode: str) -> Wire:
    """`off`, `adaptive`, `between_tools`, or `budget:N` for models with extended thinking."""
    if mode == "off":
        return {"type": "disabled"}
    if mode.startswith("budget:"):
        return {"type": "enabled", "budget_tokens": int(mode.removeprefix("budget:"))}
    return {"type": mode}


def edit_to_wire(edit: ContextEdit) -> Wire:
    match edit:
        case ClearThinking(keep_turns):
            keep = {"type": "thinking_turns", "value": keep_turns} if keep_turns else "all"
            return {"type": "clear_thinking_20251015", "keep": keep}
        case ClearToolUses(trigger, at_least, keep_uses, exclude):
            return {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": trigger},
                "keep": {"type": "tool_uses", "value": keep_uses},
                "clear_at_least": {"type": "input_tokens", "value": at_least},
                "exclude_tools": list(exclude),
            }
        case _:
            assert_never(edit)


def message_to_wire(message: Message, marks: Marks | None = None) -> Wire | None:
    """Convert a message; None if no block can be sent (all empty or of another provider)."""
    content = [
        _marked(wire, (marks or {}).get(i))
        for i, block in enumerate(message.blocks)
        if (wire := block_to_wire(block)) is not None
    ]
    return {"role": message.role, "content": content} if content else None


def block_to_wire(block: Block) -> Wire | None:  # noqa: PLR0911 - one return a block kind
    """Convert a block; None if Anthropic would refuse it (empty text, another provider's block)."""
    match block:
        case Text(text):
            return {"type": "text", "text": wire_text(text)} if text else None
        case Attachment():
            return {"type": "text", "text": wire_text(attachment_text(block))}
        case Thinking(text, signature, redacted):
            return _thinking(text, signature, redacted=redacted)
        case ToolUse(id_, name, _):
            return {"type": "tool_use", "id": id_, "name": name, "input": block.input}
        case ToolResult(tool_use_id, content, is_error):
            parts = [sent for part in content if (sent := block_to_wire(part)) is not None]
            base = {"type": "tool_result", "tool_use_id": tool_use_id, "content": parts}
            return base | ({"is_error": True} if is_error else {})
        case Image(media_type, data, url):
            source = {"type": "url", "url": url} if url else _base64(media_type, data)
            return {"type": "image", "source": source}
        case Document(media_type, data, title):
            return _document(media_type, data, title)
        case Opaque(provider, payload):
            found: Wire | None = json.loads(payload) if provider == PROVIDER else None
            return found
        case _:
            assert_never(block)


def _thinking(text: str, signature: str | None, *, redacted: bool) -> Wire | None:
    """None without a signature: Anthropic refuses thinking that it did not sign."""
    if not signature:
        return None
    if redacted:
        return {"type": "redacted_thinking", "data": signature}
    return {"type": "thinking", "thinking": text, "signature": signature}


def _document(media_type: str, data: str, title: str) -> Wire:
    plain = {"type": "text", "media_type": media_type, "data": data}
    source = plain if media_type.startswith("text/") else _base64(media_type, data)
    return {"type": "document", "source": source} | ({"title": title} if title else {})


def _base64(media_type: str, data: str) -> Wire:
    return {"type": "base64", "media_type": media_type, "data": data}


def _marked(wire: Wire, ttl: Ttl | None) -> Wire:
    if ttl is None:
        return wire
    # Five minutes is the default and can be left out.
    control = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    return wire | {"cache_control": control}


def _output_config(options: Options) -> Wire:
    config: Wire = {"effort": options.effort} if options.effort else {}
    if options.output_schema:
        config["format"] = {"type": "json_schema", "schema": json.loads(options.output_schema)}
    return config


def _tool_choice(choice: str) -> Wire:
    if choice in {"auto", "any", "none"}:
        return {"type": choice}
    return {"type": "tool", "name": choice}
