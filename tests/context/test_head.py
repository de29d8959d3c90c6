"""Tools in their shortest form: what a schema accepts and refuses stays the same."""

from __future__ import annotations

import json
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.context.head import slim_schema, slim_spec, slim_tools, tidy
from reverie.core.request import ToolSpec

GENERATED = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "ReadArguments",
    "type": "object",
    "properties": {
        "title": {"type": "string", "title": "Title", "minLength": 0},
        "offset": {"type": "integer", "minimum": 1, "maximum": 9007199254740991},
        "tags": {"type": "array", "items": {"type": "string", "title": "Tag"}, "minItems": 0},
    },
    "required": [],
    "additionalProperties": False,
}
SLIM = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "offset": {"type": "integer", "minimum": 1},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "additionalProperties": False,
}


def test_what_says_nothing_goes_and_a_property_called_title_stays() -> None:
    assert slim_schema(GENERATED) == SLIM


OPEN = {key: value for key, value in SLIM.items() if key != "additionalProperties"}


def test_only_strict_tools_say_that_they_take_no_unknown_arguments() -> None:
    tool = {"name": "Read", "description": "Reads.", "input_schema": GENERATED}
    [opened] = slim_tools([tool])
    assert opened["input_schema"] == OPEN
    [strict] = slim_tools([tool | {"strict": True}])
    assert strict["input_schema"] == SLIM


@pytest.mark.parametrize(
    ("tool", "slim"),
    [
        (
            {"type": "function", "function": {"name": "f", "parameters": GENERATED}},
            {"type": "function", "function": {"name": "f", "parameters": OPEN}},
        ),
        (
            {"type": "function", "name": "f", "parameters": GENERATED},
            {"type": "function", "name": "f", "parameters": SLIM},
        ),
        (
            {"type": "function", "name": "f", "strict": False, "parameters": GENERATED},
            {"type": "function", "name": "f", "strict": False, "parameters": OPEN},
        ),
        (
            {"functionDeclarations": [{"name": "f", "parameters": GENERATED}]},
            {"functionDeclarations": [{"name": "f", "parameters": OPEN}]},
        ),
        ({"type": "web_search_20250305", "name": "web_search"},) * 2,
        ("not a tool",) * 2,
    ],
    ids=["chat", "responses", "responses, not strict", "gemini", "the provider's own", "nonsense"],
)
def test_the_dialects_of_providers(tool: Any, slim: Any) -> None:
    assert slim_tools([tool]) == [slim]


def test_a_tool_of_ours_keeps_its_name_and_what_it_says() -> None:
    spec = ToolSpec.of("Read", "Reads a file.  \n\n\n\nOf any kind.\n", GENERATED)
    slim = slim_spec(spec)
    assert (slim.name, slim.description) == ("Read", "Reads a file.\n\nOf any kind.")
    assert json.loads(slim.schema) == SLIM
    broken = ToolSpec("x", "y", "{")
    assert slim_spec(broken) is broken


names = st.sampled_from(["title", "default", "required", "items", "path", "$id"])
leaves = st.one_of(
    st.just({"type": "string", "minLength": 0, "title": "A"}),
    st.just({"type": "string", "minLength": 2, "examples": ["ab"]}),
    st.just({"type": "integer", "maximum": 9007199254740991, "minimum": -9007199254740991}),
    st.just({"type": "integer", "minimum": 3}),
    st.just({"enum": ["a", "b"], "description": ""}),
    st.just({}),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    made = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)},
        optional={
            "title": st.just("T"),
            "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
            "required": st.lists(names, max_size=2, unique=True),
            "additionalProperties": st.sampled_from([True, False, {}]),
        },
    )
    lists = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner}, optional={"minItems": st.integers(0, 1)}
    )
    return st.one_of(made, lists, st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1)}))


schemas = st.recursive(leaves, objects, max_leaves=6)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["", "a", "abc"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)


def _for_the_checker(schema: dict[str, Any]) -> dict[str, Any]:
    """Without its dialect, of which the checker knows older ones only; and it takes {} for False."""
    made = {key: item for key, item in schema.items() if key != "$schema"}
    return made | ({"additionalProperties": True} if made.get("additionalProperties") == {} else {})


def accepts(schema: Any, value: Any) -> bool:
    bare = json.loads(json.dumps(schema), object_hook=_for_the_checker)
    try:
        fastjsonschema.compile(bare, use_default=False)(value)
    except (
        fastjsonschema.JsonSchemaValueException,
        fastjsonschema.JsonSchemaDefinitionException,  # nothing can satisfy it
    ):
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(schemas, st.lists(values, min_size=1, max_size=6))
def test_the_short_form_accepts_and_refuses_the_same(schema: Any, given_: list[Any]) -> None:
    slim = slim_schema(schema)
    assert slim_schema(slim) == slim
    assert len(json.dumps(slim)) <= len(json.dumps(schema))
    for value in given_:
        assert accepts(slim, value) == accepts(schema, value)


def test_descriptions_lose_blanks_only() -> None:
    assert tidy("  a  \n\n\n\n  b\n") == "a\n\n  b"
