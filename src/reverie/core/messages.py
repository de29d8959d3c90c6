"""Messages and their blocks: immutable and provider-neutral; blocks are a closed union."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

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
