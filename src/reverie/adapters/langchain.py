"""LangChain agents with memory: one middleware around each model call.

agent = create_agent(model, tools, middleware=[ReverieMiddleware()], checkpointer=…)
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Unpack

from reverie.adapters.bridge import (
    AdapterOptions,
    Bridge,
    Bridges,
    Head,
    Turn,
    mark,
    missing,
    read_message,
    reply_of,
    text_of,
)
from reverie.core.messages import Block, Message, Text, Thinking, ToolResult, ToolUse
from reverie.core.request import Reply
from reverie.core.usage import Usage
from reverie.errors import InputError

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise missing("langchain", "ReverieMiddleware") from error

if TYPE_CHECKING:
    from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
    from langchain_core.language_models import BaseChatModel

_PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "ollama": "ollama"}


class ReverieMiddleware(AgentMiddleware[Any, Any, Any]):
    """Adds memories to requests, stores long results in files, keeps the window, and learns.

    The conversation is the graph's thread; `session` names one for a graph without a checkpointer.
    With neither, a history that continues an answer given here continues its conversation.
    The graph's state is not changed: what Reverie adds or replaces is in the requests only.
    """

    def __init__(self, *, session: str | None = None, **options: Unpack[AdapterOptions]) -> None:
        super().__init__()
        self._session = session
        self._bridges: Bridges[AnyMessage] = Bridges(Messages(), options, "langchain")

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:
        bridge, run = self._bridge(request), object()
        messages = bridge.prepare_sync(run, lambda: _head(request), request.messages)
        response = handler(request.override(messages=messages))
        bridge.observe_sync(run, lambda: _reply(response))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        bridge, run = self._bridge(request), object()
        messages = await bridge.prepare(run, lambda: _head(request), request.messages)
        response = await handler(request.override(messages=messages))
        await bridge.observe(run, lambda: _reply(response))
        return response

    def close(self) -> None:
        """Wait for background work, and close the sessions; the next call opens them again."""
        self._bridges.close()

    async def aclose(self) -> None:
        await self._bridges.aclose()

    def _bridge(self, request: ModelRequest[Any]) -> Bridge[AnyMessage]:
        info = request.runtime.execution_info if request.runtime else None
        name = self._session or (info.thread_id if info else None)
        return self._bridges.of(name) if name else self._bridges.of_history(request.messages)


class Messages:
    """Converts between LangChain's messages and Reverie's."""

    def read(self, entries: Sequence[AnyMessage]) -> list[Turn[AnyMessage]]:
        grouped = groupby(enumerate(entries), key=lambda pair: _group(pair[1], pair[0]))
        return [_turn([message for _, message in group]) for _, group in grouped]

    def with_results(
        self, entries: Sequence[AnyMessage], texts: Mapping[str, str]
    ) -> list[AnyMessage]:
        return [_with_text(message, texts) for message in entries]

    def written(self, message: Message, names: Mapping[str, str]) -> list[AnyMessage]:
        results: list[AnyMessage] = [
            ToolMessage(
                result.text,
                tool_call_id=result.tool_use_id,
                name=names.get(result.tool_use_id),
                status="error" if result.is_error else "success",
            )
            for result in message.tool_results
        ]
        words = text_of(message)
        if message.role == "assistant":
            calls = [
                {"type": "tool_call", "id": use.id, "name": use.name, "args": use.input}
                for use in message.tool_uses
            ]
            return [AIMessage(words, tool_calls=calls)]
        return [*results, HumanMessage(words)] if words else results


def _group(message: AnyMessage, position: int) -> int:
    """The grouping key: adjacent tool results become one message, all others stay separate."""
    return -1 if isinstance(message, ToolMessage) else position


def _turn(messages: Sequence[AnyMessage]) -> Turn[AnyMessage]:
    role = "assistant" if isinstance(messages[0], AIMessage) else "user"
    blocks = (block for message in messages for block in _blocks(message))
    return Turn(read_message(role, *blocks), tuple(messages))


def _blocks(message: AnyMessage) -> list[Block]:
    parts = [block for part in _parts(message) if (block := _block(part)) is not None]
    if isinstance(message, ToolMessage):
        texts = tuple(part for part in parts if isinstance(part, Text))
        return [ToolResult(message.tool_call_id, texts, message.status == "error")]
    if isinstance(message, AIMessage):
        calls = (
            ToolUse(call["id"] or "", call["name"], json.dumps(call["args"], ensure_ascii=False))
            for call in message.tool_calls
        )
        return [*parts, *calls]
    return parts


def _parts(message: AnyMessage) -> list[Any]:
    content = message.content
    return [content] if isinstance(content, str) else list(content)


def _block(part: Any) -> Block | None:
    """A part of a message's content; calls are left out, as they are read from `tool_calls`."""
    if isinstance(part, str):
        return Text(part) if part else None
    match part.get("type"):
        case "text":
            return Text(part.get("text") or "") if part.get("text") else None
        case "thinking":
            return Thinking(part.get("thinking") or "", part.get("signature"))
        case "redacted_thinking":
            return Thinking("", part.get("data"), redacted=True)
        case "tool_use" | "tool_call" | "function_call" | "input_json_delta":
            return None
        case _:
            return mark(part)


def _with_text(message: AnyMessage, texts: Mapping[str, str]) -> AnyMessage:
    text = texts.get(message.tool_call_id) if isinstance(message, ToolMessage) else None
    if text is None:
        return message
    others = [part for part in _parts(message) if isinstance(part, dict) and not _is_text(part)]
    content = [{"type": "text", "text": text}, *others] if others else text
    return message.model_copy(update={"content": content})


def _is_text(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "text"


def _head(request: ModelRequest[Any]) -> Head:
    tools = (_function(tool) for tool in request.tools)
    known = tuple(tool for tool in tools if tool is not None)
    return Head(_model(request.model), request.system_prompt or "", known)


def _function(tool: Any) -> Mapping[str, Any] | None:
    """The schema of a tool that the agent runs; None for one that runs at the provider."""
    try:
        found = convert_to_openai_tool(tool)
    except ValueError:
        return None
    return found if "parameters" in found.get("function", {}) else None


def _model(model: BaseChatModel) -> str | None:
    """The model's name, from the parameters LangChain reports when it traces calls."""
    params = model._get_ls_params()
    provider, name = _PROVIDERS.get(params.get("ls_provider", "")), params.get("ls_model_name")
    return f"{provider}:{name}" if provider and name else None


def _reply(response: ModelResponse[Any] | ExtendedModelResponse[Any] | AIMessage) -> Reply:
    inner = getattr(response, "model_response", response)
    result = inner.result if hasattr(inner, "result") else [inner]
    answer = next((message for message in result if isinstance(message, AIMessage)), None)
    if answer is None:
        raise InputError("the response holds no AIMessage")
    model = str(answer.response_metadata.get("model_name") or "")
    return reply_of(answer.id, model, _blocks(answer), _usage(answer))


def _usage(answer: AIMessage) -> Usage:
    counts: Mapping[str, Any] = answer.usage_metadata or {}
    details: Mapping[str, Any] = counts.get("input_token_details") or {}
    read, written = details.get("cache_read") or 0, details.get("cache_creation") or 0
    return Usage(
        input=max(0, (counts.get("input_tokens") or 0) - read - written),
        cache_read=read,
        cache_write_5m=written,
        output=counts.get("output_tokens") or 0,
    )
