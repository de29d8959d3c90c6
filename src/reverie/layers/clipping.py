"""Cutting texts to size: the longest give first, and what is cut says so. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.tokens import TEXT_BYTES_PER_TOKEN, text_tokens

# Of a text that is cut, this share of the room goes to its beginning, the rest to its end.
_HEAD_SHARE = 2 / 3


def level(sizes: Sequence[int], room: int) -> int:
    """The cap at which all sizes together fit the room: the small stay whole, the large share."""
    left = max(room, 0)
    ordered = sorted(sizes)
    for done, size in enumerate(ordered):
        share = left // (len(ordered) - done)
        if size > share:
            return share
        left -= size
    return ordered[-1] if ordered else 0


def clipped(text: str, tokens: int, whole: str = "") -> str:
    """The text in at most so many tokens: both its ends, and between them what is missing.

    `whole` says where all of it can be read.
    """
    if text_tokens(text) <= tokens:
        return text
    data = text.encode("utf-8", "surrogatepass")
    where = f"; {whole}" if whole else ""
    note = f"\n[… {len(data):,} bytes in all, the middle is left out{where} …]\n"
    room = max(tokens, 0) * TEXT_BYTES_PER_TOKEN - len(note.encode("utf-8", "surrogatepass"))
    if room < len(note):
        return _decoded(data[: max(tokens, 0) * TEXT_BYTES_PER_TOKEN])
    head = int(room * _HEAD_SHARE)
    return _decoded(data[:head]) + note + _decoded(data[len(data) - (room - head) :])


def _decoded(data: bytes) -> str:
    """Whole characters only: those the cut went through are dropped."""
    return data.decode("utf-8", "ignore")
