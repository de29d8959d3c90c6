"""A request's body as pieces of its own text, so that unchanged parts keep their bytes.

The list with the conversation is split into elements, the rest stays text. A conversation grows at
its end, so a body is compared with earlier ones: elements whose text is the same are the same
objects, and only new ones are parsed and read.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_BLANKS = frozenset(" \t\n\r")
_DECODER = json.JSONDecoder()

# Bodies with the same first characters may belong to one conversation.
_KEY_LENGTH = 400
_ALIKE = 32
# Limits on the characters of all remembered bodies, and on their number: the parsed form of a short
# body is many times its size.
_MOST_REMEMBERED = 64 * 1024 * 1024
_MOST_KEYS = 128


class Unreadable(ValueError):
    """The body does not follow the protocol; it is sent unchanged."""


@dataclass(slots=True, eq=False)
class Element:
    """One element of the conversation: its text and its value. Equal only to itself."""

    raw: str
    value: Any
    # The result of reading it, cached.
    read: Any = None
    # Whether it may contain a cache mark: searching for the word once is faster than searching the
    # blocks.
    may_be_marked: bool = field(init=False)

    def __post_init__(self) -> None:
        self.may_be_marked = '"cache_control"' in self.raw


@dataclass(slots=True, eq=False)
class Body:
    """`before` is the text up to the list's first element, `after` the text after its last one.

    `shared` is the number of leading elements in common with `earlier`, the body it was compared
    with.
    """

    before: str
    elements: tuple[Element, ...]
    after: str
    fields: dict[str, Any]
    length: int
    earlier: Body | None = None
    shared: int = 0
    # The result of reading all elements, cached for the bodies that extend this one.
    read: list[Any] = field(default_factory=list)

    def text(self, elements: Sequence[str], changed: dict[str, Any] | None = None) -> str:
        """The body with these elements, and with other values for some fields."""
        before, after = self.before, self.after
        for key, value in (changed or {}).items():
            before, after = _replaced(before, after, key, value)
        return f"{before}{','.join(elements)}{after}"

    def with_field(self, key: str, value: Any) -> Body:
        """The same conversation with another value for one field."""
        before, after = _replaced(self.before, self.after, key, value)
        fields = {**self.fields, key: value}
        return Body(before, self.elements, after, fields, len(before) + len(after))


@dataclass(slots=True)
class Bodies:
    """Recent bodies, to compare new ones with."""

    _recent: OrderedDict[str, list[Body]] = field(default_factory=OrderedDict)
    _size: int = 0

    def read(self, text: str, list_key: str) -> Body:
        """Split a body; raises Unreadable."""
        key = list_key + text[:_KEY_LENGTH]
        alike = self._recent.get(key, [])
        body = _compared(text, alike) or _split(text, list_key)
        self._remember(key, body)
        return body

    def _remember(self, key: str, body: Body) -> None:
        alike = self._recent.setdefault(key, [])
        self._recent.move_to_end(key)
        # A body that another one extends is no longer needed.
        old = body.earlier
        if old is not None and body.shared >= len(old.elements) - 2:
            alike.remove(old)
            self._size -= old.length
        alike.append(body)
        self._size += body.length
        if len(alike) > _ALIKE:
            self._size -= alike.pop(0).length
        while len(self._recent) > 1 and (
            self._size > _MOST_REMEMBERED or len(self._recent) > _MOST_KEYS
        ):
            _, dropped = self._recent.popitem(last=False)
            self._size -= sum(one.length for one in dropped)


def _compared(text: str, alike: Sequence[Body]) -> Body | None:
    """Read the body with the help of the one it shares most elements with."""
    best: tuple[int, int, Body] | None = None
    for old in alike:
        if text.startswith(old.before):
            shared, place = _shared(text, old)
            if shared and (best is None or shared > best[0]):
                best = shared, place, old
    if best is None:
        return None
    shared, place, old = best
    # The earlier body is no longer needed.
    old.earlier = None
    elements = list(old.elements[:shared])
    known = {one.raw: one for one in old.elements[shared:]}
    if text[place] == ",":
        place = _elements(text, place + 1, elements, known)
    if text[place] != "]":
        return None
    after = text[place:]
    same = after == old.after
    fields = old.fields if same else _fields(old.before + after)
    after = old.after if same else after
    return Body(old.before, tuple(elements), after, fields, len(text), old, shared)


def _shared(text: str, old: Body) -> tuple[int, int]:
    """The number of leading elements the text shares with a body, and the position after them."""
    place = start = len(old.before)
    count = 0
    for element in old.elements:
        raw = element.raw
        if not text.startswith(raw, start):
            break
        end = start + len(raw)
        sign = text[end : end + 1]
        if sign in _BLANKS:
            end = _skip(text, end)
            sign = text[end : end + 1]
        if sign != "," and sign != "]":
            break
        place, count, start = end, count + 1, end + 1
        if sign == "]":
            break
        if text[start : start + 1] in _BLANKS:
            start = _skip(text, start)
    return count, place


def _split(text: str, list_key: str) -> Body:
    """Walk the top-level object once."""
    fields: dict[str, Any] = {}
    found: Body | None = None
    place = _expect(text, 0, "{")
    if text[place : place + 1] == "}":
        raise Unreadable("the body is empty")
    while True:
        key, place = _key(text, place)
        if key in fields:
            raise Unreadable(f"the field {key!r} occurs twice")
        if key == list_key and text[place : place + 1] == "[":
            elements: list[Element] = []
            start = place = _skip(text, place + 1)
            if text[place : place + 1] != "]":
                place = _elements(text, place, elements, {})
            fields[key] = None
            found = Body(text[:start], tuple(elements), text[place:], fields, len(text))
            place += 1
        else:
            fields[key], place = _value(text, place)
        place = _skip(text, place)
        sign = text[place : place + 1]
        if sign == "}":
            break
        if sign != ",":
            raise Unreadable(f"there is {sign!r} where a comma should be")
        place = _skip(text, place + 1)
    if _skip(text, place + 1) != len(text):
        raise Unreadable("there is something after the body")
    if found is None:
        raise Unreadable(f"there is no list {list_key!r}")
    return found


def _elements(text: str, place: int, elements: list[Element], known: dict[str, Element]) -> int:
    """Read elements from `place` on; returns the position of the closing bracket."""
    while True:
        place = _skip(text, place)
        value, end = _value(text, place)
        raw = text[place:end]
        elements.append(known.get(raw) or Element(raw, value))
        place = _skip(text, end)
        sign = text[place : place + 1]
        if sign == "]":
            return place
        if sign != ",":
            raise Unreadable(f"there is {sign!r} where a comma should be")
        place += 1


def _fields(text: str) -> dict[str, Any]:
    """The other fields of a body whose list is empty in this text."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error
    if not isinstance(fields, dict):
        raise Unreadable("the body is not an object")
    return fields


