"""What fills a session's window, by category."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.core.messages import Attachment, Block, ToolResult
from reverie.core.request import tool_tokens
from reverie.core.tokens import block_tokens, text_tokens
from reverie.session.state import SessionState

# How the memory section announces itself in the system prompt, and recall in an attachment.
MEMORY_HEADING = "# Memory"
RECALL_LABEL = "recall"


@dataclass(frozen=True, slots=True)
class Fill:
    """Tokens by category; scaled to the provider's count when there is one."""

    parts: dict[str, int]
    measured: bool

    @property
    def total(self) -> int:
        return sum(self.parts.values())


def window_fill(state: SessionState) -> Fill:
    parts = dict.fromkeys(
        ("system", "tools", "memory index", "recalled memories", "messages", "tool results"), 0
    )
    for section in state.head.system if state.head else ():
        name = "memory index" if section.text.startswith(MEMORY_HEADING) else "system"
        parts[name] += text_tokens(section.text)
    parts["tools"] = sum(tool_tokens(tool) for tool in state.head.tools) if state.head else 0
    for message in state.shown:
        for block in message.blocks:
            parts[_category(block)] += block_tokens(block)
    return _scaled(parts, state)


def _category(block: Block) -> str:
    if isinstance(block, ToolResult):
        return "tool results"
    if isinstance(block, Attachment) and block.label == RECALL_LABEL:
        return "recalled memories"
    return "messages"


def _scaled(parts: dict[str, int], state: SessionState) -> Fill:
    """Our estimate knows the shares, the provider knows the sum."""
    estimate = sum(parts.values())
    if not state.measured or not estimate:
        return Fill(parts, measured=False)
    if state.head is None:
        # A foreign transcript does not record its head: what is left over is the system prompt.
        return Fill(parts | {"system": max(0, state.tokens - estimate)}, measured=True)
    scale = state.tokens / estimate
    return Fill({name: round(count * scale) for name, count in parts.items()}, measured=True)
