"""How to get from what a file became back to what it was, without a copy of the rest of it.

A client's file may hold keys and tokens: only what an edit took away is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from hashlib import sha256

from reverie.surfaces.install.json_text import Splice, spliced

# Members, wherever lines break: a file may be written in a single one.
_PIECE = re.compile(r"[^,\n]+[,\n]?|[,\n]")


def digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def way_back(before: str, after: str) -> tuple[Splice, ...]:
    """Splices that make `before` of `after`."""
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    old_pieces, new_pieces = _PIECE.findall(old), _PIECE.findall(new)
    matcher = SequenceMatcher(None, new_pieces, old_pieces, autojunk=False)
    offsets = [start]
    for piece in new_pieces:
        offsets.append(offsets[-1] + len(piece))
    return tuple(
        _trimmed(after, Splice(offsets[i1], offsets[i2], "".join(old_pieces[j1:j2])))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


def taken_back(after: str, splices: Iterable[Splice]) -> str:
    return spliced(after, splices)


def _trimmed(after: str, splice: Splice) -> Splice:
    """Without what both sides share at their ends."""
    there, put = after[splice.start : splice.end], splice.text
    head = _common(there, put)
    tail = _common(there[head:][::-1], put[head:][::-1])
    return Splice(splice.start + head, splice.end - tail, put[head : len(put) - tail])


def _common(one: str, other: str) -> int:
    """How many characters two texts share at their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
