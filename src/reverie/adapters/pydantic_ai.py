"""pydantic-ai agents with memory: one capability around each model request.

agent = Agent("anthropic:claude-sonnet-5-5", capabilities=[ReverieCapability()])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
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

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
        ModelResponsePart,
        RetryPromptPart,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
except ImportError as error:
    raise missing("pydantic-ai-slim", "ReverieCapability") from error

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestContext
    from pydantic_ai.tools import RunContext

_PROVIDERS = ("anthropic", "openai", "ollama")


class ReverieCapability(AbstractCapability[Any]):
    """Adds memories to requests, stores long results in files, keeps the window, and learns.

    The conversation is the run's `conversation_id`, which a message history carries; `session` names
    one instead. The history is not changed: what Reverie adds is in the requests only, so running
    twice over the same history is safe.
    """

    def __init__(self, *, session: str | None = None, **options: Unpack[AdapterOptions]) -> None:
        super().__init__()
        self._session = session
        self._bridges: Bridges[ModelMessage] = Bridges(Messages(), options, "pydantic-ai")

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        system, rest = _split_system(request_context.messages)
        head = partial(_head, request_context, system)
        sent = await self._bridge(ctx).prepare(ctx.run_id, head, rest)
        first = [ModelRequest(system)] if system else []
        return replace(request_context, messages=[*first, *sent])

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        await self._bridge(ctx).observe(ctx.run_id, lambda: _reply(response))
        return response

    def close(self) -> None:
        """Wait for background work, and close the sessions; the next run opens them again."""
        self._bridges.close()

    async def aclose(self) -> None:
        await self._bridges.aclose()

    def _bridge(self, ctx: RunContext[Any]) -> Bridge[ModelMessage]:
        return self._bridges.of(self._session or ctx.conversation_id or ctx.run_id or "")


class Messages:
    """Converts between pydantic-ai's messages and Reverie's."""

    def read(self, entries: Sequence[ModelMessage]) -> list[Turn[ModelMessage]]:
        return [turn for message in entries for turn in _turns(message)]

    def with_results(
        self, entries: Sequence[ModelMessage], texts: Mapping[str, str]
    ) -> list[ModelMessage]:
        return [_with_texts(message, texts) for message in entries]

    def written(self, message: Message, names: Mapping[str, str]) -> list[ModelMessage]:
        words = text_of(message)
        if message.role == "assistant":
            texts: list[ModelResponsePart] = [TextPart(words)] if words else []
            calls = (ToolCallPart(use.name, use.arguments, use.id) for use in message.tool_uses)
            return [ModelResponse([*texts, *calls])]
        parts: list[ModelRequestPart] = [
            ToolReturnPart(
                names.get(result.tool_use_id, "tool"),
                result.text,
                result.tool_use_id,
                outcome="failed" if result.is_error else "success",
            )
            for result in message.tool_results
        ]
        return [ModelRequest([*parts, UserPromptPart(words)] if words else parts)]


def _split_system(
    messages: Sequence[ModelMessage],
) -> tuple[list[SystemPromptPart], list[ModelMessage]]:
    """System prompts and the rest: system prompts stay first, whatever is done to their messages."""
    system: list[SystemPromptPart] = []
    rest: list[ModelMessage] = []
    for message in messages:
        found = [part for part in message.parts if isinstance(part, SystemPromptPart)]
        system += found
        if not found or isinstance(message, ModelResponse):
            rest.append(message)
        elif others := [p for p in message.parts if not isinstance(p, SystemPromptPart)]:
            rest.append(replace(message, parts=others))
    return system, rest


def _turns(message: ModelMessage) -> Iterator[Turn[ModelMessage]]:
    """A response is one turn; a request has one turn for its results and one for everything else."""
    if isinstance(message, ModelResponse):
        yield Turn(read_message("assistant", *_response_blocks(message)), (message,))
        return
    results = [part for part in message.parts if _result(part) is not None]
    words = [part for part in message.parts if _result(part) is None]
    for parts in (results, words):
        if not parts:
            continue
        blocks = (block for part in parts for block in _request_blocks(part))
        whole = message if len(parts) == len(message.parts) else replace(message, parts=parts)
        yield Turn(read_message("user", *blocks), (whole,))


def _result(part: ModelRequestPart) -> ToolResult | None:
    """The result of a tool call: a return, or a request to try again."""
    match part:
        case ToolReturnPart():
            text = part.model_response_str(wrap_if_error=False)
            return ToolResult(part.tool_call_id, (Text(text),), part.outcome != "success")
        case RetryPromptPart() if part.tool_name is not None:
            return ToolResult(part.tool_call_id, (Text(part.model_response()),), is_error=True)
        case _:
            return None


def _request_blocks(part: ModelRequestPart) -> Iterator[Block]:
    result = _result(part)
    if result is not None:
        yield result
    elif isinstance(part, UserPromptPart):
        contents = [part.content] if isinstance(part.content, str) else part.content
        yield from (Text(one) if isinstance(one, str) else mark(one) for one in contents if one)
    elif isinstance(part, RetryPromptPart):
        yield Text(part.model_response())


def _response_blocks(response: ModelResponse) -> Iterator[Block]:
    for part in response.parts:
        match part:
            case TextPart(content=text):
                if text:
                    yield Text(text)
            case ThinkingPart():
                yield Thinking(part.content, part.signature)
            case ToolCallPart():
                yield ToolUse(part.tool_call_id, part.tool_name, part.args_as_json_str())
            case _:
                yield mark(part)


def _with_texts(message: ModelMessage, texts: Mapping[str, str]) -> ModelMessage:
    if isinstance(message, ModelResponse):
        return message
    return replace(message, parts=[_with_text(part, texts) for part in message.parts])


def _with_text(part: Any, texts: Mapping[str, str]) -> Any:
    result = _result(part)
    text = None if result is None else texts.get(result.tool_use_id)
    return part if text is None else replace(part, content=text)


def _head(request: ModelRequestContext, system: Sequence[SystemPromptPart]) -> Head:
    parameters = request.model_request_parameters
    instructions = (part.content for part in parameters.instruction_parts or ())
    tools = (
        {
            "name": tool.name,
            "description": tool.description or "",
            "parameters": tool.parameters_json_schema,
        }
        for tool in (*parameters.function_tools, *parameters.output_tools)
    )
    text = "\n\n".join([*(part.content for part in system), *instructions])
    return Head(_model(request.model), text, tuple(tools))


def _model(model: Model) -> str | None:
    return f"{model.system}:{model.model_name}" if model.system in _PROVIDERS else None


def _reply(response: ModelResponse) -> Reply:
    counts = response.usage
    usage = Usage(
        input=max(0, counts.input_tokens - counts.cache_read_tokens - counts.cache_write_tokens),
        cache_read=counts.cache_read_tokens,
        cache_write_5m=counts.cache_write_tokens,
        output=counts.output_tokens,
    )
    blocks = list(_response_blocks(response))
    return reply_of(response.provider_response_id, response.model_name, blocks, usage)
