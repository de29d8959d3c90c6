"""The shapes of arguments and results, as JSON schemas."""

from __future__ import annotations

from typing import Any, TypeAlias

from reverie.memory.taxonomy import TYPES

Schema: TypeAlias = dict[str, Any]

LONGEST_QUESTION = 4_000
LONGEST_TEXT = 20_000
LONGEST_NAME = 300


def closed(properties: Schema, *required: str) -> Schema:
    """An object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def text(description: str, longest: int = LONGEST_NAME) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": longest, "description": description}


def number(description: str, most: int, usual: int) -> Schema:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": most,
        "default": usual,
        "description": description,
    }


def one_of(description: str) -> Schema:
    return {"type": "string", "enum": list(TYPES), "description": description}


def told(maybe: Schema | None = None, /, **always: Schema) -> Schema:
    """A result: `maybe` are properties that are there only when they say something."""
    return {"type": "object", "properties": always | (maybe or {}), "required": list(always)}


def many(item: Schema) -> Schema:
    return {"type": "array", "items": item}


STRING: Schema = {"type": "string"}
MAYBE_STRING: Schema = {"type": ["string", "null"]}
BOOLEAN: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer"}
STRINGS: Schema = many(STRING)
