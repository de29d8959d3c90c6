"""Tools that are not in the head of a request: one tool finds them, another calls them.

The definitions of many tools are sent with every request of a session, and most are never called. The
list that is sent stays the same for a whole session, so that finding a tool does not break the cache.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from reverie.agent.tools import Arguments, Tool, Workplace, always
from reverie.core.messages import ToolUse
from reverie.core.request import ToolSpec, tool_tokens
from reverie.errors import InputError

FIND, CALL = "find_tools", "call_tool"

_MOST_FOUND = 5
_WORD = re.compile(r"[^\W_]{3,}")

_FIND = ToolSpec.of(
    FIND,
    "Find more tools by what they do. {count} tools are not listed here: {names}. The answer has their "
    f"descriptions and schemas; call them with {CALL}.",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "a few words, or a tool's name"}},
        "required": ["query"],
        "additionalProperties": False,
    },
)
_CALL = ToolSpec.of(
    CALL,
    f"Call a tool that {FIND} found, with arguments that follow its schema.",
    {
        "type": "object",
        "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    },
)


def beyond(tools: Sequence[Tool], room: int) -> tuple[Tool, ...]:
    """All of these tools if their definitions take more than `room` tokens together, else none."""
    size = sum(tool_tokens(tool.spec) for tool in tools)
    return tuple(tools) if size > room else ()


def searching(tools: Sequence[Tool]) -> tuple[Tool, Tool]:
    """The two tools that stand for all of these."""
    names = ", ".join(tool.name for tool in tools)
    about = _FIND.description.format(count=len(tools), names=names)
    spec = ToolSpec(FIND, about, _FIND.schema)

    async def find(arguments: Arguments, workplace: Workplace) -> str:
        found = _best(tools, str(arguments["query"]))
        return "\n\n".join(map(_described, found)) or "No tool does that."

    async def call(arguments: Arguments, workplace: Workplace) -> str:
        raise InputError(f"There is no tool {arguments['name']!r}; {FIND} finds those there are.")

    return (
        Tool(spec, find, always("read"), lambda arguments: f"find tools: {arguments['query']}"),
        Tool(_CALL, call, always("read"), lambda arguments: f"call {arguments['name']}"),
    )


def called(use: ToolUse, deferred: Mapping[str, Tool]) -> ToolUse:
    """The call of a deferred tool that this call stands for; any other call is unchanged."""
    if use.name != CALL:
        return use
    name, arguments = use.input.get("name"), use.input.get("arguments")
    if name not in deferred or not isinstance(arguments, dict):
        return use
    return ToolUse(use.id, str(name), json.dumps(arguments, ensure_ascii=False))


def _best(tools: Sequence[Tool], query: str) -> list[Tool]:
    """The tools that share most words with the query; a name counts more than a description."""
    words = {word.lower() for word in _WORD.findall(query)}
    rated = [(_rating(tool, words, query), tool) for tool in tools]
    rated.sort(key=lambda pair: -pair[0])
    return [tool for rating, tool in rated[:_MOST_FOUND] if rating]


def _rating(tool: Tool, words: set[str], query: str) -> int:
    if tool.name == query.strip():
        return 1_000
    name, about = tool.name.lower(), tool.spec.description.lower()
    return sum(3 * (word in name) + (word in about) for word in words)


def _described(tool: Tool) -> str:
    return f"{tool.name}: {tool.spec.description}\nSchema: {tool.spec.schema}"
