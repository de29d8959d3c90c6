"""Long texts in pieces that one search result can stand for: whole paragraphs, where they fit."""

from __future__ import annotations

import re

LARGEST = 1_600

_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_TO_NEXT = re.compile(r"[ \n]*")


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
    for found in _PARAGRAPH.split(text):
        paragraph = found.strip("\n")
        start, end = 0, len(paragraph)
        while end - start > largest:
            most = start + largest
            cut = max(paragraph.rfind("\n", start, most), paragraph.rfind(" ", start, most))
            cut = cut if cut > start + largest // 2 else most
            blocks.append(paragraph[start:cut])
            start = _TO_NEXT.match(paragraph, cut).end()  # type: ignore[union-attr]
        if paragraph[start:].strip():
            blocks.append(paragraph[start:])
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
