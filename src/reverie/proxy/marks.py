"""Cache marks of the Messages API: the client's and ours, and which of the two cost less.

Both are simulated by the provider's documented rules on the cache as the session left it. Ours are
sent while the session costs no more with them than the client's own requests would; otherwise the
client's are kept, and always if they contain anything unknown to us. There are never more than
four, and longer lives come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reverie.conversation.conversation import Assembled
from reverie.core.prompt_cache import Chain, Mark
from reverie.core.request import Breakpoint, Section
from reverie.core.window import Ttl
from reverie.proxy.body import Body
from reverie.proxy.dialects import marked
from reverie.proxy.turns import Outgoing, Place, Sent, Turn, with_marks

MOST = 4
_KNOWN_KEYS = frozenset({"type", "ttl"})
_HEAD_FIELDS = ("tools", "system")


@dataclass(frozen=True, slots=True)
class ClientMarks:
    """The marks of a client's request: in the head, by field and index, and in the messages."""

    head: Mapping[tuple[str, int], Ttl]
    messages: Mapping[Place, Ttl]
    # Whether they contain only what is documented, so that they may be moved.
    movable: bool

    @property
    def count(self) -> int:
        return len(self.head) + len(self.messages)


def read_marks(body: Body) -> ClientMarks:
    head: dict[tuple[str, int], Ttl] = {}
    messages: dict[Place, Ttl] = {}
    controls: list[Any] = [body.fields.get("cache_control")]
    for name in _HEAD_FIELDS:
        for i, control in _controls(body.fields.get(name)):
            head[name, i] = _ttl(control)
            controls.append(control)
    for index, element in enumerate(body.elements):
        if element.may_be_marked and isinstance(element.value, dict):
            for i, control in _controls(element.value.get("content")):
                messages[Place(index, i)] = _ttl(control)
                controls.append(control)
            controls += _nested(element.value.get("content"))
    return ClientMarks(head, messages, controls[0] is None and all(map(_is_plain, controls[1:])))


def _controls(blocks: Any) -> Iterator[tuple[int, Any]]:
    for i, block in enumerate(blocks if isinstance(blocks, list) else ()):
        if isinstance(block, dict) and block.get("cache_control") is not None:
            yield i, block["cache_control"]


def _nested(blocks: Any) -> Iterator[Any]:
    """Marks inside a tool's result, which we never place: they make the client's unmovable."""
    for block in blocks if isinstance(blocks, list) else ():
        if isinstance(block, dict) and isinstance(block.get("content"), list):
            yield from ({"nested": True} for _ in _controls(block["content"]))


def _ttl(control: Any) -> Ttl:
    return "1h" if isinstance(control, dict) and control.get("ttl") == "1h" else "5m"


def _is_plain(control: Any) -> bool:
    return isinstance(control, dict) and control.keys() <= _KNOWN_KEYS


def chain_marks(
    client: ClientMarks, chain: Chain, turns: Sequence[Turn], sent: Sequence[Sent]
) -> tuple[Mark, ...]:
    """The client's marks as positions in the chain to send; those of removed blocks are left out."""
    if not client.count:
        return ()
    wanted: dict[tuple[Section, int, int], Ttl] = {
        ("tools" if name == "tools" else "system", i, 0): ttl
        for (name, i), ttl in client.head.items()
    }
    marked_elements = {place.element for place in client.messages}
    for message in range(len(sent) - 1, -1, -1):
        if not marked_elements:
            break
        one = sent[message]
        if one.turn is None or marked_elements.isdisjoint(turns[one.turn].elements):
            continue
        turn = turns[one.turn]
        for block in range(min(len(turn.offsets), len(one.message.blocks))):
            ttl = client.messages.get(turn.place(block))
            if ttl is not None:
                wanted["messages", message, block] = ttl
    found: dict[int, Ttl] = {}
    for i in _from_both_ends(len(chain.links)):
        if not wanted:
            break
        segment = chain.links[i].segment
        head_ttl = wanted.pop((segment.section, segment.index, segment.block), None)
        if head_ttl is not None:
            found[i] = head_ttl
    return tuple(Mark(i, found[i]) for i in sorted(found))


def _from_both_ends(count: int) -> Iterator[int]:
    """All positions, from both ends inwards: marks are in the head and near the end."""
    for i in range((count + 1) // 2):
        yield i
        if i != count - 1 - i:
            yield count - 1 - i


def placed(
    asked: Assembled, turns: Sequence[Turn], sent: Sequence[Sent], elements: Sequence[Outgoing]
) -> tuple[dict[str, dict[int, Ttl]], list[Outgoing]] | None:
    """The head's marks by field, and the elements with ours; None if one cannot be placed."""
    head: dict[str, dict[int, Ttl]] = {}
    by_index: dict[int, dict[int, Ttl]] = {}
    by_message: dict[str, dict[int, Ttl]] = {}
    for point in asked.request.breakpoints:
        if point.section != "messages":
            head.setdefault(point.section, {})[point.index] = point.ttl
            continue
        one = sent[point.index]
        if one.turn is None:
            by_message.setdefault(one.message.id, {})[point.block] = point.ttl
            continue
        place = _place(turns[one.turn], one, point)
        if place is None:
            return None
        by_index.setdefault(place.element, {})[place.block] = point.ttl
    if len(asked.request.breakpoints) > MOST:
        return None
    return head, [_with_ours(found, by_index, by_message) for found in elements]


def _place(turn: Turn, one: Sent, point: Breakpoint) -> Place | None:
    """The position of a sent message's block in the client's element."""
    kinds = [block.kind for block in one.message.blocks]
    original = [
        (i, block.kind)
        for i, block in enumerate(turn.message.blocks)
        if block.kind != "thinking" or "thinking" in kinds
    ]
    if [kind for _, kind in original] != kinds:
        return None
    return turn.place(original[point.block][0])


def _with_ours(
    found: Outgoing,
    by_index: Mapping[int, Mapping[int, Ttl]],
    by_message: Mapping[str, Mapping[int, Ttl]],
) -> Outgoing:
    if found.index is None:
        ours = by_message.get(found.message.id if found.message else "", {})
        return with_marks(found, ours) if ours else found
    wanted = by_index.get(found.index, {})
    if not found.may_be_marked:
        return with_marks(found, wanted) if wanted else found
    there = dict(_controls(found.value.get("content")))
    same = {i: _ttl(control) for i, control in there.items()} == dict(wanted)
    return found if same else with_marks(found, wanted)


def head_fields(body: Body, marks: Mapping[str, Mapping[int, Ttl]]) -> dict[str, Any]:
    """The fields of the head whose marks differ from the client's, with ours."""
    changed: dict[str, Any] = {}
    for name in _HEAD_FIELDS:
        blocks = body.fields.get(name)
        wanted = dict(marks.get(name, {}))
        there = {i: _ttl(control) for i, control in _controls(blocks)}
        if there == wanted:
            continue
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        changed[name] = [
            marked(block, wanted.get(i)) if isinstance(block, dict) else block
            for i, block in enumerate(blocks or ())
        ]
    return changed
