"""Runs the tool calls of a model: checks arguments and permission, runs read-only calls in parallel.

Every call gets a result; errors are results that the model can read. Deferred tools are not in the
head, which every request repeats: one tool finds them, another calls them, and the head stays the
same for a whole session, so that finding a tool does not break the cache.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import fastjsonschema

from reverie.agent.permissions import Call, Consent, HooksSay
from reverie.agent.tools import (
    Arguments,
    FolderCopy,
    Tool,
    ToolOutput,
    Workplace,
    always,
    parameters,
    string,
)
from reverie.core.messages import Text, ToolResult, ToolUse
from reverie.core.request import ToolSpec, tool_tokens
from reverie.errors import InputError, ReverieError
from reverie.events import Announce, ToolFinished, ToolStarted, no_listener

# --- tools that are found when needed ---


FIND, CALL = "find_tools", "call_tool"

_MOST_FOUND = 5
_WORD = re.compile(r"[^\W_]{3,}")

_FIND = ToolSpec.of(
    FIND,
    "Find more tools by what they do. {count} tools are not listed here: {names}. The answer has their "
    f"descriptions and schemas; call them with {CALL}.",
    parameters("query", query=string("a few words, or a tool's name")),
)
_CALL = ToolSpec.of(
    CALL,
    f"Call a tool that {FIND} found, with arguments that follow its schema.",
    parameters("name", "arguments", name=string(), arguments={"type": "object"}),
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


# --- running calls ---


_Checked: TypeAlias = "Call | ToolOutput"


class HookAnswer(Protocol):
    """The answer of hooks before a tool: a reason to refuse the call, other arguments, whether to ask."""

    @property
    def refusal(self) -> str | None: ...
    @property
    def input(self) -> Mapping[str, Any] | None: ...
    @property
    def permission(self) -> HooksSay: ...


class ToolHooks(Protocol):
    """Runs the person's hooks around each call."""

    async def before_tool(self, call: Call, id_: str) -> HookAnswer: ...
    async def after_tool(self, call: Call, id_: str, output: ToolOutput) -> str:
        """Text to add to the result."""


