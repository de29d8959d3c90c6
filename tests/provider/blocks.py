"""Content blocks: the bytes two equal blocks share, their size in tokens, their place in a prompt.

The token rule, the only one this provider has:

* text (text, thinking, summaries, system text, parts of a tool result): ceil(UTF-8 bytes / 4);
* JSON (tool definitions, tool calls, anything unknown): ceil(bytes of compact JSON / 2);
* images and documents: 1,600 each;
* never less than 1 for a block, and nothing for the message around it.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Json: TypeAlias = dict[str, Any]
Level = Literal["tools", "system", "messages"]
LEVELS: tuple[Level, ...] = ("tools", "system", "messages")
THINKING = frozenset({"thinking", "redacted_thinking"})
MEDIA_TOKENS = 1600
_TEXT_FIELD = {"text": "text", "thinking": "thinking", "compaction": "content"}


def compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def digest(*parts: bytes | str) -> str:
    """A hash of the parts and of where each one ends."""
    running = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        running.update(len(raw).to_bytes(8, "big") + raw)
    return running.hexdigest()


def listed(content: object) -> list[Json]:
    """Content as a list of blocks: a bare string is one text block."""
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return (
        [dict(part) for part in content if isinstance(part, dict)]
        if isinstance(content, list)
        else []
    )


def bare(block: Json) -> Json:
    """The block without cache markers and nulls, its own keys in a fixed order.

    The order of keys *inside* a tool input or a schema is kept: the documentation of prompt
    caching names unstable key order there as a reason for misses.
    """
    kept = {
        key: value
        for key, value in sorted(block.items())
        if key != "cache_control" and value is not None
    }
    if kept.get("type") == "tool_result" and "content" in kept:
        kept["content"] = [bare(part) for part in listed(kept["content"])]
    return kept


def canonical(block: Json) -> bytes:
    return compact(bare(block))


def count_text(text: str) -> int:
    return max(1, -(-len(text.encode()) // 4))


def count_json(value: object) -> int:
    return max(1, -(-len(compact(value)) // 2))


def count_block(block: Json) -> int:
    """Tokens of one block; the rule stands at the head of this module."""
    kind = str(block.get("type"))
    if kind in _TEXT_FIELD:
        return count_text(str(block.get(_TEXT_FIELD[kind]) or ""))
    if kind == "tool_use":
        return count_json({"name": block.get("name"), "input": block.get("input")})
    if kind == "tool_result":
        return max(1, sum(count_block(part) for part in listed(block.get("content"))))
    if kind in {"image", "document"}:
        return MEDIA_TOKENS
    return count_json(bare(block))


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt and where it stands."""

    level: Level
    path: str
    role: str
    message: int
    data: Json
    # Properties of the message around it that the model sees, such as `clear_at`.
    around: Json
    # The lifetime asked for by a cache marker on this block.
    ttl: str | None

    @property
    def type(self) -> str:
        return str(self.data.get("type", "tool"))

    @property
    def content(self) -> bytes:
        return canonical(self.data) + (compact(self.around) if self.around else b"")

    @property
    def tokens(self) -> int:
        return count_block(self.data)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a request asks the model to read, in the order it is read."""

    model: str
    tools: tuple[Block, ...]
    system: tuple[Block, ...]
    messages: tuple[Block, ...]
    # Settings that belong to each level: a change of one invalidates that level and what follows.
    settings: dict[Level, bytes]
    # Lifetime of the automatic breakpoint, when the request has one.
    automatic: str | None

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.tools + self.system + self.messages

    @property
    def tokens(self) -> int:
        return sum(block.tokens for block in self.blocks)


def marker(block: Json) -> str | None:
    """The lifetime a cache marker asks for, or None without one."""
    control = block.get("cache_control")
    return str(control.get("ttl") or "5m") if isinstance(control, dict) else None


def _blocks(level: Level, items: list[Json], path: str) -> tuple[Block, ...]:
    return tuple(
        Block(level, f"{path}.{i}", level, i, item, {}, marker(item))
        for i, item in enumerate(items)
    )


def _message_blocks(index: int, message: Json) -> list[Block]:
    around = {key: message[key] for key in sorted(message) if key not in {"role", "content"}}
    around = {key: value for key, value in around.items() if value is not None}
    return [
        Block(
            "messages",
            f"messages.{index}.content.{j}",
            str(message.get("role")),
            index,
            block,
            around,
            marker(block),
        )
        for j, block in enumerate(listed(message.get("content")))
    ]


def _settings(body: Json, messages: tuple[Block, ...]) -> dict[Level, bytes]:
    """What besides content decides whether a level can be read from the cache."""
    output = body.get("output_config") or {}
    thinking = body.get("thinking") or {}
    images = any(b'"type":"image"' in block.content for block in messages)
    return {
        "tools": b"",
        "system": compact([body.get("speed"), output.get("format")]),
        "messages": compact(
            [
                body.get("tool_choice"),
                # How failures are handled and shown does not change what the model reads.
                {key: thinking[key] for key in ("type", "budget_tokens") if key in thinking},
                output.get("effort"),
                images,
            ]
        ),
    }


def parse_prompt(body: Json) -> Prompt:
    """The prompt of a Messages request that has passed the rules of shape."""
    messages = tuple(
        block
        for index, message in enumerate(body.get("messages") or [])
        for block in _message_blocks(index, message)
    )
    return Prompt(
        model=str(body.get("model")),
        tools=_blocks("tools", [dict(tool) for tool in body.get("tools") or []], "tools"),
        system=_blocks("system", listed(body.get("system")), "system"),
        messages=messages,
        settings=_settings(body, messages),
        automatic=marker(body),
    )
