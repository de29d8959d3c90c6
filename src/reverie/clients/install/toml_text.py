"""Adds one table to a TOML file and removes it again; every other byte stays as it is.

The table is found by its header. The result of an edit is parsed and compared, so a file in which a
string merely looks like our table is refused rather than damaged.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from reverie.clients.install.json_text import Malformed

_AT = re.compile(r"(?s)(.*) \(at (?:line (\d+), column \d+|end of document)\)$")
_HEADER = re.compile(
    r"""[ \t]*\[{1,2}(?P<name>(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\]"'#\n])*)\]{1,2}[ \t]*(?:\#.*)?$"""
)

Value = str | Sequence[str]


def parse(text: str) -> dict[str, Any]:
    """Parse a file. Raises Malformed, with the line."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except RecursionError:
        raise Malformed("nested too deeply", 1) from None
    except ValueError as error:
        found = _AT.match(str(error))
        last = text.count("\n") + 1
        if found is None:
            raise Malformed(str(error), last) from None
        raise Malformed(found[1], int(found[2] or last)) from None


def table(value: Mapping[str, Any], name: Sequence[str]) -> Any:
    """The table with a dotted name; None if there is none."""
    found: Any = value
    for part in name:
        found = found.get(part) if isinstance(found, dict) else None
    return found


def added(text: str, name: Sequence[str], values: Mapping[str, Value], note: str) -> str:
    """The text with a table at its end, under a comment with `note`."""
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text + (newline if text and not text.endswith("\n") else "")
    lines = [f"# {note}", f"[{'.'.join(name)}]"]
    # JSON strings and lists of strings are valid TOML.
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    gap = newline if body.strip() else ""
    result = body + gap + newline.join(lines) + newline
    try:
        parse(result)
    except Malformed as clash:
        dotted = ".".join(name)
        raise Malformed(
            f"{name[0]} is written in a way that allows no [{dotted}] table ({clash.reason})",
            _line_of(text, name[0]),
        ) from None
    return result


def removed(text: str, name: Sequence[str], note: str) -> str:
    """The text without that table, its subtables, and the comment above it."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    inside = False
    pending: list[str] = []
    for line in lines:
        header = _HEADER.match(line.rstrip("\r\n"))
        if header:
            was, inside = inside, _names(header["name"])[: len(name)] == list(name)
            if inside and not was:
                _drop_note(kept, note)
            elif was and not inside:
                # Blank lines and comments above the next table belong to that table.
                kept += pending
            pending = []
        if not inside:
            kept.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            pending = []
        else:
            pending.append(line)
    if inside:
        kept += [line for line in pending if line.strip()]
    result = "".join(kept)
    _check(text, result, name)
    return result


def _drop_note(kept: list[str], note: str) -> None:
    """Remove our comment, and the blank line that was added before it."""
    if kept and kept[-1].strip() == f"# {note}":
        kept.pop()
        if kept and not kept[-1].strip():
            kept.pop()


def _names(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _check(before: str, after: str, name: Sequence[str]) -> None:
    """Check that only that table is gone."""
    wanted = parse(before)
    holder = table(wanted, name[:-1])
    if isinstance(holder, dict):
        holder.pop(name[-1], None)
        _prune(wanted, name[:-1])
    try:
        left = parse(after)
    except Malformed:
        left = {}
    _prune(left, name[:-1])
    if left != wanted:
        dotted = ".".join(name)
        raise Malformed(
            f"[{dotted}] cannot be told apart from the text around it; remove it by hand",
            _line_of(before, name[-1]),
        )


def _prune(value: dict[str, Any], name: Sequence[str]) -> None:
    """Remove an empty table, which existed only through its subtables."""
    if table(value, name) == {}:
        table(value, name[:-1]).pop(name[-1])


def _line_of(text: str, word: str) -> int:
    place = text.find(word)
    return text.count("\n", 0, max(place, 0)) + 1
