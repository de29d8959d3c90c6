"""The `tool` decorator: makes a tool of a function, from its annotations and docstring."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from enum import Enum
from itertools import takewhile
from pathlib import Path

import fastjsonschema

from reverie.agent.tools import Access, Arguments, Tool, ToolOutput, Workplace, always
from reverie.core.request import ToolSpec
from reverie.errors import InputError

Schema: typing.TypeAlias = dict[str, typing.Any]
Read: typing.TypeAlias = Callable[[typing.Any], typing.Any]


def as_it_is(value: typing.Any) -> typing.Any:
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
    typing.Any: Shape({}),
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


def shape_of(annotation: typing.Any, place: Place) -> Shape:
    """The shape of a type; InputError for one that JSON cannot represent."""
    if isinstance(annotation, typing.Hashable) and annotation in _PLAIN:
        return _PLAIN[annotation]
    make = _MAKERS.get(typing.get_origin(annotation))
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
    if typing.is_typeddict(kind):
        return _table(kind, place.within(kind))
    raise _unfit(kind, place)


def _record(kind: type, place: Place) -> Shape:
    """A dataclass: an object of its fields."""
    hints = typing.get_type_hints(kind, include_extras=True)
    made = [one for one in fields(kind) if one.init]
    members = {one.name: shape_of(hints[one.name], place) for one in made}
    needed = [one.name for one in made if one.default is MISSING and one.default_factory is MISSING]

    def read(value: Mapping[str, typing.Any]) -> typing.Any:
        return kind(**{name: members[name].read(inner) for name, inner in value.items()})

    return Shape(object_of(members, needed), read)


def _table(kind: type, place: Place) -> Shape:
    """A TypedDict: an object that stays a dictionary."""
    hints = typing.get_type_hints(kind, include_extras=True)
    members = {name: shape_of(hint, place) for name, hint in hints.items()}
    needed = sorted(getattr(kind, "__required_keys__", ()))

    def read(value: Mapping[str, typing.Any]) -> dict[str, typing.Any]:
        return {name: members[name].read(inner) for name, inner in value.items()}

    return Shape(object_of(members, needed), read)


def _annotated(annotation: typing.Any, place: Place) -> Shape:
    """`Annotated[int, "how many"]`: the first text describes it."""
    inner, *more = typing.get_args(annotation)
    text = next((note for note in more if isinstance(note, str)), "")
    return described(shape_of(inner, place), text)


def _optional_key(annotation: typing.Any, place: Place) -> Shape:
    return shape_of(typing.get_args(annotation)[0], place)


def _many(annotation: typing.Any, place: Place) -> Shape:
    item = shape_of(typing.get_args(annotation)[0], place)
    schema = {"type": "array", "items": item.schema}
    return Shape(schema, lambda values: [item.read(value) for value in values])


def _tuple(annotation: typing.Any, place: Place) -> Shape:
    """`tuple[int, ...]`: any number of one kind."""
    match typing.get_args(annotation):
        case (kind, last) if last is Ellipsis:
            item = shape_of(kind, place)
            schema = {"type": "array", "items": item.schema}
            return Shape(schema, lambda values: tuple(item.read(value) for value in values))
    raise _unfit(annotation, place)


def _mapping(annotation: typing.Any, place: Place) -> Shape:
    key, value = typing.get_args(annotation)
    if key is not str:
        raise InputError(f"{place.name}: the keys of a JSON object are text, not {key!r}")
    item = shape_of(value, place)
    schema = {"type": "object", "additionalProperties": item.schema}
    return Shape(schema, lambda table: {name: item.read(inner) for name, inner in table.items()})


def _union(annotation: typing.Any, place: Place) -> Shape:
    """A value is read as the first member that it fits."""
    shapes = [shape_of(member, place) for member in typing.get_args(annotation)]
    checks = [(fastjsonschema.compile(shape.schema), shape.read) for shape in shapes]

    def read(value: typing.Any) -> typing.Any:
        for fits, found in checks:
            try:
                fits(value)
            except fastjsonschema.JsonSchemaException:
                continue
            return found(value)
        return value

    return Shape({"anyOf": [shape.schema for shape in shapes]}, read)


_MAKERS: Mapping[object, Callable[[typing.Any, Place], Shape]] = {
    typing.Annotated: _annotated,
    typing.Required: _optional_key,
    typing.NotRequired: _optional_key,
    typing.Literal: lambda annotation, _: Shape({"enum": list(typing.get_args(annotation))}),
    typing.Union: _union,
    types.UnionType: _union,
    list: _many,
    Sequence: _many,
    tuple: _tuple,
    dict: _mapping,
    Mapping: _mapping,
}


def _unfit(annotation: typing.Any, place: Place) -> InputError:
    return InputError(
        f"{place.name}: a model cannot be asked for {annotation!r}; use str, int, float, bool, Path, "
        "Literal, an Enum, list[…], dict[str, …], Optional, a dataclass or a TypedDict"
    )


_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):\s*")
_FIELD = re.compile(r":(param|returns?|raises|type|rtype)\b")
_ENTRY = re.compile(
    r"(?::param (?:[^:]* )?|(?P<indent>\s+)\*{0,2})(?P<name>\w+)(?: *\([^)]*\))?: *(?P<text>.*)"
)
_PARAMETERS = re.compile(r"(?:Args|Arguments|Parameters):\s*|:param\b.*")


@dataclass(frozen=True, slots=True)
class Description:
    """A docstring: the text before any section, and the text of each parameter."""

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def describe(function: object) -> Description:
    """Parse a docstring with an `Args:` section or `:param name:` fields; skip other sections."""
    lines = inspect.cleandoc(getattr(function, "__doc__", None) or "").splitlines()
    before = list(takewhile(lambda line: not _begins_section(line), lines))
    parameters: dict[str, str] = {}
    for section in _sections(lines[len(before) :]):
        if _PARAMETERS.fullmatch(section[0]):
            parameters |= _documented_parameters(section)
    return Description("\n".join(before).strip(), parameters)


def _begins_section(line: str) -> bool:
    return bool(_SECTION.fullmatch(line) or _FIELD.match(line))


def _sections(lines: Sequence[str]) -> Iterator[list[str]]:
    """Each heading or field, with the lines under it."""
    found: list[str] = []
    for line in lines:
        if _begins_section(line) and found:
            yield found
            found = []
        found.append(line)
    if found:
        yield found


def _documented_parameters(section: Sequence[str]) -> dict[str, str]:
    """Entries with the indent of the first one; deeper lines continue the text above them."""
    found: dict[str, str] = {}
    name = depth = None
    for line in section:
        entry = _ENTRY.match(line)
        deep = len(entry["indent"] or "") if entry else None
        if entry is not None and (depth is None or deep == depth):
            name, depth = entry["name"], deep
            found[name] = entry["text"]
        elif name is not None and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


P = typing.ParamSpec("P")
R = typing.TypeVar("R", covariant=True)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_HEADLINE = 100
_NOT_NAMED = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)


@dataclass(frozen=True, slots=True)
class FunctionTool(Tool, typing.Generic[P, R]):
    """A tool made of a function, which can still be called like one."""

    function: Callable[P, R] = field(kw_only=True)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


@typing.overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@typing.overload
def tool(
    *, access: Access = ..., name: str | None = ..., clearable: bool = ...
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., typing.Any] | None = None,
    /,
    *,
    access: Access = "run",
    name: str | None = None,
    clearable: bool = False,
) -> typing.Any:
    """Make a tool of a function, synchronous or not.

    The docstring tells the model what the tool does, an `Args:` section what its parameters mean.
    `access` says what a call does: "read" is always allowed, the rest is subject to permission.
    Old results of a `clearable` tool may be cleared: it can be called again for them.
    """

    def declare(function: Callable[..., typing.Any]) -> FunctionTool[..., typing.Any]:
        return _declared(function, access, name or function.__name__, clearable=clearable)

    return declare if function is None else declare(function)


def _declared(
    function: Callable[..., typing.Any], access: Access, name: str, *, clearable: bool
) -> FunctionTool[..., typing.Any]:
    if access not in typing.get_args(Access):
        known = ", ".join(typing.get_args(Access))
        raise InputError(f"the tool {name!r} has access={access!r}; known: {known}")
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot name a tool; use letters, digits, _ and -")
    about = describe(function)
    parameters = _parameters(function, name, about.parameters)
    needed = [one for one, (_, required) in parameters.items() if required]
    shapes = {one: shape for one, (shape, _) in parameters.items()}
    return FunctionTool(
        ToolSpec.of(name, about.text, object_of(shapes, needed)),
        _runner(function, shapes),
        always(access),
        lambda arguments: _headline(name, arguments),
        clearable=clearable,
        function=function,
    )


def _parameters(
    function: Callable[..., typing.Any], name: str, texts: dict[str, str]
) -> dict[str, tuple[Shape, bool]]:
    """Each parameter's shape, and whether it must be given."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise InputError(f"the tool {name!r} has an unknown annotation: {error}") from error
    found = {}
    for one in inspect.signature(function).parameters.values():
        if one.kind in _NOT_NAMED:
            raise InputError(f"the tool {name!r} takes {one}; a model gives arguments by name")
        if one.name not in hints:
            raise InputError(
                f"the tool {name!r} must say the type of {one.name!r}: {one.name}: str"
            )
        shape = shape_of(hints[one.name], Place(f"the parameter {one.name!r} of the tool {name!r}"))
        shape = described(shape, texts.get(one.name, ""))
        found[one.name] = shape, one.default is inspect.Parameter.empty
    return found


def _runner(function: Callable[..., typing.Any], shapes: dict[str, Shape]) -> typing.Any:
    async def run(arguments: Arguments, workplace: Workplace) -> ToolOutput | str:
        values = {name: shapes[name].read(value) for name, value in arguments.items()}
        if inspect.iscoroutinefunction(function):
            return _output(await function(**values))
        # In a thread, so that blocking code does not block the conversation.
        return _output(await asyncio.to_thread(function, **values))

    return run


def _output(value: typing.Any) -> ToolOutput | str:
    if value is None:
        return ""
    if isinstance(value, str | ToolOutput):
        return value
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: typing.Any) -> typing.Any:
    """Values that JSON does not have: dataclasses as objects, the rest as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def _headline(name: str, arguments: Arguments) -> str:
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    line = f"{name}({given})"
    return line if len(line) <= _LONGEST_HEADLINE else f"{line[: _LONGEST_HEADLINE - 1]}…"
