"""Messages and their blocks (immutable, provider-neutral, a closed union), and their JSON for journals and canonical bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import is_not
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, assert_never, cast, get_args

from reverie.errors import TranscriptError

Role: TypeAlias = Literal["user", "assistant", "system"]

# The author of a message, which decides trust: text from tools is never treated as the person's.
Origin: TypeAlias = Literal["user", "assistant", "tool", "hook", "reverie", "import"]


@dataclass(frozen=True, slots=True)
class Text:
    kind: ClassVar[Literal["text"]] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's reasoning. `signature` is the provider's proof; for a redacted one it is the data."""

    kind: ClassVar[Literal["thinking"]] = "thinking"
    text: str
    signature: str | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call the model asks for. `arguments` is JSON text, kept exactly as the model wrote it."""

    kind: ClassVar[Literal["tool_use"]] = "tool_use"
    id: str
    name: str
    arguments: str = "{}"

    @property
    def input(self) -> dict[str, Any]:
        """The arguments as an object; text that is not a JSON object reads as empty."""
        try:
            value = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class Image:
    """An image by value (`data`, base64) or by address (`url`)."""

    kind: ClassVar[Literal["image"]] = "image"
    media_type: str
    data: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    kind: ClassVar[Literal["document"]] = "document"
    media_type: str
    data: str
    title: str = ""


ResultContent: TypeAlias = Text | Image | Document


@dataclass(frozen=True, slots=True)
class ToolResult:
    kind: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    content: tuple[ResultContent, ...] = ()
    is_error: bool = False

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Attachment:
    """Text that Reverie adds to a user message (`label`: recall, date, notes …); frozen once sent.

    `key` is the key of the head; it is set while a request is assembled, and never stored.
    """

    kind: ClassVar[Literal["attachment"]] = "attachment"
    label: str
    text: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block only its provider understands (`payload`: JSON text); replayed to it verbatim."""

    kind: ClassVar[Literal["opaque"]] = "opaque"
    provider: str
    payload: str


Block: TypeAlias = Text | Thinking | ToolUse | ToolResult | Image | Document | Attachment | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a conversation.

    `response` groups the messages that came from one model response. `bound_to` is the digest of
    the exact prefix a response was produced under: replayed thinking is only valid after it.
    """

    id: str
    role: Role
    blocks: tuple[Block, ...]
    parent: str | None = None
    at: float = 0.0
    origin: Origin = "user"
    response: str | None = None
    bound_to: str | None = None

    @property
    def text(self) -> str:
        """What a reader sees: the text blocks, without attachments, thinking or tool traffic."""
        return "\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolUse))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolResult))


def message_id(parent: str | None, role: Role, at: float, blocks: tuple[Block, ...]) -> str:
    """A hash of the content and its place, so that ids need no randomness and do not collide."""
    seed = repr((parent, role, at, blocks)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(seed, digest_size=12).hexdigest()


def new_message(
    role: Role,
    *blocks: Block,
    after: Message | None = None,
    at: float = 0.0,
    origin: Origin | None = None,
    response: str | None = None,
    bound_to: str | None = None,
) -> Message:
    """Create the next message of a conversation; id and parent derive from the previous message."""
    parent = after.id if after else None
    natural: Origin = "assistant" if role == "assistant" else "user"
    return Message(
        id=message_id(parent, role, at, blocks),
        role=role,
        blocks=blocks,
        parent=parent,
        at=at,
        origin=origin or natural,
        response=response,
        bound_to=bound_to,
    )


Item = TypeVar("Item")
Result = TypeVar("Result")


def shared_length(old: Sequence[object], new: Sequence[object]) -> int:
    """How many leading items are identical objects."""
    for i, changed in enumerate(map(is_not, old, new)):
        if changed:
            return i
    return min(len(old), len(new))


class GrowingMap(Generic[Item, Result]):
    """Applies `f` to a growing sequence and reuses results for unchanged leading items.

    Items are compared by identity: messages are immutable, so the same object is the same message.
    """

    def __init__(self, f: Callable[[Item, int], Result]) -> None:
        self._f = f
        self._items: tuple[Item, ...] = ()
        self._results: list[Result] = []

    def __call__(self, items: Sequence[Item]) -> list[Result]:
        kept = shared_length(self._items, items)
        # Truncate first, so that the cache stays valid if `f` fails.
        del self._results[kept:]
        self._items = self._items[:kept]
        self._results.extend(self._f(items[i], i) for i in range(kept, len(items)))
        self._items = tuple(items)
        return self._results.copy()


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
