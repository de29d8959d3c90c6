"""Edits JSON as text: members are added and removed, every other byte stays as it is.

Comments and trailing commas are accepted if the client that owns the file accepts them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

Step = str | int
Where = tuple[Step, ...]

_SPACE = " \t\r\n"
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_BLANK = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_CLOSING = {"{": "}", "[": "]"}


class Malformed(Exception):
    """The text cannot be parsed or edited; `line` is where the problem is."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Splice(NamedTuple):
    """Replace [start, end) with `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position [start, end)."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    items: tuple[Item, ...] = ()

    def find(self, key: str) -> Item | None:
        """A member of an object; the last one counts if a key is repeated, as in JSON parsers."""
        if self.kind != "object":
            return None
        return next((item for item in reversed(self.items) if item.key == key), None)


@dataclass(frozen=True, slots=True)
class Item:
    """A member or an element: `start` is the position of its key, if any; `comma` that of the comma after it."""

    key: str | None
    start: int
    value: Node
    comma: int | None


@dataclass(slots=True)
class _Reader:
    text: str
    comments: bool
    at: int = 0

    def fail(self, reason: str) -> Malformed:
        return Malformed(reason, self.text.count("\n", 0, self.at) + 1)

    def skip(self) -> None:
        """Skip white space, and comments if they are allowed."""
        while self.at < len(self.text):
            if self.text[self.at] in _SPACE:
                self.at += 1
                continue
            comment = _COMMENT.match(self.text, self.at)
            if comment is None:
                return
            if not self.comments:
                raise self.fail("comments are not allowed in this file")
            self.at = comment.end()

    def peek(self) -> str:
        self.skip()
        return self.text[self.at : self.at + 1]

    def value(self) -> Node:
        first = self.peek()
        start = self.at
        if first in _CLOSING:
            return self.container(first)
        if first == '"':
            self.string()
        else:
            scalar = _SCALAR.match(self.text, self.at)
            if scalar is None:
                raise self.fail("a value is missing")
            self.at = scalar.end()
        return Node("scalar", start, self.at)

    def string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self.fail("a string is not closed on its line")
        try:
            value: str = json.loads(found[0])
        except ValueError as error:
            raise self.fail(f"{found[0]} has an invalid escape") from error
        self.at = found.end()
        return value

    def container(self, opening: str) -> Node:
        start, closing = self.at, _CLOSING[opening]
        self.at += 1
        items: list[Item] = []
        while self.peek() != closing:
            if items and items[-1].comma is None:
                raise self.fail(f"',' or '{closing}' is missing")
            items.append(self.item(opening))
        if items and items[-1].comma is not None and not self.comments:
            raise self.fail(f"there is an extra ',' before '{closing}'")
        self.at += 1
        kind: Literal["object", "array"] = "object" if opening == "{" else "array"
        return Node(kind, start, self.at, tuple(items))

    def item(self, opening: str) -> Item:
        start, key = self.at, None
        if opening == "{":
            if self.peek() != '"':
                raise self.fail("a key in double quotes is missing")
            key = self.string()
            if self.peek() != ":":
                raise self.fail(f"':' is missing after {json.dumps(key)}")
            self.at += 1
        value = self.value()
        end, comma = self.at, None
        if self.peek() == ",":
            comma = self.at
            self.at += 1
        else:
            self.at = end
        return Item(key, start, value, comma)


def parse(text: str, *, comments: bool = False) -> Node:
    """Parse the text. Raises Malformed, with the line."""
    reader = _Reader(text, comments, at=1 if text.startswith("\ufeff") else 0)
    try:
        root = reader.value()
    except RecursionError:
        raise reader.fail("nested too deeply") from None
    if reader.peek():
        raise reader.fail("there is more text after the end of the value")
    return root


def plain(text: str, node: Node) -> Any:
    """The Python value of a node."""
    match node.kind:
        case "object":
            return {cast("str", item.key): plain(text, item.value) for item in node.items}
        case "array":
            return [plain(text, item.value) for item in node.items]
        case "scalar":
            return json.loads(text[node.start : node.end])


def at(node: Node, where: Where) -> Node | None:
    """The node at a path; None if there is none."""
    for step in where:
        if isinstance(step, str):
            item = node.find(step)
        else:
            inside = node.kind == "array" and step < len(node.items)
            item = node.items[step] if inside else None
        if item is None:
            return None
        node = item.value
    return node


def spliced(text: str, splices: Iterable[Splice]) -> str:
    """The text with all splices applied; they must not overlap."""
    pieces: list[str] = []
    done = 0
    for start, end, put in sorted(splices, key=lambda splice: splice[:2]):
        pieces += (text[done:start], put)
        done = end
    return "".join([*pieces, text[done:]])


def added(text: str, root: Node, container: Node, key: str | None, value: object) -> str:
    """The text with one more member (or element, without a key) at the end of a container."""
    style = _style(text, root)
    tail = len(text[: container.end - 1].rstrip(_SPACE))
    last = container.items[-1] if container.items else None
    splices: list[Splice] = []
    if last is not None and last.comma is None:
        splices.append(Splice(last.value.end, last.value.end, ","))
    # Keep the style of a trailing comma.
    comma = "," if last is not None and last.comma is not None else ""
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if not _spread(text, root, container):
        gap = " " if last is not None else ""
        put = gap + name + json.dumps(value, ensure_ascii=False) + comma
        return spliced(text, [*splices, Splice(tail, tail, put)])
    outer = _indent(text, container.start)
    inner = _indent(text, last.start) if last is not None else outer + style.unit
    body = json.dumps(value, ensure_ascii=False, indent=style.unit).replace("\n", "\n" + inner)
    put = ("\n" + inner + name + body + comma).replace("\n", style.newline)
    if "\n" not in text[tail : container.end - 1]:
        put += style.newline + outer
    return spliced(text, [*splices, Splice(tail, tail, put)])


def removed(text: str, container: Node, index: int) -> str:
    """The text without one member or element."""
    item = container.items[index]
    inside = (container.start + 1, container.end - 1)
    if len(container.items) == 1 and _only(text, inside, item):
        return spliced(text, [Splice(*inside, "")])
    splices = []
    end = item.value.end
    if item.comma is not None:
        end = item.comma + 1
    elif index > 0:
        before = cast("int", container.items[index - 1].comma)
        splices.append(Splice(before, before + 1, ""))
    # Joining lines must not move what follows into a `//` comment before it.
    start = len(text[: item.start].rstrip(_SPACE)) if _BLANK.match(text, end) else item.start
    return spliced(text, [*splices, Splice(start, end, "")])


class _Style(NamedTuple):
    unit: str
    newline: str


def _style(text: str, root: Node) -> _Style:
    """The file's indentation, as its first member shows it; two spaces by default."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if root.items and "\n" in text[root.start : root.items[0].start]:
        return _Style(_indent(text, root.items[0].start) or "  ", newline)
    return _Style("  ", newline)


def _spread(text: str, root: Node, container: Node) -> bool:
    """Does this container put its members on separate lines?"""
    if container.items:
        return "\n" in text[container.start : container.items[0].start]
    inside = text[container.start : container.end]
    return "\n" in inside or container is root or "\n" in text[root.start : root.end]


def _indent(text: str, at: int) -> str:
    """The white space at the start of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _only(text: str, inside: tuple[int, int], item: Item) -> bool:
    """Does the container hold nothing besides the item, such as a comment?"""
    start, end = inside
    after = item.value.end if item.comma is None else item.comma + 1
    return not (text[start : item.start] + text[after:end]).strip(_SPACE)


def without(text: str, where: Sequence[Step], *, comments: bool = False) -> str:
    """The text without the value at a path, which must exist."""
    root = parse(text, comments=comments)
    container = cast("Node", at(root, tuple(where[:-1])))
    step = where[-1]
    if isinstance(step, str):
        step = container.items.index(cast("Item", container.find(step)))
    return removed(text, container, step)
