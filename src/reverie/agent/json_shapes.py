"""JSON schemas of Python types, and values of those types from parsed JSON."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

import fastjsonschema

from reverie.errors import InputError

Schema: TypeAlias = dict[str, Any]
Read: TypeAlias = Callable[[Any], Any]


def as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Shape:
    """The JSON schema of a type, and how to build a value from parsed JSON."""

    schema: Schema
    read: Read = as_it_is


@dataclass(frozen=True, slots=True)
class Place:
    """Where an annotation is, for errors, and the classes around it."""

    name: str
    inside: tuple[type, ...] = ()

    def within(self, kind: type) -> Place:
        if kind in self.inside:
            raise InputError(
                f"{self.name}: {kind.__name__} contains itself, which no schema can say"
            )
        return Place(self.name, (*self.inside, kind))


_PLAIN: Mapping[object, Shape] = {
    Any: Shape({}),
    object: Shape({}),
    str: Shape({"type": "string"}),
    int: Shape({"type": "integer"}, int),
    float: Shape({"type": "number"}, float),
    bool: Shape({"type": "boolean"}),
    None: Shape({"type": "null"}),
    types.NoneType: Shape({"type": "null"}),
    Path: Shape({"type": "string"}, Path),
    list: Shape({"type": "array"}),
    dict: Shape({"type": "object"}),
}


def shape_of(annotation: Any, place: Place) -> Shape:
    """The shape of a type; InputError for one that JSON cannot represent."""
    if isinstance(annotation, typing.Hashable) and annotation in _PLAIN:
        return _PLAIN[annotation]
    make = _MAKERS.get(get_origin(annotation))
    if make is not None:
        return make(annotation, place)
    if isinstance(annotation, type):
        return _class(annotation, place)
    raise _unfit(annotation, place)


def object_of(members: Mapping[str, Shape], required: Sequence[str]) -> Schema:
    """The schema of an object with exactly these members."""
    schema: Schema = {
        "type": "object",
        "properties": {name: shape.schema for name, shape in members.items()},
        "additionalProperties": False,
    }
    return schema | ({"required": list(required)} if required else {})


def described(shape: Shape, text: str) -> Shape:
    return Shape(shape.schema | {"description": text}, shape.read) if text else shape


def _class(kind: type, place: Place) -> Shape:
    if issubclass(kind, Enum):
        return Shape({"enum": [member.value for member in kind]}, kind)
    if is_dataclass(kind):
        return _record(kind, place.within(kind))
    if is_typeddict(kind):
        return _table(kind, place.within(kind))
    raise _unfit(kind, place)


def _record(kind: type, place: Place) -> Shape:
    """A dataclass: an object of its fields."""
    hints = typing.get_type_hints(kind, include_extras=True)
    made = [one for one in fields(kind) if one.init]
    members = {one.name: shape_of(hints[one.name], place) for one in made}
    needed = [one.name for one in made if one.default is MISSING and one.default_factory is MISSING]

    def read(value: Mapping[str, Any]) -> Any:
        return kind(**{name: members[name].read(inner) for name, inner in value.items()})

    return Shape(object_of(members, needed), read)


def _table(kind: type, place: Place) -> Shape:
    """A TypedDict: an object that stays a dictionary."""
    hints = typing.get_type_hints(kind, include_extras=True)
    members = {name: shape_of(hint, place) for name, hint in hints.items()}
    needed = sorted(getattr(kind, "__required_keys__", ()))

    def read(value: Mapping[str, Any]) -> dict[str, Any]:
        return {name: members[name].read(inner) for name, inner in value.items()}

    return Shape(object_of(members, needed), read)


def _literal(annotation: Any, place: Place) -> Shape:
    return Shape({"enum": list(get_args(annotation))})


def _annotated(annotation: Any, place: Place) -> Shape:
    """`Annotated[int, "how many"]`: the first text describes it."""
    inner, *more = get_args(annotation)
    text = next((note for note in more if isinstance(note, str)), "")
    return described(shape_of(inner, place), text)


def _optional_key(annotation: Any, place: Place) -> Shape:
    return shape_of(get_args(annotation)[0], place)


def _many(annotation: Any, place: Place) -> Shape:
    item = shape_of(get_args(annotation)[0], place)
    schema = {"type": "array", "items": item.schema}
    return Shape(schema, lambda values: [item.read(value) for value in values])


def _tuple(annotation: Any, place: Place) -> Shape:
    """`tuple[int, ...]`: any number of one kind."""
    match get_args(annotation):
        case (kind, last) if last is Ellipsis:
            item = shape_of(kind, place)
            schema = {"type": "array", "items": item.schema}
            return Shape(schema, lambda values: tuple(item.read(value) for value in values))
    raise _unfit(annotation, place)


def _mapping(annotation: Any, place: Place) -> Shape:
    key, value = get_args(annotation)
    if key is not str:
        raise InputError(f"{place.name}: the keys of a JSON object are text, not {key!r}")
    item = shape_of(value, place)
    schema = {"type": "object", "additionalProperties": item.schema}
    return Shape(schema, lambda table: {name: item.read(inner) for name, inner in table.items()})


def _union(annotation: Any, place: Place) -> Shape:
    """A value is read as the first member that it fits."""
    shapes = [shape_of(member, place) for member in get_args(annotation)]
    checks = [(fastjsonschema.compile(shape.schema), shape.read) for shape in shapes]

    def read(value: Any) -> Any:
        for fits, found in checks:
            try:
                fits(value)
            except fastjsonschema.JsonSchemaException:
                continue
            return found(value)
        return value

    return Shape({"anyOf": [shape.schema for shape in shapes]}, read)


_MAKERS: Mapping[object, Callable[[Any, Place], Shape]] = {
    Annotated: _annotated,
    typing.Required: _optional_key,
    typing.NotRequired: _optional_key,
    Literal: _literal,
    Union: _union,
    types.UnionType: _union,
    list: _many,
    Sequence: _many,
    tuple: _tuple,
    dict: _mapping,
    Mapping: _mapping,
}


def _unfit(annotation: Any, place: Place) -> InputError:
    return InputError(
        f"{place.name}: a model cannot be asked for {annotation!r}; use str, int, float, bool, Path, "
        "Literal, an Enum, list[…], dict[str, …], Optional, a dataclass or a TypedDict"
    )
