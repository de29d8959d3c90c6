"""A person's words taken apart into sentences. Pure."""

from __future__ import annotations

import re

LONGEST_SENTENCE = 400

_END = re.compile(r"(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\bz\.B\.)[ \t]+")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
# What people say before they come to the point.
_OPENING = re.compile(
    r"^(?:(?:(?:ok(?:ay)?|oh|ah|hey|hi|also|and|so|but|btw|by the way|fyi|heads[- ]up|one more thing|übrigens"
    r"|und|ach|au fait|et|por cierto|y)\b[,:;!–—-]*|(?:thanks|thank you|great|good|cool|well|right|sorry|no|yes"
    r"|nein|ja|non|oui|sí|perfect)[,:;!–—-]+)\s+)+",
    re.I,
)


def sentences(text: str) -> tuple[str, ...]:
    """Every sentence, in order, without bullets and surplus blanks."""
    lines = (_BULLET.sub("", line) for line in text.split("\n"))
    pieces = (" ".join(piece.split()) for line in lines for piece in _END.split(line))
    return tuple(piece for piece in pieces if piece)


def to_the_point(sentence: str) -> str:
    """The sentence without its opening: "Oh, by the way, …"."""
    return _OPENING.sub("", sentence)
