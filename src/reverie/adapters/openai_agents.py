"""openai-agents with memory: a session stored on disk, and a filter before each model call.

session = ReverieSession("ticket-42")
await Runner.run(agent, "…", session=session, run_config=session.run_config(), hooks=session.hooks)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Unpack

from reverie.adapters.bridge import (
    AdapterOptions,
    Bridge,
    Head,
    Turn,
    app_of,
    mark,
    missing,
    plain_name,
    read_message,
    reply_of,
    text_of,
)
from reverie.api.history import read_history
from reverie.core.messages import Message, Text, ToolResult, ToolUse
from reverie.core.request import Reply
from reverie.core.usage import Usage
from reverie.errors import InputError
from reverie.files.atomic import make_private

try:
    from agents import RunConfig, RunHooks, SQLiteSession
    from agents.run_config import ModelInputData
    from agents.tool import FunctionTool
except ImportError as error:
    raise missing("openai-agents", "ReverieSession") from error

if TYPE_CHECKING:
    from agents import Agent, ModelResponse, RunContextWrapper, TResponseInputItem
    from agents.run_config import CallModelData
    from agents.usage import Usage as AgentsUsage

_FILE = "openai-agents.sqlite"

# The current model call: the filter and the hook of a run are called in the same task or its children.
_RUN: ContextVar[object] = ContextVar("reverie_run", default=None)


class ReverieSession(SQLiteSession):
    """One conversation; its items are stored beside Reverie's own journal of it.

    `session_id` names it: another process with the same id continues it. Pass `run_config()` and
    `hooks` to the runner as well: the first adds memory and keeps the window, the second gives
    Reverie the answers and what they cost.
    """

    def __init__(self, session_id: str, **options: Unpack[AdapterOptions]) -> None:
        self._bridge = Bridge(Items(), options, session_id)
        folder = app_of(options).project.sessions / plain_name(session_id)
        make_private(folder)
        (folder / _FILE).touch(mode=0o600)
        super().__init__(session_id, folder / _FILE)
        self.hooks: RunHooks[Any] = _Hooks(self._bridge)

    def run_config(self, **others: Any) -> RunConfig:
        """A RunConfig with the filter, and any other options."""
        return RunConfig(call_model_input_filter=self.input_filter, **others)

    async def input_filter(self, data: CallModelData[Any]) -> ModelInputData:
        """For `RunConfig.call_model_input_filter`: what is sent in place of the whole history."""
        model_data, run = data.model_data, object()
        _RUN.set(run)
        items = await self._bridge.prepare(run, lambda: _head(data), model_data.input)
        return ModelInputData(items, model_data.instructions)

    async def aclose(self) -> None:
        """Wait for background work, and close the files."""
        await self._bridge.aclose()
        self.close()


class Items:
    """Converts between the Responses API's input items and Reverie's messages."""

    def read(self, entries: Sequence[TResponseInputItem]) -> list[Turn[TResponseInputItem]]:
        numbered = enumerate(entries)
        grouped = groupby(numbered, key=lambda pair: _group(pair[1], pair[0]))
        return [_turn([item for _, item in group]) for _, group in grouped]

    def with_results(
        self, entries: Sequence[TResponseInputItem], texts: Mapping[str, str]
    ) -> list[TResponseInputItem]:
        return [_with_text(item, texts) for item in entries]

    def written(self, message: Message, names: Mapping[str, str]) -> list[TResponseInputItem]:
        items: list[Any] = []
        words = text_of(message)
        if words:
            items.append({"role": message.role, "content": words})
        for block in message.blocks:
            if isinstance(block, ToolUse):
                call = {"call_id": block.id, "name": block.name, "arguments": block.arguments}
                items.append({"type": "function_call", **call})
            elif isinstance(block, ToolResult):
                output = {"call_id": block.tool_use_id, "output": block.text}
                items.append({"type": "function_call_output", **output})
        return items


class _Hooks(RunHooks[Any]):
    """Gives each of the model's answers to Reverie."""

    def __init__(self, bridge: Bridge[TResponseInputItem]) -> None:
        self._bridge = bridge

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        run = _RUN.get()
        await self._bridge.observe(run, lambda: _reply(response, _model(agent) or ""))


def _head(data: CallModelData[Any]) -> Head:
    instructions = data.model_data.instructions or ""
    return Head(_model(data.agent), instructions, tuple(_tools(data.agent.tools)))


def _model(agent: Agent[Any]) -> str | None:
    """The model's name, if known; a Model object has it in its `model` attribute."""
    name = getattr(agent.model, "model", agent.model)
    return f"openai:{name}" if isinstance(name, str) and name else None


def _tools(tools: Sequence[object]) -> list[Mapping[str, Any]]:
    return [
        {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
        for tool in tools
        if isinstance(tool, FunctionTool)
    ]


def _group(item: Any, position: int) -> tuple[Literal["assistant", "tool", "user"], int]:
    """The grouping key: adjacent assistant items or tool results become one message, user items do not."""
    if item.get("type") == "function_call_output":
        return "tool", -1
    if "role" not in item or item["role"] == "assistant":
        return "assistant", -1
    return "user", position


def _turn(items: list[TResponseInputItem]) -> Turn[TResponseInputItem]:
    read = [{**item, "role": "user"} if _is_system(item) else item for item in items]
    messages = read_history([_readable(item) for item in read]).messages
    blocks = tuple(block for message in messages for block in message.blocks)
    return Turn(read_message(messages[0].role if messages else "user", *blocks), tuple(items))


def _is_system(item: Any) -> bool:
    """Is it a system message? Within a conversation it is sent as it is, and recorded as a user's."""
    return item.get("role") in ("system", "developer")


def _readable(item: Any) -> Any:
    """The item with placeholders for content only OpenAI can read, such as stored files or unknown parts."""
    for key in ("content", "output"):
        parts = item.get(key)
        if isinstance(parts, list) and not _can_read(item):
            marked = [part if _can_read({**item, key: [part]}) else _marked(part) for part in parts]
            return {**item, key: marked}
    return item


def _can_read(item: Any) -> bool:
    try:
        read_history([item])
    except InputError:
        return False
    return True


def _marked(part: object) -> dict[str, str]:
    return {"type": "input_text", "text": mark(part).text}


def _with_text(item: Any, texts: Mapping[str, str]) -> Any:
    text = texts.get(item.get("call_id", ""))
    replaced = text is not None and item.get("type") == "function_call_output"
    return {**item, "output": text} if replaced else item


def _reply(response: ModelResponse, model: str) -> Reply:
    blocks = _turn(response.to_input_items()).message.blocks if response.output else ()
    kept = [block for block in blocks if not isinstance(block, Text) or block.text]
    return reply_of(response.response_id, model, kept, _usage(response.usage))


def _usage(usage: AgentsUsage) -> Usage:
    read = usage.input_tokens_details.cached_tokens or 0
    return Usage(
        input=max(0, usage.input_tokens - read), cache_read=read, output=usage.output_tokens
    )
