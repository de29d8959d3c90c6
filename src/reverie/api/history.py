"""Reads a caller's messages in the formats of the Messages API, Chat Completions and the Responses API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import Literal

from reverie.api.shapes import InputObject
from reverie.core.messages import (
    Block,
    Document,
    Image,
    Message,
    Opaque,
    ResultContent,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.errors import InputError
from reverie.models.anthropic_wire import PROVIDER as ANTHROPIC
from reverie.models.openai_responses import PROVIDER as OPENAI
from reverie.models.openai_responses import verbatim

_DATA = "data:"


def content(
    given: InputObject, key: str = "content", *, of_model: bool = False
) -> tuple[Block, ...]:
    """The blocks of a string or a list of parts; parts only a provider understands are kept as they are."""
    value = given.get(key)
    if isinstance(value, str):
        return (Text(value),) if value else ()
    return tuple(_block(part, of_model=of_model) for part in given.each(key))


def _block(part: InputObject, *, of_model: bool) -> Block:
    kind = part.text("type")
    read = _PARTS.get(kind)
    if read is not None:
        return read(part)
    if of_model or kind in _KEPT:
        return _kept(part)
    raise InputError(f"{part.where} has the type {kind!r}; known: {', '.join((*_PARTS, *_KEPT))}")


def _kept(part: InputObject) -> Opaque:
    present = {key: value for key, value in part.raw.items() if value is not None}
    return Opaque(ANTHROPIC, json.dumps(present, ensure_ascii=False))


def result(given: InputObject, id_key: str, key: str) -> ToolResult:
    """A tool's result; the keys differ between protocols."""
    allowed: list[ResultContent] = []
    for part in content(given, key):
        if not isinstance(part, Text | Image | Document):
            raise InputError(
                f"{given.where}.{key} holds a {part.kind}; a result holds text or media"
            )
        allowed.append(part)
    return ToolResult(given.text(id_key), tuple(allowed), given.get("is_error") is True)


def call(given: InputObject, id_key: str) -> ToolUse:
    """A function call whose arguments are JSON text."""
    return ToolUse(given.text(id_key), given.text("name"), given.text("arguments") or "{}")


def _tool_use(part: InputObject) -> ToolUse:
    arguments = json.dumps(part.inner("input").raw, ensure_ascii=False)
    return ToolUse(part.text("id"), part.text("name"), arguments)


def _source(part: InputObject) -> Block:
    """An image or a document in the Messages API's format."""
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


def _file(part: InputObject) -> Document:
    media, data = _inline(part.text("file_data"))
    if not data:
        raise part.wrong("file_data", "a data: URL with the content in base64")
    return Document(media, data, str(part.get("filename") or ""))


def _inline(address: str) -> tuple[str, str]:
    """Media type and content of a `data:` URL; empty for any other URL."""
    if not address.startswith(_DATA):
        return "", ""
    media, _, data = address.removeprefix(_DATA).partition(";base64,")
    return media, data


_PARTS: Mapping[str, Callable[[InputObject], Block]] = {
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

# Parts that a caller may send and only its provider understands.
_KEPT = ("search_result", "container_upload")

_WANTED = "a dictionary with role and content, an SDK's message, or a reverie.Message"
_SYSTEM = ("system", "developer")
_ROLES = ("user", "assistant", "tool", *_SYSTEM)


@dataclass(frozen=True, slots=True)
class History:
    """The conversation, and the system prompt if the first messages hold one (else None)."""

    system: str | None
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """One entry of the caller's list; `joins` if its protocol splits a message into several entries."""

    where: str
    role: Literal["user", "assistant", "system"]
    blocks: tuple[Block, ...]
    joins: bool = False


def read_history(messages: Sequence[object]) -> History:
    """Read a whole conversation; an InputError says which message is wrong, and how."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise InputError(f"messages is a {type(messages).__name__}; give a list of messages")
    pieces = [_piece(value, f"messages[{i}]") for i, value in enumerate(messages)]
    leading = [_text(piece) for piece in takewhile(_is_system, pieces)]
    rest = list(dropwhile(_is_system, pieces))
    for piece in rest:
        if _is_system(piece):
            raise InputError(
                f"{piece.where} is a system message; the system prompt comes first and does not "
                "change: give it to Context(system=…), and anything new as a user message"
            )
    system = "\n\n".join(leading) if leading else None
    return History(system, tuple(_messages(_joined(rest))))


def _piece(value: object, where: str) -> _Piece:
    if isinstance(value, Message):
        return _Piece(where, value.role, value.blocks)
    given = InputObject.of(value, where, _WANTED)
    if "role" not in given.raw:
        return _item(given)
    role = given.text("role")
    match role:
        case "tool":
            found = result(given, "tool_call_id", "content")
            return _Piece(where, "user", (found,), joins=True)
        case "assistant":
            return _Piece(where, "assistant", _assistant_blocks(given), _is_output(given))
        case "user":
            return _Piece(where, "user", _user_blocks(given))
        case "system" | "developer":
            return _Piece(where, "system", content(given))
    raise InputError(f"{where}.role is {role!r}; known: {', '.join(_ROLES)}")


def _item(given: InputObject) -> _Piece:
    """An item of the Responses API that is not a message."""
    match given.get("type"):
        case "function_call":
            return _Piece(given.where, "assistant", (call(given, "call_id"),), joins=True)
        case "function_call_output":
            found = result(given, "call_id", "output")
            return _Piece(given.where, "user", (found,), joins=True)
        case str():
            kept = Opaque(OPENAI, verbatim(given.raw))
            return _Piece(given.where, "assistant", (kept,), joins=True)
    raise InputError(f"{given.where} has neither a role nor a type; give {_WANTED}")


def _is_output(given: InputObject) -> bool:
    """Is this an output item of a reply of the Responses API?"""
    parts = given.each("content") if isinstance(given.get("content"), list) else []
    kinds = {part.get("type") for part in parts}
    return bool(kinds) and kinds <= {"output_text", "refusal"}


def _assistant_blocks(given: InputObject) -> tuple[Block, ...]:
    """An assistant's content and its function calls."""
    calls = []
    for one in given.each("tool_calls"):
        function = one.inner("function")
        with_id = InputObject(function.raw | {"id": one.get("id")}, function.where)
        calls.append(call(with_id, "id"))
    return (*content(given, of_model=True), *calls)


def _user_blocks(given: InputObject) -> tuple[Block, ...]:
    found = content(given)
    if not found:
        raise InputError(f"{given.where} has no content; leave it out")
    return found


def _joined(pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    last: _Piece | None = None
    for piece in pieces:
        if last is not None and last.joins and piece.joins and last.role == piece.role:
            last = replace(last, blocks=(*last.blocks, *piece.blocks))
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last


def _messages(pieces: Iterator[_Piece]) -> Iterator[Message]:
    """The pieces as messages; tool results get a message of their own, before the user's text."""
    for piece in pieces:
        if piece.role == "assistant":
            if piece.blocks:
                yield Message("", "assistant", piece.blocks, origin="assistant")
            continue
        results = tuple(block for block in piece.blocks if isinstance(block, ToolResult))
        words = tuple(block for block in piece.blocks if not isinstance(block, ToolResult))
        if results:
            yield Message("", "user", results, origin="tool")
        if words:
            yield Message("", "user", words)


def _is_system(piece: _Piece) -> bool:
    return piece.role == "system"


def _text(piece: _Piece) -> str:
    return "\n\n".join(block.text for block in piece.blocks if isinstance(block, Text))
