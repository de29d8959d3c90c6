"""JSON schemas for structured output: which are accepted, and the smallest value that fits one."""

from typing import Any

from tests.provider.blocks import Json

# Constraints a grammar cannot hold; the SDK strips them before sending.
_REFUSED = frozenset(
    [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "maxItems",
    ]
)


def check_schema(schema: Json) -> str | None:
    """What is wrong with the schema, or None."""
    found = _REFUSED.intersection(schema)
    if found:
        return f"For '{schema.get('type')}' type, {', '.join(sorted(found))} is not supported"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return "For 'object' type, 'additionalProperties' must be explicitly set to false"
    for part in _parts(schema):
        problem = check_schema(part)
        if problem:
            return problem
    return None


def _parts(schema: Json) -> list[Json]:
    inner: list[Any] = [*(schema.get("properties") or {}).values()]
    inner += [*(schema.get("$defs") or {}).values()]
    inner += [schema.get("items"), *(schema.get("anyOf") or [])]
    return [part for part in inner if isinstance(part, dict)]


def smallest(schema: Json, root: Json | None = None) -> Any:
    """A deterministic value of the schema: required parts only, empty where it may be empty."""
    root = root if root is not None else schema
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        return smallest(root["$defs"][name], root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for union in ("anyOf", "allOf"):
        if schema.get(union):
            return smallest(schema[union][0], root)
    if schema.get("type") == "object":
        needed = schema.get("required", [])
        properties = schema.get("properties", {})
        return {name: smallest(properties[name], root) for name in needed}
    plain: Json = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}
    return plain.get(str(schema.get("type")))
