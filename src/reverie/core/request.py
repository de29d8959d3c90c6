"""A request as it is sent, provider-neutral, in canonical bytes.

A request is three sections in the order providers cache them: tools, system, messages. Each splits
into *segments* (one tool, one system block, one message block), and each segment has canonical
bytes. Adapters translate segment by segment, so equal canonical bytes mean equal bytes on the wire.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from reverie.core.foreign_text import attribute, quoted
from reverie.core.messages import Attachment, Block, Message, Text, block_to_json, dump, new_message
from reverie.core.usage import Usage
from reverie.core.window import Ttl, block_tokens, json_tokens, message_tokens, text_tokens

Section: TypeAlias = Literal["tools", "system", "messages"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `schema` is JSON text, so that its bytes never change."""

    name: str
    description: str
    schema: str

    @classmethod
    def of(cls, name: str, description: str, schema: dict[str, Any]) -> ToolSpec:
        return cls(name, description, json.dumps(schema, ensure_ascii=False, sort_keys=True))


@dataclass(frozen=True, slots=True)
class ClearToolUses:
    """Ask the provider to clear old tool results on its side."""

    trigger_tokens: int
    clear_at_least: int
    keep: int = 3
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClearThinking:
    """Ask the provider to drop old thinking; None keeps all of it."""

    keep_turns: int | None = None


ContextEdit: TypeAlias = ClearThinking | ClearToolUses


