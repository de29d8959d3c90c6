"""The context window and how much of it a conversation fills: sizes, sources and thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, assert_never

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
from reverie.core.usage import Usage

DEFAULT_WINDOW = 200_000
LARGE_WINDOW = 1_000_000
LARGE_SUFFIX = "[1m]"

SUMMARY_ROOM = 20_000
COMPACTION_ROOM = 13_000
WARNING_ROOM = 20_000
BLOCKING_ROOM = 3_000

# The sizes above are for windows of 100k tokens and more; smaller windows get the same shares.
_FULL_ROOMS_FROM = 100_000


@dataclass(frozen=True, slots=True)
class Window:
    """A resolved window and where its size came from."""

    tokens: int
    source: str

    def _room(self, full: int) -> int:
        return min(self.tokens, _FULL_ROOMS_FROM) * full // _FULL_ROOMS_FROM

    @property
    def effective(self) -> int:
        """The usable size; the rest is reserved for writing a summary."""
        return self.tokens - self._room(SUMMARY_ROOM)

    @property
    def compaction(self) -> int:
        """Past this, compaction is due."""
        return self.effective - self._room(COMPACTION_ROOM)

    @property
    def warning(self) -> int:
        return self.compaction - self._room(WARNING_ROOM)

    @property
    def blocking(self) -> int:
        """From here on nothing is sent, because the provider would refuse it."""
        return self.effective - self._room(BLOCKING_ROOM)

    def state(self, tokens: int) -> Literal["ok", "warning", "compact", "blocked"]:
        if tokens >= self.blocking:
            return "blocked"
        if tokens >= self.compaction:
            return "compact"
        return "warning" if tokens >= self.warning else "ok"


def split_suffix(model: str) -> tuple[str, bool]:
    """The model's name for the provider, and whether it had the suffix `[1m]`."""
    if model.endswith(LARGE_SUFFIX):
        return model.removesuffix(LARGE_SUFFIX), True
    return model, False


def resolve_window(
    model: str,
    *,
    looked_up: int | None = None,
    shipped: int | None = None,
    large_beta: bool = False,
    configured: int | None = None,
) -> Window:
    """The first that applies: suffix, provider's answer, shipped table, 1M beta, setting, default.

    A smaller `configured` window always applies: what is known of a model is only the most it can take.
    """
    candidates = (
        (LARGE_WINDOW if split_suffix(model)[1] else None, f"{LARGE_SUFFIX} on the model name"),
        (looked_up, "the provider's models endpoint"),
        (shipped, "the shipped model table"),
        (LARGE_WINDOW if large_beta else None, "window.beta_1m"),
        (configured, "window.tokens"),
    )
    for tokens, source in candidates:
        if tokens is not None and tokens > 0:
            if configured is not None and 0 < configured < tokens:
                return Window(configured, "window.tokens")
            return Window(tokens, source)
    return Window(DEFAULT_WINDOW, "default")


Ttl: TypeAlias = Literal["5m", "1h"]

TTL_SECONDS: dict[Ttl, float] = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How a provider's prompt cache behaves.

    explicit   the request marks breakpoints; entries are written only there
    automatic  the provider caches prefixes by itself, in steps of `step` tokens
    none       nothing is cached
    """

    kind: Literal["explicit", "automatic", "none"] = "none"
    minimum: int = 1024
    max_breakpoints: int = 4
    look_back: int = 20
    step: int = 128
    ttl_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The features and limits of a model."""

    window: int | None = None
    max_output: int | None = None
    cache: CacheRules = field(default_factory=CacheRules)
    thinking: frozenset[str] = frozenset()
    thinking_bound: bool = False
    effort: bool = False
    json_schema: bool = False
    cache_edits: bool = False
    context_management: bool = False
    compaction: bool = False
    system_messages: bool = False


TEXT_BYTES_PER_TOKEN = 4
JSON_BYTES_PER_TOKEN = 2
FLAT_MEDIA_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Measured:
    """The context size a provider reported, and the response that reported it."""

    response: str
    tokens: int


def measured(response: str, usage: Usage) -> Measured:
    return Measured(response, usage.context)


def text_tokens(text: str) -> int:
    return _ceil_div(_utf8_length(text), TEXT_BYTES_PER_TOKEN)


def json_tokens(text: str) -> int:
    return _ceil_div(_utf8_length(text), JSON_BYTES_PER_TOKEN)


def block_tokens(block: Block) -> int:
    match block:
        case Text(text) | Attachment(_, text):
            return text_tokens(text)
        case Thinking(text, signature):
            return text_tokens(text) + text_tokens(signature or "")
        case ToolUse(_, name, arguments):
            return text_tokens(name) + json_tokens(arguments)
        case ToolResult(_, content, _):
            return sum(block_tokens(part) for part in content)
        case Image() | Document():
            return FLAT_MEDIA_TOKENS
        case Opaque(_, payload):
            return json_tokens(payload)
        case _:
            assert_never(block)


def message_tokens(message: Message) -> int:
    return sum(block_tokens(block) for block in message.blocks)


def context_tokens(messages: Sequence[Message], last: Measured | None = None) -> int:
    """Tokens in the conversation, in time proportional to what came after the last measurement.

    One response may have become several messages with tool results in between (parallel calls),
    so counting starts at the first of them; the response's own messages are in the measurement.
    """
    if last is None:
        return sum(message_tokens(message) for message in messages)
    added = 0
    pending = 0
    found = False
    for message in reversed(messages):
        if message.response == last.response:
            found = True
            added += pending
            pending = 0
        elif found and message.role == "assistant":
            break
        else:
            pending += message_tokens(message)
    return last.tokens + added if found else added + pending


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _ceil_div(value: int, by: int) -> int:
    return -(-value // by)


def substituted(message: Message, texts: Mapping[str, str]) -> Message:
    """The message with the texts of its results replaced; images and documents stay."""
    blocks = tuple(_substituted(block, texts) for block in message.blocks)
    return replace(message, blocks=blocks)


def freed(before: Message, after: Message) -> int:
    """How many tokens a substitution saves."""
    return message_tokens(before) - message_tokens(after)


def _substituted(block: Block, texts: Mapping[str, str]) -> Block:
    if not isinstance(block, ToolResult) or block.tool_use_id not in texts:
        return block
    others = (part for part in block.content if not isinstance(part, Text))
    return replace(block, content=(Text(texts[block.tool_use_id]), *others))