class Toolbox:
    """The tools of one agent, in its workplace, under its permission."""

    def __init__(
        self,
        tools: Iterable[Tool],
        workplace: Workplace,
        consent: Consent,
        announce: Announce = no_listener,
        deferred: Iterable[Tool] = (),
    ) -> None:
        """`deferred` tools are not in the head: they are found and called through other tools."""
        self.workplace = workplace
        self._deferred = {tool.name: tool for tool in deferred}
        self._tools = {tool.name: tool for tool in tools} | self._deferred
        self._consent = consent
        self._announce = announce
        self.hooks: ToolHooks | None = None
        # Results of the current calls, so that an interrupt does not lose them.
        self.done: dict[str, ToolResult] = {}
        self._checks = {tool.name: _check_of(tool.spec) for tool in self._tools.values()}

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(t.spec for name, t in self._tools.items() if name not in self._deferred)

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._tools

    def fork(
        self,
        consent: Consent,
        shown: Iterable[Path] = (),
        workshop: FolderCopy | None = None,
        hooks: ToolHooks | None = None,
    ) -> Toolbox:
        """The same tools on a clone of the workplace, under another permission.

        `shown` are files whose content the fork was given: it may edit them without reading them.
        """
        workplace = self.workplace.clone()
        workplace.workshop = workshop
        for path in shown:
            workplace.knows(path)
        made = Toolbox(self._tools.values(), workplace, consent, deferred=self._deferred.values())
        made.hooks = hooks
        return made

    async def run(self, uses: Sequence[ToolUse]) -> tuple[ToolResult, ...]:
        """A result for every call, in order. Calls that only read run in parallel; others alone."""
        self.done.clear()
        results: list[ToolResult] = []
        together: list[tuple[ToolUse, _Checked]] = []
        for use in uses:
            checked = self._check(use)
            if not isinstance(checked, Call) or checked.access == "read":
                together.append((use, checked))
                continue
            results += await self._all(together)
            together = []
            results.append(await self._one(use, checked))
        return (*results, *await self._all(together))

    async def _all(self, calls: Sequence[tuple[ToolUse, _Checked]]) -> list[ToolResult]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(use, checked)) for use, checked in calls]
        return [task.result() for task in tasks]

    async def _one(self, use: ToolUse, checked: _Checked) -> ToolResult:
        headline = checked.headline if isinstance(checked, Call) else use.name
        self._announce(ToolStarted(use.id, use.name, headline))
        output = await self._hooked(use, checked)
        result = self.done[use.id] = ToolResult(use.id, output.content, output.is_error)
        self._announce(ToolFinished(use.id, use.name, headline, result))
        return result

    async def _hooked(self, use: ToolUse, checked: _Checked) -> ToolOutput:
        """The output of a call, with the person's hooks around it; changed arguments are checked again."""
        hooks = self.hooks
        if hooks is None or not isinstance(checked, Call):
            return await self._output(checked)
        answer = await hooks.before_tool(checked, use.id)
        if answer.refusal is not None:
            return ToolOutput.error(answer.refusal)
        if answer.input is not None:
            checked = self._check(ToolUse(use.id, use.name, json.dumps(dict(answer.input))))
        output = await self._output(checked, answer.permission)
        if isinstance(checked, Call) and (more := await hooks.after_tool(checked, use.id, output)):
            return ToolOutput((*output.content, Text(more)), output.is_error)
        return output

    async def _output(self, checked: _Checked, hooks_say: HooksSay = "") -> ToolOutput:
        if isinstance(checked, ToolOutput):
            return checked
        try:
            refusal = await self._consent.refusal(checked, hooks_say)
            if refusal is not None:
                return ToolOutput.error(refusal)
            output = await checked.tool.run(checked.arguments, self.workplace)
        except ReverieError as error:
            return ToolOutput.error(str(error))
        except Exception as error:  # noqa: BLE001 - a tool is foreign code; the model gets the error
            return ToolOutput.error(f"{checked.tool.name} failed: {error!r:.500}")
        return ToolOutput.of(output) if isinstance(output, str) else output

    def _check(self, use: ToolUse) -> _Checked:
        use = called(use, self._deferred)
        tool = self._tools.get(use.name)
        if tool is None:
            names = ", ".join(name for name in self._tools if name not in self._deferred)
            return ToolOutput.error(f"There is no tool {use.name!r}. The tools are: {names}")
        try:
            arguments = json.loads(use.arguments or "{}")
        except (ValueError, RecursionError) as error:
            return ToolOutput.error(f"The arguments of {use.name} are not JSON: {error}")
        try:
            self._checks[tool.name](arguments)
        except fastjsonschema.JsonSchemaValueException as error:
            what = error.message.replace("data", "the arguments", 1)
            return ToolOutput.error(f"{use.name}: {what}. The schema is: {tool.spec.schema}")
        return self._call(tool, arguments)

    def _call(self, tool: Tool, arguments: dict[str, Any]) -> _Checked:
        try:
            access = tool.access(arguments, self.workplace)
            paths = tool.paths(arguments, self.workplace)
        except (ReverieError, OSError, ValueError) as error:
            return ToolOutput.error(f"{tool.name}: {error}")
        return Call(tool, arguments, access, paths)


# Compiling takes milliseconds, and every fork has the same tools.
@lru_cache(maxsize=256)
def _check_of(spec: ToolSpec) -> Any:
    try:
        return fastjsonschema.compile(json.loads(spec.schema))
    except (ValueError, fastjsonschema.JsonSchemaDefinitionException) as error:
        raise InputError(f"the schema of the tool {spec.name!r} is not valid: {error}") from error