@dataclass(frozen=True, slots=True)
class Summarize:
    """Ask the provider to compact the whole conversation into one signed block."""

    instructions: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """Everything besides the three sections. Unset options are not sent."""

    max_tokens: int = 8_192
    thinking: str | None = None
    effort: str | None = None
    tool_choice: str | None = None
    output_schema: str | None = None
    stop: tuple[str, ...] = ()
    temperature: float | None = None
    edits: tuple[ContextEdit, ...] = ()
    summarize: Summarize | None = None


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Asks the provider to cache the prefix up to and including this segment."""

    section: Section
    index: int
    block: int = 0
    ttl: Ttl = "5m"


@dataclass(frozen=True, slots=True)
class CacheEdit:
    """Results that the provider drops from its cached prefix; every later request repeats the edit."""

    tool_use_ids: tuple[str, ...]
    after_message: str


@dataclass(frozen=True, slots=True)
class Head:
    """The part of a request that is rendered once per session and then frozen."""

    model: str
    system: tuple[Text, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    options: Options = Options()
    # In every reminder and in the system prompt; untrusted text cannot know it.
    reminder_key: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """`size` is the estimate in tokens, `previous_response` the id of the last response, if known.

    `cache_edits` are only set for models that support them.
    """

    head: Head
    messages: tuple[Message, ...]
    breakpoints: tuple[Breakpoint, ...] = ()
    previous_response: str | None = None
    size: int | None = None
    cache_edits: tuple[CacheEdit, ...] = ()

    @property
    def model(self) -> str:
        return self.head.model

    @property
    def options(self) -> Options:
        return self.head.options


@dataclass(frozen=True, slots=True)
class Segment:
    """One cacheable unit: its place, canonical bytes, estimated size and kind.

    `lasting` segments stand for earlier messages (a record, a summary) and outlive a compaction.
    """

    section: Section
    index: int
    block: int
    data: bytes
    tokens: int
    kind: str = "text"
    lasting: bool = False

    @property
    def markable(self) -> bool:
        """Whether it may carry a cache mark; providers refuse marks on thinking and empty text."""
        return self.kind != "thinking" and not (self.kind == "text" and self.tokens == 0)

    @property
    def place(self) -> str:
        if self.section == "messages":
            return f"message {self.index}, block {self.block}"
        return f"tool {self.index}" if self.section == "tools" else f"system block {self.index}"


def head_segments(head: Head) -> tuple[Segment, ...]:
    tools = (
        Segment("tools", i, 0, tool_bytes(tool), tool_tokens(tool), "tool")
        for i, tool in enumerate(head.tools)
    )
    system = (
        Segment("system", i, 0, dump({"type": "text", "text": block.text}), text_tokens(block.text))
        for i, block in enumerate(head.system)
    )
    return (*tools, *system)


def message_segments(message: Message, index: int) -> tuple[Segment, ...]:
    """Segments carry their role but no message boundary, since providers merge neighbours of one role."""
    role = message.role.encode() + b" "
    lasting = message.origin == "reverie" and bool(message.text)
    return tuple(
        Segment(
            "messages",
            index,
            i,
            role + block_bytes(block),
            block_tokens(block),
            block.kind,
            lasting,
        )
        for i, block in enumerate(message.blocks)
    )


def block_bytes(block: Block) -> bytes:
    return dump(block_to_json(block))


def tool_bytes(tool: ToolSpec) -> bytes:
    return dump({"name": tool.name, "description": tool.description, "schema": tool.schema})


def tool_tokens(tool: ToolSpec) -> int:
    return text_tokens(tool.name + tool.description) + json_tokens(tool.schema)


def key_bytes(head: Head) -> bytes:
    """The part of the cache key outside the sections: the model and its options."""
    o = head.options
    return dump([head.model, o.thinking, o.effort, o.tool_choice, o.output_schema])


def estimated_size(request: Request) -> int:
    """Tokens of the whole request; computed only if the assembler has not set `size`."""
    if request.size is not None:
        return request.size
    head = sum(segment.tokens for segment in head_segments(request.head))
    return head + sum(message_tokens(message) for message in request.messages)


def canonical_bytes(request: Request) -> bytes:
    """The whole request, for comparing and recording, one line per segment."""
    lines = [key_bytes(request.head)]
    lines += [segment.data for segment in head_segments(request.head)]
    for index, message in enumerate(request.messages):
        lines += [segment.data for segment in message_segments(message, index)]
    return b"\n".join(lines)


def with_key(message: Message, key: str) -> Message:
    """The message as it is sent, with the key in every reminder."""
    if not key or not any(isinstance(block, Attachment) for block in message.blocks):
        return message
    blocks = (replace(b, key=key) if isinstance(b, Attachment) else b for b in message.blocks)
    return replace(message, blocks=tuple(blocks))


def attachment_text(attachment: Attachment) -> str:
    """The text of an attachment for every provider, marked off from what the person wrote.

    Text from a memory or a tool cannot close the mark and pass for the person's, and a forged
    reminder lacks the session's key, which the system prompt names.
    """
    inside = quoted(attachment.text, marks=("reminder", "system"))
    key = f' key="{attachment.key}"' if attachment.key else ""
    return f'<reminder about="{attribute(attachment.label)}"{key}>\n{inside}\n</reminder>'


def wire_text(text: str) -> str:
    """Text that any provider can decode: lone surrogates (from cut input) become U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


StopReason: TypeAlias = Literal[
    "end",
    "tool_use",
    "max_tokens",
    "stop_sequence",
    "refusal",
    "paused",
    "window_full",
    "compaction",
]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of an answer, as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of what the model thinks, as it comes."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
    """The model begins to write a tool call."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Cleared:
    """What the provider removed from the context on its side."""

    kind: Literal["tool_uses", "thinking", "other"]
    count: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """The whole reply. `diagnosis` is the provider's explanation of a cache miss, if it gives one."""

    id: str
    model: str
    blocks: tuple[Block, ...]
    stop: StopReason
    usage: Usage = Usage()
    diagnosis: str = ""
    cleared: tuple[Cleared, ...] = ()

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, Text))

    def as_message(self, *, after: Message, at: float, bound_to: str | None) -> Message:
        """The reply as the next message, stamped with the prefix it was produced under."""
        return new_message(
            "assistant", *self.blocks, after=after, at=at, response=self.id, bound_to=bound_to
        )


# A stream is any number of deltas and then exactly one Reply.
StreamItem: TypeAlias = TextDelta | ThinkingDelta | ToolUseStarted | Reply
