"""Content of messages, as the Messages API, Chat Completions and the Responses API write it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from reverie.app.library.shapes import Given
from reverie.core.messages import (
    Block,
    Document,
    Image,
    Opaque,
    ResultContent,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.errors import InputError
from reverie.models.anthropic_wire import PROVIDER as ANTHROPIC

_DATA = "data:"


def content(given: Given, key: str = "content", *, of_model: bool = False) -> tuple[Block, ...]:
    """Text, or a list of parts. What only a provider understands goes back to it as it is."""
    value = given.get(key)
    if isinstance(value, str):
        return (Text(value),) if value else ()
    return tuple(_block(part, of_model=of_model) for part in given.each(key))


def _block(part: Given, *, of_model: bool) -> Block:
    kind = part.text("type")
    read = _PARTS.get(kind)
    if read is not None:
        return read(part)
    if of_model or kind in _KEPT:
        return _kept(part)
    raise InputError(f"{part.where} has the type {kind!r}; known: {', '.join((*_PARTS, *_KEPT))}")


def _kept(part: Given) -> Opaque:
    present = {key: value for key, value in part.raw.items() if value is not None}
    return Opaque(ANTHROPIC, json.dumps(present, ensure_ascii=False))


def result(given: Given, id_key: str, key: str) -> ToolResult:
    """A tool's answer, under whichever names a protocol gives to its parts."""
    allowed: list[ResultContent] = []
    for part in content(given, key):
        if not isinstance(part, Text | Image | Document):
            raise InputError(
                f"{given.where}.{key} holds a {part.kind}; a result holds text or media"
            )
        allowed.append(part)
    return ToolResult(given.text(id_key), tuple(allowed), given.get("is_error") is True)


def call(given: Given, id_key: str) -> ToolUse:
    """A function call whose arguments are JSON text."""
    return ToolUse(given.text(id_key), given.text("name"), given.text("arguments") or "{}")


def _tool_use(part: Given) -> ToolUse:
    arguments = json.dumps(part.inner("input").raw, ensure_ascii=False)
    return ToolUse(part.text("id"), part.text("name"), arguments)


def _source(part: Given) -> Block:
    """An image or a document of the Messages API."""
    source = part.inner("source")
    kind, image = source.text("type"), part.text("type") == "image"
    if kind == "url" and image:
        return Image("", url=source.text("url"))
    if kind not in {"base64", "text"}:
        return _kept(part)
    media, data = source.text("media_type"), source.text("data")
    return Image(media, data) if image else Document(media, data, str(part.get("title") or ""))


def _image(address: str) -> Image:
    media, data = _inline(address)
    return Image(media, data) if data else Image("", url=address)


def _file(part: Given) -> Document:
    media, data = _inline(part.text("file_data"))
    if not data:
        raise part.wrong("file_data", "a data: address with the content in base64")
    return Document(media, data, str(part.get("filename") or ""))


def _inline(address: str) -> tuple[str, str]:
    """Media type and content of a `data:` address; nothing for any other."""
    if not address.startswith(_DATA):
        return "", ""
    media, _, data = address.removeprefix(_DATA).partition(";base64,")
    return media, data


_PARTS: Mapping[str, Callable[[Given], Block]] = {
    "text": lambda part: Text(part.text("text")),
    "input_text": lambda part: Text(part.text("text")),
    "output_text": lambda part: Text(part.text("text")),
    "refusal": lambda part: Text(part.text("refusal")),
    "thinking": lambda part: Thinking(part.text("thinking"), str(part.get("signature") or "")),
    "redacted_thinking": lambda part: Thinking("", part.text("data"), redacted=True),
    "tool_use": _tool_use,
    "tool_result": lambda part: result(part, "tool_use_id", "content"),
    "image": _source,
    "document": _source,
    "image_url": lambda part: _image(part.inner("image_url").text("url")),
    "input_image": lambda part: _image(part.text("image_url")),
    "file": lambda part: _file(part.inner("file")),
    "input_file": _file,
}

# What a caller may send and only its provider understands.
_KEPT = ("search_result", "container_upload")
