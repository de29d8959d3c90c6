"""Lines as a reader should see them, and as many of them as fit. Pure.

Output of tools holds colour codes, progress bars and bytes that are no text. A line is made
readable only when it is shown, so that long texts cost little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]"
)
# Control characters but the tab, and the halves of characters that torn input leaves behind.
_UNREADABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TORN = re.compile("[\ud800-\udfff]")
_LOST = "\ufffd"


def split(text: str) -> list[str]:
    """The lines of a text, numbered as editors do: only a newline ends a line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def readable(line: str) -> str:
    """One line without colours; of a line that was printed over itself, what was left at last."""
    if line.isprintable():
        return line
    line = _ESCAPE.sub("", line).rstrip("\r")
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    return _UNREADABLE.sub(_LOST, line)


def whole(text: str) -> str:
    """A text any provider can decode."""
    return _TORN.sub(_LOST, text)


def size(text: str) -> int:
    """Bytes on the wire."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def first_bytes(text: str, most: int) -> str:
    """As many whole characters from the front as fit."""
    if size(text) <= most:
        return text
    return text[:most].encode("utf-8", "surrogatepass")[: max(0, most)].decode("utf-8", "ignore")


def last_bytes(text: str, most: int) -> str:
    """As many whole characters from the end as fit."""
    if most <= 0:
        return ""
    if size(text) <= most:
        return text
    return text[-most:].encode("utf-8", "surrogatepass")[-most:].decode("utf-8", "ignore")


def at_line_end(start: str) -> str:
    """A beginning that was cut anywhere, cut at its last line instead, unless that loses much."""
    end = start.rfind("\n")
    return start[:end] if end > len(start) // 2 else start


def clipped(text: str, most: int) -> str:
    """One long line, cut inside: its beginning says what it is, its end how it went."""
    if size(text) <= most:
        return text
    note = f" … [{len(text):,} characters] … "
    room = most - size(note)
    if room < 24:
        return first_bytes(text, max(0, most - size("…"))) + "…"
    end = room // 4
    return first_bytes(text, room - end) + note + last_bytes(text, end)


def from_front(lines: Sequence[str], room: int, longest: int) -> list[str]:
    """Readable lines from the front, whole or clipped, as many as fit."""
    return _fitting(lines, room, longest)


def from_back(lines: Sequence[str], room: int, longest: int) -> list[str]:
    """Readable lines from the end, in their order."""
    return _fitting(reversed(lines), room, longest)[::-1]


def _fitting(lines: Iterable[str], room: int, longest: int) -> list[str]:
    taken: list[str] = []
    for line in lines:
        shown = clipped(readable(line), longest)
        room -= size(shown) + 1
        if room < 0:
            break
        taken.append(shown)
    return taken
