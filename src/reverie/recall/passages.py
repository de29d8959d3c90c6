"""Long texts in pieces that one search result can stand for: whole paragraphs, where they fit."""

from __future__ import annotations

import re

LARGEST = 1_600

_PARAGRAPH = re.compile(r"\n[ \t]*\n")


def split(text: str, largest: int = LARGEST) -> list[str]:
    """Consecutive pieces of at most `largest` characters, cut between paragraphs, lines or words."""
    if len(text) <= largest:
        return [text]
    pieces: list[str] = []
    current = ""
    for block in _blocks(text, largest):
        if current and len(current) + len(block) + 2 > largest:
            pieces.append(current)
            current = block
        else:
            current = f"{current}\n\n{block}" if current else block
    return [*pieces, current] if current.strip() or not pieces else pieces


def _blocks(text: str, largest: int) -> list[str]:
    blocks: list[str] = []
    for paragraph in _PARAGRAPH.split(text):
        rest = paragraph.strip("\n")
        while len(rest) > largest:
            cut = max(rest.rfind("\n", 0, largest), rest.rfind(" ", 0, largest))
            cut = cut if cut > largest // 2 else largest
            blocks.append(rest[:cut])
            rest = rest[cut:].lstrip(" \n")
        if rest.strip():
            blocks.append(rest)
    return blocks


def snippet(text: str, wanted: set[str], width: int = 160) -> str:
    """The part of a text around the first wanted word, on one line."""
    line = " ".join(text.split())
    if len(line) <= width:
        return line
    low = line.lower()
    places = [place for place in (low.find(word) for word in wanted) if place >= 0]
    start = max(0, min(places, default=0) - width // 4)
    start = line.rfind(" ", 0, start) + 1 if start else 0
    end = start + width
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
