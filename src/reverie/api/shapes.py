"""Reads callers' system prompts, tools and responses: dictionaries, SDK objects, and mixtures of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reverie.agent.tools import Access, Arguments, Tool, ToolOutput, Workplace
from reverie.core.messages import Text
from reverie.core.request import Reply, ToolSpec
from reverie.errors import InputError, ReplyBroken
from reverie.models import anthropic, openai_chat, openai_responses

Raw = dict[str, Any]


def plain(value: object) -> Any:
    """The value with SDK objects converted to dictionaries, at any depth."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", warnings=False)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


@dataclass(frozen=True, slots=True)
class InputObject:
    """An object from the caller and where it was given, which errors about it name."""

    raw: Raw
    where: str

    @classmethod
    def of(cls, value: object, where: str, what: str) -> InputObject:
        raw = plain(value)
        if not isinstance(raw, dict):
            raise InputError(f"{where} is {shown(value)}; give {what}")
        return cls(raw, where)

    def get(self, key: str) -> Any:
        return self.raw.get(key)

    def text(self, key: str) -> str:
        value = self.raw.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def inner(self, key: str) -> InputObject:
        value = self.raw.get(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return InputObject(value, f"{self.where}.{key}")

    def each(self, key: str) -> list[InputObject]:
        """The objects of a list; empty if the list is absent."""
        value = self.raw.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        places = ((part, f"{self.where}.{key}[{i}]") for i, part in enumerate(value))
        return [InputObject.of(part, where, "an object with a `type`") for part, where in places]

    def wrong(self, key: str, expected: str) -> InputError:
        value = self.raw.get(key)
        if value is None:
            return InputError(f"{self.where}.{key} is missing; it must be {expected}")
        return InputError(f"{self.where}.{key} must be {expected}, not {shown(value)}")


def shown(value: object) -> str:
    """A value, shortened for an error message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


_WANTED = "a tool's dictionary as your SDK takes it, a ToolSpec, or a function with @tool"


def read_system(system: object) -> tuple[Text, ...]:
    """Text, or a list of text blocks; cache marks are dropped, as Reverie places its own."""
    if isinstance(system, str):
        return (Text(system),) if system.strip() else ()
    if not isinstance(system, Sequence):
        raise InputError(
            f"system is a {type(system).__name__}; give text, or a list of text blocks"
        )
    return tuple(_text(part, f"system[{i}]") for i, part in enumerate(system))


def _text(part: object, where: str) -> Text:
    return (
        part
        if isinstance(part, Text)
        else Text(InputObject.of(part, where, "a text block").text("text"))
    )


def read_tools(tools: Sequence[object]) -> tuple[Tool, ...]:
    """Tools to declare in a conversation; the caller runs them."""
    return tuple(_tool(tool, f"tools[{i}]") for i, tool in enumerate(tools))


def _tool(tool: object, where: str) -> Tool:
    if isinstance(tool, Tool):
        return tool
    spec = tool if isinstance(tool, ToolSpec) else _spec(InputObject.of(tool, where, _WANTED))
    return Tool(spec, _not_run_here, _unknown_access, lambda arguments: spec.name)


def _spec(given: InputObject) -> ToolSpec:
    """Read `input_schema`, `parameters`, or `parameters` inside `function`, depending on the protocol."""
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
    return ToolOutput.error("This tool is run by the program that owns the conversation")


def _unknown_access(arguments: Arguments, workplace: Workplace) -> Access:
    return "run"


_WANTED_REPLY = (
    "give the SDK's response, the final message of a stream "
    "(`await stream.get_final_message()`), or a reverie.Reply"
)


def read_reply(response: object) -> Reply:
    """A response given as an SDK's object, as a dictionary, or as a Reply."""
    if isinstance(response, Reply):
        return response
    raw = plain(response)
    if not isinstance(raw, dict):
        raise InputError(f"this is not a response: {shown(response)}; {_WANTED_REPLY}")
    try:
        return _read(raw)
    except (LookupError, TypeError, AttributeError, ValueError, ReplyBroken) as error:
        raise InputError(
            f"this is not a complete response ({error!r:.200}); {_WANTED_REPLY}"
        ) from error


def _read(raw: dict[str, Any]) -> Reply:
    if "choices" in raw:
        return openai_chat.whole_reply(raw)
    if "output" in raw:
        return openai_responses.whole_reply(raw)
    return anthropic.whole_reply(raw)
