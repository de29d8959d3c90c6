"""The session notes as a summary, cut to the room there is."""

from __future__ import annotations

from reverie.core.tokens import text_tokens
from reverie.layers.clipping import clipped, level


def cut_sections(text: str, room: int, path: str = "") -> str:
    """The notes in at most `room` tokens: the longest sections are cut, with the way to the rest."""
    sections = _sections(text.strip("\n"))
    lengths = [text_tokens(section) + 1 for section in sections]
    cap = level(lengths, room) - 1
    whole = f"the whole notes are in {path}" if path else ""
    return "\n".join(clipped(section, cap, whole) for section in sections)


def _sections(text: str) -> list[str]:
    """Each heading with what stands under it."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.startswith("# ") and found[-1]:
            found.append([])
        found[-1].append(line)
    return ["\n".join(lines) for lines in found]
