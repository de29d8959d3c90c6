"""What an edit did, in few lines."""

from __future__ import annotations

import difflib

_MOST_LINES = 60
# Beyond this, comparing takes longer than anybody would read.
_MOST_COMPARED = 2_000
_CONTEXT = 2


def compact_diff(before: str, after: str) -> str:
    """The changed lines with two around them; a long one ends with how much is left out."""
    old, new = before.split("\n"), after.split("\n")
    start, end = _unchanged_ends(old, new)
    first = max(0, start - _CONTEXT)
    kept = max(0, end - _CONTEXT)
    old, new = old[first : len(old) - kept], new[first : len(new) - kept]
    if max(len(old), len(new)) > _MOST_COMPARED:
        return f"[from line {start + 1:,}: {len(old):,} lines became {len(new):,}]"
    lines = _changes(old, new, first)
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], *([f"[{more:,} more lines]"] if more > 0 else [])])


def _changes(old: list[str], new: list[str], first: int) -> list[str]:
    lines: list[str] = []
    compared = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in compared.get_grouped_opcodes(_CONTEXT):
        lines.append(f"@@ line {first + group[0][3] + 1} @@")
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                lines += [f" {line}" for line in new[new_from:new_to]]
            else:
                lines += [f"-{line}" for line in old[old_from:old_to]]
                lines += [f"+{line}" for line in new[new_from:new_to]]
    return lines


def _unchanged_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are the same at the start, and at the end."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    most -= start
    end = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    return start, end