def _replaced(before: str, after: str, key: str, value: Any) -> tuple[str, str]:
    """Replace the text of one field, before or after the list."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    place = _expect(before, 0, "{")
    while place < len(before):
        name, place = _key(before, place)
        if before[place : place + 1] == "[" and _is_open(before, place):
            break
        _, end = _value(before, place)
        if name == key:
            return before[:place] + written + before[end:], after
        place = _after_comma(before, end)
    place = _after_comma(after, 1)
    while place < len(after):
        name, place = _key(after, place)
        _, end = _value(after, place)
        if name == key:
            return before, after[:place] + written + after[end:]
        place = _after_comma(after, end)
    raise Unreadable(f"there is no field {key!r}")


def _is_open(before: str, place: int) -> bool:
    """Whether this bracket opens the conversation, which is not closed in this text."""
    return not before[place + 1 :].strip()


def _skip(text: str, place: int) -> int:
    """The position after white space."""
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _after_comma(text: str, place: int) -> int:
    place = _skip(text, place)
    if text[place : place + 1] != ",":
        return len(text)
    return _skip(text, place + 1)


def _expect(text: str, place: int, sign: str) -> int:
    place = _skip(text, place)
    if text[place : place + 1] != sign:
        raise Unreadable(f"there is no {sign!r} at the start")
    return _skip(text, place + 1)


def _key(text: str, place: int) -> tuple[str, int]:
    """A key, and the position of its value."""
    if text[place : place + 1] != '"':
        raise Unreadable("a key is not in quotes")
    key, place = _value(text, place)
    return key, _expect(text, place, ":")


def _value(text: str, place: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error
