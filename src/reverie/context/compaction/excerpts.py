"""Excerpts of files in work: the places that were read or changed last, as they are on disk. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reverie.context.facts.calls import deed_of
from reverie.core.messages import Message, ToolUse
from reverie.core.tokens import text_tokens

# A line number, or a line that stands at the place.
Place: TypeAlias = int | str

_CHANGED_TO = ("new_string", "newText", "new_str", "content")
_BEGINS = ("offset",)
# Lines around a place that are shown with it.
_BEFORE, _BEHIND = 15, 45
_DEFAULT_READ = 120


@dataclass(frozen=True, slots=True)
class WorkedOn:
    """A file, whether it was changed, how long ago it was last touched, and where, newest first."""

    path: str
    changed: bool
    calls_ago: int
    places: tuple[Place, ...]


def worked_on(messages: Iterable[Message]) -> list[WorkedOn]:
    """The files of these messages, the last touched first."""
    found: dict[str, WorkedOn] = {}
    calls = 0
    for message in reversed(tuple(messages)):
        for use in reversed(message.tool_uses):
            action = deed_of(use)
            if action.kind not in ("read", "edit", "write") or not action.target:
                continue
            known = found.get(action.target) or WorkedOn(action.target, False, calls, ())
            found[action.target] = WorkedOn(
                known.path,
                known.changed or action.kind != "read",
                known.calls_ago,
                (*known.places, *_places(use)),
            )
        calls += message.role == "assistant" and bool(message.tool_uses)
    return list(found.values())


def _places(use: ToolUse) -> list[Place]:
    given = use.input
    texts = (given.get(name) for name in _CHANGED_TO)
    lines = [max(text.splitlines(), key=len, default="") for text in texts if isinstance(text, str)]
    starts = (given.get(name) for name in _BEGINS)
    return [*(line for line in lines if line.strip()), *(n for n in starts if isinstance(n, int))]


def excerpt(text: str, places: Sequence[Place], room: int) -> str:
    """The whole text if it fits; else the lines around each place while there is room."""
    if text_tokens(text) <= room:
        return text
    lines = text.split("\n")
    chosen: set[int] = set()
    for place in (*places, 1):
        at = _line(lines, place)
        if at is None:
            continue
        for number in range(max(0, at - _BEFORE), min(len(lines), at + _BEHIND)):
            if number not in chosen:
                room -= text_tokens(lines[number]) + 2
                if room < 0:
                    return _rendered(lines, chosen)
                chosen.add(number)
    return _rendered(lines, chosen)


def _line(lines: Sequence[str], place: Place) -> int | None:
    if isinstance(place, int):
        return min(max(place - 1, 0), len(lines) - 1)
    return next((i for i, line in enumerate(lines) if place in line), None)


def _rendered(lines: Sequence[str], chosen: set[int]) -> str:
    """The chosen lines under the number of the first of each run."""
    found: list[str] = []
    last = -1
    for number in sorted(chosen):
        if number != last + 1:
            found.append(f"[… from line {number + 1} of {len(lines)}]")
        found.append(lines[number])
        last = number
    return "\n".join(found)
