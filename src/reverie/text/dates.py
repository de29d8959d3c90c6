"""Makes relative dates absolute before a memory is written: "next Thursday" → 2026-11-19."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.text.date_cues import Place, Sentences
from reverie.text.date_languages import rules_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date


@dataclass(frozen=True, slots=True)
class DateChange:
    """One replaced phrase, and its position in the original text."""

    before: str
    after: str
    start: int


# Code, quotations, addresses and file names stay unchanged. No bracket may contain its own opening,
# so that a text of nothing but openings is not searched again from each of them.
PROTECTED = re.compile(
    r"^[ \t]*(?P<fence>```|~~~).*?(?:^[ \t]*(?P=fence)|\Z)"
    r"|`[^`\n]+`|^[ \t]*>[^\n]*|(?<!\S)\S*(?:/|www\.)\S*"
    r"|\[\[[^\[\]\n]{0,200}\]\]|\]\([^()\n]{0,400}\)"
    r"|\"[^\"\n]{1,999}\"|“[^“”\n]{1,999}”|„[^„“”\n]{1,999}[“”]|«[^«»\n]{1,999}»"
    r"|(?<!\w)['‘][^'‘’\n]{1,400}['’](?!\w)"
    r"|(?<!\S)\S+\.(?:md|py|txt|json)\b",
    re.MULTILINE | re.DOTALL,
)
_DATED_AFTER = re.compile(r",? ?\(?\s*\d{4}-\d{2}")
_DATED_BEFORE = re.compile(r"\d{4}-\d{2}-\d{2}[ ,(]{1,3}$")


def absolute_dates(text: str, today: date) -> tuple[str, tuple[DateChange, ...]]:
    """Resolve every phrase that depends on today; returns the text and the changes."""
    protected = [found.span() for found in PROTECTED.finditer(text)]
    starts = [start for start, _ in protected]
    changes: list[DateChange] = []
    out: list[str] = []
    done = 0
    for change in sorted(_found(text, today), key=lambda c: (c.start, -len(c.before))):
        end = change.start + len(change.before)
        last = bisect_left(starts, end) - 1
        if change.start < done or (last >= 0 and protected[last][1] > change.start):
            continue
        out += text[done : change.start], change.after
        changes.append(change)
        done = end
    return "".join((*out, text[done:])), tuple(changes)


def _found(text: str, today: date) -> Iterator[DateChange]:
    rules, cues = rules_for(text)
    sentences = Sentences(text, cues)
    for pattern, resolve in rules:
        for match in pattern.finditer(text):
            if _DATED_AFTER.match(text, match.end()):
                continue
            if _DATED_BEFORE.search(text, max(0, match.start() - 13), match.start()):
                continue
            try:
                resolved = resolve(Place(match, today, sentences))
            except (OverflowError, ValueError):
                # "in 999 years" may be beyond the last valid date.
                continue
            if resolved is not None:
                yield DateChange(match[0], _capital(match[0], resolved), match.start())


def _capital(before: str, after: str) -> str:
    return after[0].upper() + after[1:] if before[0].isupper() and after[0].isalpha() else after
