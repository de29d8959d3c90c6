"""What the provider answers: replies and faults, as frozen values in a queue."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from tests.provider.blocks import Json
from tests.provider.gate import Gate

if TYPE_CHECKING:
    from tests.provider.record import RecordedRequest

Flavour = Literal["native", "ollama", "llama.cpp", "vllm"]


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning; the server signs it and binds it to the prefix of the request."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    name: str
    input: Json = field(default_factory=dict)
    # Numbered by the provider when not given.
    id: str | None = None


Content: TypeAlias = Text | Thinking | ToolCall


@dataclass(frozen=True, slots=True)
class Reply:
    """A normal answer. Without a stop reason: `tool_use` after a call, else `end_turn`."""

    content: tuple[Content, ...] = ()
    stop_reason: str | None = None
    stop_sequence: str | None = None
    # Overrides the counted size of the reply.
    output_tokens: int | None = None
    # A request for a summary is answered with a null one.
    failed_summary: bool = False


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error status with a body in the shape of the provider that was asked."""

    status: int
    message: str = "scripted failure"
    code: str | None = None
    retry_after: float | None = None
    # Which parameter OpenAI blames.
    param: str | None = None


@dataclass(frozen=True, slots=True)
class TooLong:
    """A refusal for length in the words of the provider, or of a local server."""

    tokens: int
    maximum: int
    flavour: Flavour = "native"


@dataclass(frozen=True, slots=True)
class Garbage:
    """A 200 with a body no client expects."""

    body: bytes = b"<html>bad gateway</html>"
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection breaks after some events, or in the middle of a JSON body."""

    reply: Reply = Reply((Text("a reply that is cut"),))
    after: int = 3


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The stream ends politely, without the event that says it is complete."""

    reply: Reply = Reply((Text("a reply without an end"),))


@dataclass(frozen=True, slots=True)
class Malformed:
    """One event of the stream holds half a JSON document."""

    reply: Reply = Reply((Text("a reply with a broken event"),))
    after: int = 3


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error event in the middle of a stream; without a stream, its status."""

    reply: Reply = Reply((Text("a reply that fails"),))
    after: int = 3
    status: int = 529
    message: str = "Overloaded"


Fault: TypeAlias = HttpError | TooLong | Garbage | Cut | Unfinished | Malformed | StreamError


@dataclass(frozen=True, slots=True)
class Held:
    """Any answer, held at a gate before it begins or after some of its events."""

    answer: Reply | Fault
    gate: Gate
    after: int = 0


Answer: TypeAlias = Reply | Fault | Held
Responder: TypeAlias = "Callable[[RecordedRequest], ScriptItem]"
ScriptItem: TypeAlias = "str | Content | list[Content] | tuple[Content, ...] | Answer | Responder"


def rate_limited(retry_after: float | None = None) -> HttpError:
    return HttpError(429, "Number of requests has exceeded your rate limit", None, retry_after)


def overloaded(code: str | None = None) -> HttpError:
    return HttpError(529, "Overloaded", code)


def server_error() -> HttpError:
    return HttpError(500, "Internal server error")


def too_large() -> HttpError:
    return HttpError(413, "Request exceeds the maximum size")


def wrong_shape() -> Garbage:
    """Valid JSON of a kind that is no reply."""
    return Garbage(b'{"unexpected": ["shape", 1]}')


def resolve(item: "ScriptItem", request: "RecordedRequest") -> Answer:
    """The answer an item of the script stands for; responders are asked now."""
    if isinstance(item, str):
        return Reply((Text(item),))
    if isinstance(item, Text | Thinking | ToolCall):
        return Reply((item,))
    if callable(item):
        return resolve(item(request), request)
    if isinstance(item, list | tuple):
        return Reply(tuple(item))
    return item
