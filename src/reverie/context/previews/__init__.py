"""Previews of long texts: the head, or a selection of useful lines. Pure.

A useful preview has the first lines, what stands out in between (failures with their line numbers,
keys of a JSON document, definitions of a source file), and the end. It is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from reverie.context.previews.failures import (
    at_line_end,
    clipped,
    first_bytes,
    from_back,
    from_front,
    readable,
    size,
    split,
    whole,
)
from reverie.context.previews.shapes import Note, Shape, shape_of

Kind: TypeAlias = Literal["useful", "head"]

MOST_BYTES = 2_500
HEAD_BYTES = 2_000
LINE_BYTES = 300

_LONGEST_LINE = 400
_FEW_LINES = 3
# Reserved for the sentences between the parts.
_GLUE = 240


def preview(text: str, kind: Kind = "useful") -> str:
    """Return a preview of at most 2,500 bytes."""
    return _head(text) if kind == "head" else _useful(text)


def outline_line(text: str) -> str:
    """One line of at most 300 bytes: the length of the text and its most informative line."""
    lines = split(text)
    about = " ".join(readable(shape_of(text, lines).about).split())
    return clipped(f"{counted(len(lines))}; {about}", LINE_BYTES)


def counted(lines: int) -> str:
    return f"{lines:,} line" if lines == 1 else f"{lines:,} lines"


def _head(text: str) -> str:
    start = first_bytes(whole(text), HEAD_BYTES)
    return start if len(start) == len(text) else at_line_end(start)


def _useful(text: str) -> str:
    lines = split(text)
    if size(text) <= MOST_BYTES:
        return "\n".join(map(readable, lines))
    shape = shape_of(text, lines)
    few = len(lines) <= _FEW_LINES
    head = _taken(from_front, lines, _front(shape), few=few)
    tail = _taken(from_back, lines[len(head) :], shape.tail, few=few)
    omitted = range(len(head) + 1, len(lines) - len(tail) + 1)
    room = MOST_BYTES - _GLUE - sum(size(line) + 1 for line in (*head, *tail))
    middle = _middle(shape.notes, omitted, room)
    return "\n".join([*head, *_gap(len(omitted), shape, middle), *tail])


def _front(shape: Shape) -> float:
    """The share of the first lines, which also get the room of an empty middle."""
    return shape.head if shape.notes else 1 - shape.tail


def _taken(
    take: Callable[[Sequence[str], int, int], list[str]],
    lines: Sequence[str],
    share: float,
    *,
    few: bool,
) -> list[str]:
    room = int(HEAD_BYTES * share)
    return take(lines, room, room - 1 if few else min(room - 1, _LONGEST_LINE))


def _middle(notes: Sequence[Note], omitted: range, room: int) -> list[str]:
    """As many notes as fit, chosen by importance and shown in the order of the text."""
    chosen: list[tuple[int, str]] = []
    for note in notes:
        if note.numbered and note.place not in omitted:
            continue
        text = f"  {note.place}: {note.text}" if note.numbered else f"  {note.text}"
        room -= size(text) + 1
        if room < 0:
            break
        chosen.append((note.place, text))
    return [text for _, text in sorted(chosen)]


def _gap(omitted: int, shape: Shape, middle: Sequence[str]) -> list[str]:
    """The text between the first and the last lines."""
    note = f"… {counted(omitted)} omitted" if omitted else "…"
    if middle:
        return [f"{note}; {shape.lead}:", *middle, "…"]
    return [f"{note} …"] if omitted else []
