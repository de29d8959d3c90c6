"""What stands before the messages of a caller's own loop: its system prompt and its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.agent.tools import Access, Arguments, Tool, ToolOutput, Workplace
from reverie.app.library.shapes import Given
from reverie.core.messages import Text
from reverie.core.request import ToolSpec
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.app.library.shapes import Raw

_WANTED = "a tool's dictionary as your SDK takes it, a ToolSpec, or a function with @tool"


def read_system(system: object) -> tuple[Text, ...]:
    """Text, or a list of text blocks; cache marks are ours to place."""
    if isinstance(system, str):
        return (Text(system),) if system.strip() else ()
    if not isinstance(system, Sequence):
        raise InputError(
            f"system is a {type(system).__name__}; give text, or a list of text blocks"
        )
    return tuple(_text(part, f"system[{i}]") for i, part in enumerate(system))


def _text(part: object, where: str) -> Text:
    return (
        part if isinstance(part, Text) else Text(Given.of(part, where, "a text block").text("text"))
    )


def read_tools(tools: Sequence[object]) -> tuple[Tool, ...]:
    """Tools as a conversation declares them; the caller runs them."""
    return tuple(_tool(tool, f"tools[{i}]") for i, tool in enumerate(tools))


def _tool(tool: object, where: str) -> Tool:
    if isinstance(tool, Tool):
        return tool
    spec = tool if isinstance(tool, ToolSpec) else _spec(Given.of(tool, where, _WANTED))
    return Tool(spec, _not_run_here, _unknown_access, lambda arguments: spec.name)


def _spec(given: Given) -> ToolSpec:
    """Three protocols: `input_schema`, `parameters`, and `parameters` inside `function`."""
    function = given.inner("function") if "function" in given.raw else given
    key = next((key for key in ("input_schema", "parameters") if function.get(key)), None)
    if key is None:
        raise InputError(
            f"{given.where} has no input_schema and no parameters; tools that run at the provider "
            "are not supported here"
        )
    schema: Raw = function.inner(key).raw
    return ToolSpec.of(function.text("name"), str(function.get("description") or ""), schema)


async def _not_run_here(arguments: Arguments, workplace: Workplace) -> ToolOutput:
    return ToolOutput.error("This tool belongs to the program that leads the conversation")


def _unknown_access(arguments: Arguments, workplace: Workplace) -> Access:
    return "run"
