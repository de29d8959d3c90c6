"""Small requests for adapter tests, and a function that collects a stream."""

from reverie.core.messages import Message, Text, ToolResult, new_message
from reverie.core.request import Breakpoint, Head, Options, Reply, Request, StreamItem, ToolSpec
from reverie.ports import Model

READ = ToolSpec.of(
    "Read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}
)


def ask(
    model: str,
    *messages: Message,
    system: str = "You are terse.",
    tools: tuple[ToolSpec, ...] = (),
    options: Options | None = None,
    breakpoints: tuple[Breakpoint, ...] = (),
    previous: str | None = None,
) -> Request:
    head = Head(model, (Text(system),), tools, options or Options(max_tokens=1024))
    return Request(head, messages, breakpoints, previous)


def user(text: str, after: Message | None = None) -> Message:
    return new_message("user", Text(text), after=after)


def results(reply: Reply, after: Message, text: str = "the result") -> Message:
    """Answer every tool call of a reply."""
    calls = (block for block in reply.blocks if block.kind == "tool_use")
    return new_message("user", *(ToolResult(call.id, (Text(text),)) for call in calls), after=after)


async def collect(model: Model, request: Request) -> tuple[Reply, list[StreamItem]]:
    """The reply and the deltas before it; the connection is closed."""
    items = [item async for item in model.stream(request)]
    reply = items.pop()
    assert isinstance(reply, Reply)
    return reply, items
