"""Tools in their shortest equivalent form. Pure.

A tool's definition is sent with every request of a session. Much of what generators write into its
schema is useless to a model: dialects, titles that repeat a name, bounds that no number exceeds,
empty lists. `slim_schema` removes these, and the schema still accepts and refuses the same
arguments. A provider checks arguments only for strict tools; for others, `slim_tools` also removes
the ban on unknown arguments, which the program that runs the tool checks itself.

The same tools give the same bytes, so that a session's prefix is stable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from reverie.core.request import ToolSpec

Json: TypeAlias = Any

# Keys that no validator reads and that add nothing to name and description.
_SAYS_NOTHING = frozenset(
    {"$schema", "$id", "$comment", "title", "examples", "readOnly", "writeOnly"}
)
# Values that mean the same as the key's absence.
_SAME_AS_ABSENT: Mapping[str, tuple[Json, ...]] = {
    "required": ([],),
    "minLength": (0,),
    "minItems": (0,),
    "minProperties": (0,),
    "uniqueItems": (False,),
    "deprecated": (False,),
    "description": ("",),
    "additionalProperties": (True, {}),
    "items": (True, {}),
}
# Keys whose value is a schema, a list of schemas, or schemas by name.
_SCHEMA = frozenset(
    ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"]
)
_SCHEMAS = frozenset({"anyOf", "allOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})

# The bounds that generators give to every integer: JavaScript's.
_LARGEST_INTEGER = 2**53 - 1
_BLANK_LINES = re.compile(r"\n[ \t]*\n[ \t\n]*\n")
_ENDS = re.compile(r"[ \t]+\n")


def slim_tools(tools: Sequence[Json]) -> list[Json]:
    """The tools of a request, as providers' APIs write them; unknown kinds stay unchanged."""
    return [_slim_tool(tool) for tool in tools]


def slim_spec(spec: ToolSpec) -> ToolSpec:
    """A tool of ours or of a calling program; an unreadable schema stays unchanged."""
    try:
        schema = slim_schema(json.loads(spec.schema))
    except ValueError:
        return spec
    return ToolSpec(
        spec.name, tidy(spec.description), json.dumps(schema, ensure_ascii=False, sort_keys=True)
    )


def slim_schema(schema: Json, *, closed: bool = True) -> Json:
    """A schema without redundant keys and, unless `closed`, without `additionalProperties: false`."""
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Json] = {}
    for key, value in schema.items():
        if key in _SAYS_NOTHING or value in _SAME_AS_ABSENT.get(key, ()) or _no_bound(key, value):
            continue
        if key == "additionalProperties" and value is False and not closed:
            continue
        found[key] = _inside(key, value, closed=closed)
    return found


def tidy(text: str) -> str:
    """A description without blanks at line ends and without runs of empty lines."""
    return _BLANK_LINES.sub("\n\n", _ENDS.sub("\n", text)).strip()


def _inside(key: str, value: Json, *, closed: bool) -> Json:
    if key == "description" and isinstance(value, str):
        return tidy(value)
    if key in _SCHEMA:
        return slim_schema(value, closed=closed)
    if key in _SCHEMAS and isinstance(value, list):
        return [slim_schema(one, closed=closed) for one in value]
    if key in _NAMED and isinstance(value, dict):
        return {name: slim_schema(one, closed=closed) for name, one in value.items()}
    return value


def _no_bound(key: str, value: Json) -> bool:
    """A bound that no integer exceeds."""
    match key:
        case "minimum":
            return bool(value == -_LARGEST_INTEGER)
        case "maximum":
            return bool(value == _LARGEST_INTEGER)
        case _:
            return False


def _slim_tool(tool: Json) -> Json:
    if not isinstance(tool, dict):
        return tool
    # One API wraps the function, another lists several functions in one tool.
    if isinstance(tool.get("function"), dict):
        return {**tool, "function": _slim_tool(tool["function"])}
    if isinstance(tool.get("functionDeclarations"), list):
        inside = [_slim_tool(one) for one in tool["functionDeclarations"]]
        return {**tool, "functionDeclarations": inside}
    closed = _is_strict(tool)
    slim = dict(tool)
    for key in ("input_schema", "parameters", "parametersJsonSchema"):
        if key in tool:
            slim[key] = slim_schema(tool[key], closed=closed)
    if isinstance(tool.get("description"), str):
        slim["description"] = tidy(tool["description"])
    return slim


def _is_strict(tool: Mapping[str, Json]) -> bool:
    """Whether the provider checks the arguments. OpenAI's Responses do so unless told otherwise."""
    return bool(tool.get("strict", tool.get("type") == "function"))
