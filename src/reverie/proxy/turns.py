"""Reads the elements of a request as turns of a conversation, and writes turns as elements.

Both are pure. Results are cached with each element, so that a growing conversation is read once.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reverie.core.messages import Block, Message, Origin, Text, Thinking, ToolResult
from reverie.core.window import Ttl
from reverie.proxy.body import Body, Element
from reverie.proxy.dialects import Dialect, Edit, Piece
from reverie.session.own_loop import mark

NO_EDIT = Edit()


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a block: the element's index in the request, and the block's in its content."""

    element: int
    block: int


@dataclass(frozen=True, slots=True)
class _Read:
    """A message read from a group of elements; offsets are relative to the first of them."""

    message: Message
    mark: str
    offsets: tuple[Place, ...]


@dataclass(slots=True)
class _Reading:
    """The result of reading an element: its piece, and the messages of the group it begins."""

    piece: Piece | None
    group: tuple[Element, ...] = ()
    read: tuple[_Read, ...] = ()
    # The element as sent unchanged, the same object in every request.
    unchanged: Outgoing | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation, and the index of its first element."""

    message: Message
    mark: str
    first: int
    offsets: tuple[Place, ...]
    elements: range
    thinks: bool
    results: bool

    @classmethod
    def of(cls, read: _Read, first: int) -> Turn:
        elements = range(first, first + 1 + read.offsets[-1].element)
        results = any(isinstance(block, ToolResult) for block in read.message.blocks)
        return cls(
            read.message, read.mark, first, read.offsets, elements, thinks(read.message), results
        )

    def place(self, block: int) -> Place:
        offset = self.offsets[block]
        return Place(self.first + offset.element, offset.block)


def turns_of(dialect: Dialect, body: Body, *, by_person: bool) -> list[Turn]:
    """All turns of a body; elements shared with an earlier body are not read again."""
    if not body.read:
        known = [] if body.earlier is None else body.earlier.read
        # The last shared element may form one message with the next one.
        while known and known[-1].elements.stop >= body.shared:
            known = known[: bisect_left(known, known[-1].first, key=_first)]
        begin = known[-1].elements.stop if known else 0
        body.read = [*known, *read_turns(dialect, body.elements, begin, by_person=by_person)]
    return body.read


def _first(turn: Turn) -> int:
    return turn.first


def read_turns(
    dialect: Dialect, elements: Sequence[Element], begin: int = 0, *, by_person: bool
) -> list[Turn]:
    """The turns from an element on; tool results and words of one element are two turns.

    `by_person` is false where another agent wrote the user's messages. Raises InputError.
    """
    turns: list[Turn] = []
    for first, group in _groups(dialect, elements, begin):
        reading: _Reading = group[0].read
        if reading.group != group:
            reading.group = group
            reading.read = tuple(_messages([one.read.piece for one in group], by_person))
        turns += (Turn.of(read, first) for read in reading.read)
    return turns


def _groups(
    dialect: Dialect, elements: Sequence[Element], begin: int
) -> Iterator[tuple[int, tuple[Element, ...]]]:
    """Runs of elements that make one message; system messages belong to none."""
    start = begin
    group: list[Element] = []
    last: Piece | None = None
    for i, element in enumerate(elements[begin:], begin):
        if element.read is None:
            element.read = _Reading(dialect.piece(element.value))
        piece: Piece | None = element.read.piece
        joined = last is not None and last.joins and piece is not None and piece.joins
        if joined and last is not None and piece is not None and last.role == piece.role:
            group.append(element)
            continue
        if group:
            yield start, tuple(group)
        start, group, last = i, [], piece
        if piece is not None:
            group = [element]
    if group:
        yield start, tuple(group)


def _messages(pieces: Sequence[Piece], by_person: bool) -> Iterator[_Read]:
    placed = [
        (block, Place(i, piece.places[j]))
        for i, piece in enumerate(pieces)
        for j, block in enumerate(piece.blocks)
    ]
    if pieces[0].role == "assistant":
        yield from _read("assistant", placed, "assistant")
        return
    results = [one for one in placed if isinstance(one[0], ToolResult)]
    words = [one for one in placed if not isinstance(one[0], ToolResult)]
    said = by_person and any(isinstance(block, Text) for block, _ in words)
    yield from _read("user", results, "tool")
    yield from _read("user", words, "user" if said else "hook")


def _read(role: Any, placed: Sequence[tuple[Block, Place]], origin: Origin) -> Iterator[_Read]:
    if placed:
        message = Message("", role, tuple(block for block, _ in placed), origin=origin)
        yield _Read(message, mark(message), tuple(place for _, place in placed))


def shared_turns(known: Sequence[str], turns: Sequence[Turn]) -> int:
    """The number of leading turns that are known, by their digests."""
    for i, (digest, turn) in enumerate(zip(known, turns, strict=False)):
        if digest != turn.mark:
            return i
    return min(len(known), len(turns))


@dataclass(frozen=True, slots=True)
class Sent:
    """A message to send, and the turn it comes from; None for one of ours."""

    message: Message
    turn: int | None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One element to send: the client's own text, or another value. `index` is None for ours."""

    index: int | None
    raw: str
    value: Any
    edit: Edit = NO_EDIT
    message: Message | None = None
    may_be_marked: bool = False

    def text(self, dialect: Dialect) -> str:
        if self.edit.empty:
            return self.raw
        return dump(dialect.edited(self.value, self.edit))


def dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def outgoing(
    dialect: Dialect,
    elements: Sequence[Element],
    turns: Sequence[Turn],
    sent: Sequence[Sent],
    changed: Collection[str],
) -> list[Outgoing]:
    """The elements to send. `changed` are the ids of tool results that are sent with other text."""
    writer = _Writer(dialect, elements, turns, sent, changed)
    for one in sent:
        writer.add(one)
    writer.finish()
    return writer.found


def _as_it_came(index: int, element: Element) -> Outgoing:
    return Outgoing(index, element.raw, element.value, may_be_marked=element.may_be_marked)


class _Writer:
    """Puts elements in order: a message of ours follows the element it belongs to directly.

    Elements without a turn (system messages) stay after the element they followed.
    """

    def __init__(
        self,
        dialect: Dialect,
        elements: Sequence[Element],
        turns: Sequence[Turn],
        sent: Sequence[Sent],
        changed: Collection[str],
    ) -> None:
        self.found: list[Outgoing] = []
        self._dialect = dialect
        self._elements = elements
        self._turns = turns
        self._changed = changed
        self._edits = self._all_edits(sent)
        # The others have no turn: system messages, and messages without content.
        self._owned = {index for turn in turns for index in turn.elements}
        # The next element of the client that was not handled yet.
        self._next = 0
        # Whether the last element with a turn was sent; those after it are sent with it.
        self._keeps = True

    def add(self, one: Sent) -> None:
        if one.turn is None:
            for value in self._dialect.written(one.message):
                self.found.append(Outgoing(None, dump(value), value, message=one.message))
            return
        for index in self._turns[one.turn].elements:
            if index >= self._next:
                self._pass_to(index)
                self._emit(index)

    def finish(self) -> None:
        self._pass_to(len(self._elements))

    def _pass_to(self, index: int) -> None:
        """Send elements without a turn up to here; leave out those whose turn is not sent."""
        for i in range(self._next, index):
            if i in self._owned:
                self._keeps = False
            elif self._keeps:
                self._emit(i)
        self._next = index

    def _emit(self, index: int) -> None:
        element = self._elements[index]
        if index in self._owned:
            self._keeps = True
        self._next = index + 1
        edit = self._edits.get(index)
        reading: _Reading = element.read
        if edit is None:
            if reading.unchanged is None or reading.unchanged.index != index:
                reading.unchanged = _as_it_came(index, element)
            self.found.append(reading.unchanged)
        elif reading.piece is None or len(edit.dropped) < len(reading.piece.blocks):
            self.found.append(replace(_as_it_came(index, element), edit=edit))

    def _all_edits(self, sent: Sequence[Sent]) -> dict[int, Edit]:
        edits: dict[int, Edit] = {}
        sent_turns = {one.turn for one in sent}
        for one in sent:
            if one.turn is None:
                continue
            turn = self._turns[one.turn]
            if turn.results and self._changed:
                results = one.message.tool_results
                other = {r.tool_use_id: r for r in results if r.tool_use_id in self._changed}
                if other:
                    _merge(edits, turn.elements, Edit(results=other))
            if turn.thinks and not thinks(one.message):
                _drop(edits, turn, Thinking)
        for i in set(range(len(self._turns))) - sent_turns:
            # A sibling in the same element is sent, and this one is not.
            if {i - 1, i + 1} & sent_turns:
                _drop(edits, self._turns[i], object)
        return edits


def is_unchanged(found: Sequence[Outgoing], count: int) -> bool:
    """Whether these are all of the client's own elements, unchanged."""
    return len(found) == count and all(
        one.index == i and one.edit.empty for i, one in enumerate(found)
    )


def thinks(message: Message) -> bool:
    return message.role == "assistant" and any(isinstance(b, Thinking) for b in message.blocks)


def _drop(edits: dict[int, Edit], turn: Turn, kind: type) -> None:
    for i, block in enumerate(turn.message.blocks):
        if isinstance(block, kind):
            place = turn.place(i)
            _merge(edits, (place.element,), Edit(dropped=frozenset({place.block})))


def _merge(edits: dict[int, Edit], elements: Collection[int], more: Edit) -> None:
    for index in elements:
        old = edits.get(index, NO_EDIT)
        results = {**old.results, **more.results}
        edits[index] = replace(old, results=results, dropped=old.dropped | more.dropped)


def with_marks(found: Outgoing, marks: Mapping[int, Ttl]) -> Outgoing:
    """The same element with only these cache marks."""
    return replace(found, edit=replace(found.edit, marks=dict(marks)))
