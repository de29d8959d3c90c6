"""Excerpts of files in work: the places that were read or changed last, as they are on disk. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import TypeAlias

from reverie.context.facts.calls import action_of
from reverie.core.messages import Attachment, Message, ToolUse
from reverie.core.window import text_tokens

# A line number, or a line that stands at the place.
Place: TypeAlias = int | str

_CHANGED_TO = ("new_string", "newText", "new_str", "content")
_BEGINS = ("offset",)
LABEL = "file"
LEAD = ", as it is on disk now:\n"
_RUN = re.compile(r"^\[… from line (\d+) of \d+\]$", re.MULTILINE)
# Lines around a place that are shown with it: a few for every place first, more while there is room.
_NEAR, _WIDE = (4, 10), (15, 45)
# A name that stands in more lines than this does not tell a place.
_RARE = 4
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_IS_CODE = re.compile(r"_[a-zA-Z]|[a-z][A-Z]|[A-Za-z]\d|[A-Z]{2,}[a-z]")

# How likely a file is edited again right after it was touched, and after how many calls half as
# likely, by whether it was changed and whether it was named lately.
_ODDS = {
    (False, False): (0.2, 4),
    (False, True): (0.42, 6),
    (True, False): (0.6, 6),
    (True, True): (0.55, 15),
}
# A file that was asked for and is not changed yet is so likely for so many calls.
_WAITING, _ASKED_FOR = 0.25, 32


@dataclass(frozen=True, slots=True)
class WorkedOn:
    """A file, whether it was changed, how long ago it was last touched, and where, newest first.

    `changed` is also true for files that an earlier compaction showed, `edited` only for those that a
    call here changed.
    """

    path: str
    changed: bool
    calls_ago: int
    places: tuple[Place, ...]
    edited: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def likelihood(self, *, named: bool, asked_for: bool = False) -> float:
        """How likely it is edited within the next fifteen calls, roughly as it was in real sessions.

        Three in five files that were just changed are changed again, and one in five that was just
        read; two in five where it was named as well, which lasts longer. A file that the person's
        request names stays likely for a while until it is changed.
        """
        first, half_after = _ODDS[self.changed, named]
        found = first / (1 + self.calls_ago / half_after)
        waits = asked_for and not self.edited and self.calls_ago < _ASKED_FOR
        return max(found, _WAITING) if waits else found


def worked_on(messages: Iterable[Message]) -> list[WorkedOn]:
    """The files of these messages, the last touched first; those an earlier compaction showed, too."""
    found: dict[str, WorkedOn] = {}
    calls = 0
    response: str | None = None
    for message in reversed(tuple(messages)):
        edited = {path for use in message.tool_uses if (path := _edited(use))}
        for path, changed, places in _touched(message):
            known = found.get(path) or WorkedOn(path, changed=False, calls_ago=calls, places=())
            found[path] = replace(
                known,
                changed=known.changed or changed,
                places=(*known.places, *places),
                edited=known.edited or path in edited,
            )
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


def _edited(use: ToolUse) -> str:
    action = action_of(use)
    return action.target if action.kind in ("edit", "write") else ""


def spoken_names(texts: Iterable[str]) -> tuple[str, ...]:
    """The names of code in these texts, in their order."""
    found = (name for text in texts for name in _NAME.findall(text))
    return tuple(dict.fromkeys(name for name in found if _IS_CODE.search(name)))


def attached(
    path: str, text: str, places: Sequence[Place], room: int, names: Sequence[str] = ()
) -> Attachment:
    """The file as an attachment."""
    return Attachment(LABEL, f"{path}{LEAD}{excerpt(text, places, room, names)}")


def _places(use: ToolUse) -> list[Place]:
    given = use.input
    texts = (given.get(name) for name in _CHANGED_TO)
    lines = [max(text.splitlines(), key=len, default="") for text in texts if isinstance(text, str)]
    starts = (given.get(name) for name in _BEGINS)
    return [*(line for line in lines if line.strip()), *(n for n in starts if isinstance(n, int))]


def excerpt(text: str, places: Sequence[Place], room: int, names: Sequence[str] = ()) -> str:
    """The whole text if it fits; else the lines around each place, the newest first, while they fit.

    `names` were spoken of lately: what is about to be changed stands near them.
    """
    if text_tokens(text) <= room:
        return text
    lines = text.split("\n")
    found = (_line(lines, place) for place in places)
    known = [place for place in found if place is not None]
    at = list(dict.fromkeys(_alternating(known, _spoken_of(lines, names)))) or [0]
    chosen: set[int] = set()
    for before, behind in (_NEAR, _WIDE):
        for number in chain(*(range(i - before, i + behind) for i in at)):
            if 0 <= number < len(lines) and number not in chosen:
                room -= text_tokens(lines[number]) + 2
                if room < 0:
                    return _rendered(lines, chosen)
                chosen.add(number)
    return _rendered(lines, chosen)


def _alternating(one: Sequence[int], other: Sequence[int]) -> Iterator[int]:
    for pair in zip_longest(one, other):
        yield from (place for place in pair if place is not None)


def _spoken_of(lines: Sequence[str], names: Sequence[str]) -> list[int]:
    """The lines that hold a name, if few lines do; in the order of the names."""
    if not names:
        return []
    at: dict[str, list[int]] = {name: [] for name in names}
    for number, line in enumerate(lines):
        for name in set(_NAME.findall(line)) & at.keys():
            at[name].append(number)
    return [number for name in names if len(at[name]) <= _RARE for number in at[name]]


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
