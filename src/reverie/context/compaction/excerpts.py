"""Excerpts of files in work: the places that were read or changed last, as they are on disk. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from reverie.context.facts.calls import action_of
from reverie.core.messages import Attachment, Message, ToolUse
from reverie.core.tokens import text_tokens

# A line number, or a line that stands at the place.
Place: TypeAlias = int | str

_CHANGED_TO = ("new_string", "newText", "new_str", "content")
_BEGINS = ("offset",)
LABEL = "file"
LEAD = ", as it is on disk now:\n"
_RUN = re.compile(r"^\[… from line (\d+) of \d+\]$", re.MULTILINE)
# Lines around a place that are shown with it.
_BEFORE, _BEHIND = 15, 45


@dataclass(frozen=True, slots=True)
class WorkedOn:
    """A file, whether it was changed, how long ago it was last touched, and where, newest first."""

    path: str
    changed: bool
    calls_ago: int
    places: tuple[Place, ...]


def worked_on(messages: Iterable[Message]) -> list[WorkedOn]:
    """The files of these messages, the last touched first; those an earlier compaction showed, too."""
    found: dict[str, WorkedOn] = {}
    calls = 0
    response: str | None = None
    for message in reversed(tuple(messages)):
        for path, changed, places in _touched(message):
            known = found.get(path) or WorkedOn(path, changed=False, calls_ago=calls, places=())
            all_places = (*known.places, *places)
            found[path] = WorkedOn(path, known.changed or changed, known.calls_ago, all_places)
        # One response may be several messages.
        calls += message.role == "assistant" and (not response or message.response != response)
        response = message.response or response
    return list(found.values())


def _touched(message: Message) -> Iterator[tuple[str, bool, list[Place]]]:
    for use in reversed(message.tool_uses):
        action = action_of(use)
        if action.kind in ("read", "edit", "write") and action.target:
            yield action.target, action.kind != "read", _places(use)
    for block in message.blocks:
        if isinstance(block, Attachment) and block.label == LABEL and LEAD in block.text:
            path, _, shown = block.text.partition(LEAD)
            yield path, True, [int(number) for number in _RUN.findall(shown)]


def attached(path: str, text: str, places: Sequence[Place], room: int) -> Attachment:
    """The file as an attachment."""
    return Attachment(LABEL, f"{path}{LEAD}{excerpt(text, places, room)}")


def _places(use: ToolUse) -> list[Place]:
    given = use.input
    texts = (given.get(name) for name in _CHANGED_TO)
    lines = [max(text.splitlines(), key=len, default="") for text in texts if isinstance(text, str)]
    starts = (given.get(name) for name in _BEGINS)
    return [*(line for line in lines if line.strip()), *(n for n in starts if isinstance(n, int))]


def excerpt(text: str, places: Sequence[Place], room: int) -> str:
    """The whole text if it fits; else the lines around each place, the newest first, while they fit."""
    if text_tokens(text) <= room:
        return text
    lines = text.split("\n")
    found = (_line(lines, place) for place in places)
    at = list(dict.fromkeys(place for place in found if place is not None)) or [0]
    wide = (range(max(0, i - _BEFORE), min(len(lines), i + _BEHIND)) for i in at)
    chosen: set[int] = set()
    for number in chain(*wide):
        if number not in chosen:
            room -= text_tokens(lines[number]) + 2
            if room < 0:
                break
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
