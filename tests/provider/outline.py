"""A recorded request in comparable pieces: settings, tools, system, then what was said."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.provider.blocks import Json, canonical, compact, listed, parse_prompt
from tests.provider.record import RecordedRequest


@dataclass(frozen=True, slots=True)
class Part:
    """A named piece of a request."""

    name: str
    content: bytes
    # Written by the model.
    replied: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """A request in comparable pieces: what must be equal, then what may grow."""

    settings: tuple[Part, ...]
    tools: tuple[Part, ...]
    system: tuple[Part, ...]
    messages: tuple[Part, ...]


def _anthropic(body: Json) -> Outline:
    prompt = parse_prompt(body)
    settings = [Part("model", compact(prompt.model))]
    output, thinking = body.get("output_config") or {}, body.get("thinking") or {}
    settings += [
        Part("speed", compact(body.get("speed"))),
        Part("tool_choice", compact(body.get("tool_choice"))),
        Part("thinking", compact([thinking.get("type"), thinking.get("budget_tokens")])),
        Part("effort", compact(output.get("effort"))),
        Part("output format", compact(output.get("format"))),
    ]
    counted: dict[int, int] = {}
    messages = []
    for block in prompt.messages:
        place = counted[block.message] = counted.get(block.message, -1) + 1
        name = f"message {block.message} block {place} ({block.role} {block.type})"
        content = block.role.encode() + b" " + block.content
        messages.append(Part(name, content, block.role == "assistant"))
    return Outline(
        tuple(settings),
        tuple(_tool(i, b.data) for i, b in enumerate(prompt.tools)),
        tuple(Part(f"system block {i}", b.content) for i, b in enumerate(prompt.system)),
        tuple(messages),
    )


def _tool(index: int, tool: Json) -> Part:
    name = tool.get("name") or (tool.get("function") or {}).get("name")
    return Part(f"tool {index} (`{name}`)", canonical(tool))


def _chat(body: Json) -> Outline:
    messages = body.get("messages") or []
    return Outline(
        _openai_settings(body, ("tool_choice", "response_format", "reasoning_effort")),
        tuple(_tool(i, tool) for i, tool in enumerate(body.get("tools") or [])),
        (),
        tuple(
            Part(
                f"message {i} block 0 ({message.get('role')})",
                canonical(message),
                message.get("role") == "assistant",
            )
            for i, message in enumerate(messages)
        ),
    )


def _openai_settings(body: Json, names: tuple[str, ...]) -> tuple[Part, ...]:
    return tuple(Part(name, compact(body.get(name))) for name in ("model", *names))


def input_items(body: Json) -> list[Json]:
    """The input of a Responses request as items."""
    value = body.get("input")
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return listed(value)


def _responses(body: Json, requests: Sequence[RecordedRequest]) -> Outline:
    items = input_items(body)
    named = body.get("previous_response_id")
    for request in requests:
        if named is not None and request.reply is not None and request.reply.get("id") == named:
            earlier = _responses(request.json, requests[: request.index])
            replied = [*request.reply.get("output", []), *items]
            offset = len(earlier.messages)
            return Outline(*_frame(body), (*earlier.messages, *_items(replied, offset)))
    return Outline(*_frame(body), _items(items, 0))


def _frame(body: Json) -> tuple[tuple[Part, ...], tuple[Part, ...], tuple[Part, ...]]:
    instructions = body.get("instructions")
    return (
        _openai_settings(body, ("tool_choice", "text", "reasoning")),
        tuple(_tool(i, tool) for i, tool in enumerate(body.get("tools") or [])),
        (Part("instructions", compact(instructions)),) if instructions else (),
    )


def _items(items: list[Json], offset: int) -> tuple[Part, ...]:
    return tuple(
        Part(
            f"input item {offset + i} ({item.get('type', item.get('role'))})",
            canonical(item),
            item.get("role") == "assistant" or item.get("type") in {"function_call", "reasoning"},
        )
        for i, item in enumerate(items)
    )


def outline(request: RecordedRequest, earlier: Sequence[RecordedRequest] = ()) -> Outline | None:
    """The request in pieces, or None when it makes no model read anything."""
    match request.api:
        case "anthropic.messages":
            return _anthropic(request.json)
        case "openai.chat":
            return _chat(request.json)
        case "openai.responses":
            return _responses(request.json, earlier)
        case _:
            return None
