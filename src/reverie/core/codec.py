"""Converts blocks and messages to JSON objects and back, for journals and canonical bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, assert_never, cast, get_args

from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Origin,
    ResultContent,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.errors import TranscriptError

Json = dict[str, Any]


# `json.dumps` would make an encoder for every call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def dump(value: Any) -> bytes:
    """Compact JSON in UTF-8; key order is the caller's, lone surrogates survive the round trip."""
    return _encode(value).encode("utf-8", "surrogatepass")


def iso_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_time(text: str) -> float:
    """Seconds since the epoch; ValueError or OverflowError for a time that `iso_time` cannot write."""
    at = datetime.fromisoformat(text).timestamp()
    # A time on the last day of 9999 may be in the year 10000 in UTC.
    iso_time(at)
    return at


def block_to_json(block: Block) -> Json:  # noqa: PLR0911 - one return a block kind
    """One object per block; optional fields appear only when set, to keep bytes small and stable."""
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text, signature, redacted):
            optional = {"signature": signature, "redacted": redacted}
            return {"type": "thinking", "text": text} | _present(optional)
        case ToolUse(id_, name, arguments):
            return {"type": "tool_use", "id": id_, "name": name, "arguments": arguments}
        case ToolResult(tool_use_id, content, is_error):
            parts = [block_to_json(part) for part in content]
            found = {"type": "tool_result", "tool_use_id": tool_use_id, "content": parts}
            return found | _present({"is_error": is_error})
        case Image(media_type, data, url):
            optional = {"data": data or None, "url": url or None}
            return {"type": "image", "media_type": media_type} | _present(optional)
        case Document(media_type, data, title):
            base = {"type": "document", "media_type": media_type, "data": data}
            return base | _present({"title": title or None})
        case Attachment(label, text, key):
            base = {"type": "attachment", "label": label, "text": text}
            return base | _present({"key": key or None})
        case Opaque(provider, payload):
            return {"type": "opaque", "provider": provider, "payload": payload}
        case _:
            assert_never(block)


def message_to_json(message: Message) -> Json:
    fixed = {
        "id": message.id,
        "parent": message.parent,
        "at": iso_time(message.at),
        "role": message.role,
        "origin": message.origin,
        "blocks": [block_to_json(block) for block in message.blocks],
    }
    return fixed | _present({"response": message.response, "bound_to": message.bound_to})


def block_from_json(value: object) -> Block:
    data = _object(value, "block")
    kind = data.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise TranscriptError(f"unknown block type {kind!r}")
    return read(data)


def message_from_json(value: object) -> Message:
    data = _object(value, "message")
    blocks = data.get("blocks")
    if not isinstance(blocks, list):
        raise TranscriptError(f"message 'blocks' must be a list, not {_excerpt(blocks)}")
    return Message(
        id=_text(data, "id"),
        role=cast("Role", _choice(data, "role", get_args(Role))),
        blocks=tuple(block_from_json(block) for block in blocks),
        parent=_optional_text(data, "parent"),
        at=_time(data, "at"),
        origin=cast("Origin", _choice(data, "origin", get_args(Origin))),
        response=_optional_text(data, "response"),
        bound_to=_optional_text(data, "bound_to"),
    )


def _result_content(value: object) -> ResultContent:
    block = block_from_json(value)
    if not isinstance(block, Text | Image | Document):
        raise TranscriptError(f"a tool result cannot hold a {block.kind!r} block")
    return block


def _tool_result(data: Json) -> ToolResult:
    content = data.get("content", [])
    if not isinstance(content, list):
        raise TranscriptError(f"tool result 'content' must be a list, not {_excerpt(content)}")
    parts = tuple(_result_content(part) for part in content)
    return ToolResult(_text(data, "tool_use_id"), parts, data.get("is_error") is True)


_READERS: Mapping[str, Callable[[Json], Block]] = {
    "text": lambda d: Text(_text(d, "text")),
    "thinking": lambda d: Thinking(
        _text(d, "text"), _optional_text(d, "signature"), d.get("redacted") is True
    ),
    "tool_use": lambda d: ToolUse(_text(d, "id"), _text(d, "name"), _text(d, "arguments")),
    "tool_result": _tool_result,
    "image": lambda d: Image(
        _text(d, "media_type"), _optional_text(d, "data") or "", _optional_text(d, "url") or ""
    ),
    "document": lambda d: Document(
        _text(d, "media_type"), _text(d, "data"), _optional_text(d, "title") or ""
    ),
    "attachment": lambda d: Attachment(
        _text(d, "label"), _text(d, "text"), _optional_text(d, "key") or ""
    ),
    "opaque": lambda d: Opaque(_text(d, "provider"), _text(d, "payload")),
}


def _present(optional: Json) -> Json:
    return {key: value for key, value in optional.items() if value not in (None, False)}


def _object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        raise TranscriptError(f"a {what} must be a JSON object, not {_excerpt(value)}")
    return value


def _text(data: Json, key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise TranscriptError(f"{key!r} must be text, not {_excerpt(value)}")
    return value


def _optional_text(data: Json, key: str) -> str | None:
    return None if data.get(key) is None else _text(data, key)


def _choice(data: Json, key: str, known: tuple[str, ...]) -> str:
    value = _text(data, key)
    if value not in known:
        raise TranscriptError(f"{key!r} is {value!r}; known: {', '.join(known)}")
    return value


def _time(data: Json, key: str) -> float:
    text = _text(data, key)
    try:
        return parse_time(text)
    except (ValueError, OverflowError) as error:
        raise TranscriptError(f"{key!r} is not an ISO 8601 time: {_excerpt(text)}") from error


def _excerpt(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "…"
