"""Parse TOML into flat dotted keys with line numbers, which tomllib does not give."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Patterns stay text: they are compiled only if there is a file to read.
_PART: Final = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_PATH: Final = rf"({_PART}(?:[ \t]*\.[ \t]*{_PART})*)"
_HEADER: Final = rf"[ \t]*\[{{1,2}}[ \t]*{_PATH}[ \t]*\]"
_ASSIGNMENT: Final = rf"[ \t]*{_PATH}[ \t]*="
_AT_LINE: Final = r" \(at line (\d+), column \d+\)$"

# No setting is nested this deep.
_DEEPEST: Final = 12


class Entry(NamedTuple):
    """One value of a file; `value` is a dict only for a table that is empty or too deep."""

    key: str
    value: object
    line: int | None


class BadToml(Exception):
    """Invalid TOML; `line` is where, if the parser says so."""

    def __init__(self, reason: str, line: int | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def parse(text: str) -> list[Entry]:
    """Every value in the text, in its order."""
    # Import lazily: most machines have no settings file.
    import tomllib  # noqa: PLC0415

    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise BadToml("nested too deeply", None) from None
    # A number of 5,000 digits raises a plain ValueError, not TOMLDecodeError.
    except ValueError as error:
        raise _explained(error) from None
    lines = positions(text)
    return [Entry(".".join(path), value, _line(lines, path)) for path, value in _leaves(tree)]


def _explained(error: ValueError) -> BadToml:
    message = str(error)
    at = re.search(_AT_LINE, message)
    if at:
        return BadToml(message[: at.start()], int(at[1]))
    return BadToml(message, None)


def _leaves(tree: dict[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    pending: list[tuple[tuple[str, ...], object]] = [((key,), tree[key]) for key in reversed(tree)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and value and len(path) < _DEEPEST:
            pending.extend(((*path, key), value[key]) for key in reversed(value))
        else:
            yield path, value


def positions(text: str) -> dict[tuple[str, ...], int]:
    """First line of every table header and assignment; may be wrong inside multi-line strings."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if (opened := header(line)) is not None:
            table = opened
            found.setdefault(table, number)
        elif assignment := re.match(_ASSIGNMENT, line):
            found.setdefault(table + _split(assignment[1]), number)
    return found


def header(line: str) -> tuple[str, ...] | None:
    """The path of a table header; None for any other line."""
    found = re.match(_HEADER, line)
    return _split(found[1]) if found else None


def _split(path: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, path))


def _line(lines: dict[tuple[str, ...], int], path: tuple[str, ...]) -> int | None:
    """The line of the key, or of the inline table that contains it."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None
