"""What a docstring says of a function and of its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):\s*")
_FIELD = re.compile(r":(param|returns?|raises|type|rtype)\b")
_ENTRY = re.compile(
    r"(?::param (?:[^:]* )?|(?P<indent>\s+)\*{0,2})(?P<name>\w+)(?: *\([^)]*\))?: *(?P<text>.*)"
)
_PARAMETERS = re.compile(r"(?:Args|Arguments|Parameters):\s*|:param\b.*")


@dataclass(frozen=True, slots=True)
class Description:
    """The text before any section, and one text a parameter."""

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def describe(function: object) -> Description:
    """Read an `Args:` section or `:param name:` fields; other sections are for people."""
    lines = inspect.cleandoc(getattr(function, "__doc__", None) or "").splitlines()
    before = list(takewhile(lambda line: not _begins_section(line), lines))
    parameters: dict[str, str] = {}
    for section in _sections(lines[len(before) :]):
        if _PARAMETERS.fullmatch(section[0]):
            parameters |= _parameters(section)
    return Description("\n".join(before).strip(), parameters)


def _begins_section(line: str) -> bool:
    return bool(_SECTION.fullmatch(line) or _FIELD.match(line))


def _sections(lines: Sequence[str]) -> Iterator[list[str]]:
    """Each heading, or field, with the lines under it."""
    found: list[str] = []
    for line in lines:
        if _begins_section(line) and found:
            yield found
            found = []
        found.append(line)
    if found:
        yield found


def _parameters(section: Sequence[str]) -> dict[str, str]:
    """Entries as deep as the first one; what lies deeper goes on with the text above it."""
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
