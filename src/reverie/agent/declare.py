"""The `tool` decorator: makes a tool of a function, from its annotations and docstring."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from enum import Enum
from itertools import takewhile
from typing import (
    Any,
    Generic,
    ParamSpec,
    TypeVar,
    overload,
)

from reverie.agent.json_shapes import Place, Shape, described, object_of, shape_of
from reverie.agent.tools import Access, Arguments, Tool, ToolOutput, Workplace, always
from reverie.core.request import ToolSpec
from reverie.errors import InputError

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


P = ParamSpec("P")
R = TypeVar("R", covariant=True)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_HEADLINE = 100
_NOT_NAMED = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)


@dataclass(frozen=True, slots=True)
class FunctionTool(Tool, Generic[P, R]):
    """A tool made of a function, which can still be called like one."""

    function: Callable[P, R] = field(kw_only=True)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *, access: Access = ..., name: str | None = ..., clearable: bool = ...
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    access: Access = "run",
    name: str | None = None,
    clearable: bool = False,
) -> Any:
    """Make a tool of a function, synchronous or not.

    The docstring tells the model what it does, an `Args:` section what its parameters mean.
    `access` says what a call does: "read" is always allowed, the rest is subject to permission.
    Old results of a `clearable` tool may be cleared: it can be called again for them.
    """

    def declare(function: Callable[..., Any]) -> FunctionTool[..., Any]:
        return _declared(function, access, name or function.__name__, clearable=clearable)

    return declare if function is None else declare(function)


def _declared(
    function: Callable[..., Any], access: Access, name: str, *, clearable: bool
) -> FunctionTool[..., Any]:
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
    function: Callable[..., Any], name: str, texts: dict[str, str]
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


def _runner(function: Callable[..., Any], shapes: dict[str, Shape]) -> Any:
    async def run(arguments: Arguments, workplace: Workplace) -> ToolOutput | str:
        values = {name: shapes[name].read(value) for name, value in arguments.items()}
        if inspect.iscoroutinefunction(function):
            return _output(await function(**values))
        # In a thread, so that blocking code does not block the conversation.
        return _output(await asyncio.to_thread(function, **values))

    return run


def _output(value: Any) -> ToolOutput | str:
    if value is None:
        return ""
    if isinstance(value, str | ToolOutput):
        return value
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
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
