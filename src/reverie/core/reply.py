"""What a model gives back: pieces while it streams, and one whole reply at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reverie.core.messages import Block, Message, Text, new_message
from reverie.core.usage import Usage

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
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolUseStarted:
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
    """The whole answer. `diagnosis` is the provider's own word on a cache miss, if it gives one."""

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
