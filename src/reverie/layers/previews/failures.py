"""The lines of an output that say what went wrong, in the words of many tools. Pure.

Lines that may tell something are found by plain words, which is fast; only those are judged. Lines
of the same shape (other numbers, other addresses) count as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from reverie.layers.previews.lines import readable, split

# Judged at most: as many from the front as from the end.
_MOST_JUDGED = 4_000
_LONGEST_JUDGED = 600

_WORDS = (
    *("error", "err!", "fail", "exception", "traceback", "panic", "fatal", "assert", "warn"),
    *("denied", "refused", "rejected", "not found", "no such", "not ok", "cannot", "can't"),
    *("could not", "couldn't", "unable to", "undefined", "unresolved", "unexpected", "invalid"),
    *("missing", "mismatch", "timed out", "timeout", "killed", "aborted", "segmentation"),
    *("critical", "severe", "conflict", "exit code", "exit status", "exited with", "caused by"),
    *("expected", "received", "✕", "✗", "✘", "❌", "***"),
)

# What is said of things that went well.
_GOOD = re.compile(
    r"\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+)?"
    r"(?:errors?|failures?|failed|failing|warnings?|exceptions?|problems?|issues?|conflicts?)\b"
    r"|\b(?:errors?|failures?|failed|warnings?|exceptions?|conflicts?)\s*[:=]\s*(?:0|none|null)\b"
    r"|\bfail(?:ed|ures?)?=0\b|\bexit(?:ed with)? (?:code|status):? 0\b",
    re.IGNORECASE,
)
_PASSED = re.compile(r"^\s*(?:ok\b|PASS\b|--- PASS|✓|✔|√|✅)|\bPASSED\b|\.\.\. ok\s*$")

# From the most telling to the least.
_GRADES: tuple[tuple[int, re.Pattern[str]], ...] = (
    (
        5,
        re.compile(
            r"^E\s{2,}\S|^\s*--- FAIL: |^FAILED \S"
            r"|(?<![\w.(])(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Failure|Fault)(?::|\s*$)"
            r"|\b[Ee]rror(?:\[\w+\]|\s+[A-Z]{1,6}\d+)?:\s"
            r"|\bpanic:|\bpanicked at\b|\b(?:fatal|FATAL)(?: error)?[: ]"
            r"|\bnpm ERR!|^\s*ERROR\b|\b(?:CRITICAL|SEVERE)\b|\blevel=(?:error|fatal)\b"
            r"|[Ss]egmentation fault|core dumped|undefined reference to|[Oo]ut of memory"
            r"|command not found|No such file or directory|[Pp]ermission denied"
            r"|[Cc]onnection refused|^CONFLICT\b|\bAssertion\b.*\bfailed\b"
        ),
    ),
    (
        4,
        re.compile(
            r"\bFAIL(?:ED|URE|URES)?\b|^\s*(?:✕|✗|✘|❌)|\bnot ok\b"
            r"|\b[1-9]\d*\s+(?:\w+\s+)?(?:fail(?:ed|ures?|ing)|errors?)\b"
            r"|\b(?:fail(?:ed|ures?)|errors?)[:=]\s*[1-9]"
            r"|^make(?:\[\d+\])?: \*\*\*|\bexit(?:ed with)? (?:code|status):? [1-9]"
            r"|\bexpected\b.*\b(?:got|but|received|actual|found)\b"
            r"|\[ERROR\]|\bERROR\b|\b[Tt]imed out\b|\bKilled\b|\b[Cc]aused by\b"
        ),
    ),
    (
        3,
        re.compile(
            r"Traceback \(most recent call last\)|\b(?:cannot|can't|could not|couldn't|unable to)\b"
            r"|\b(?:not found|undefined|unresolved|denied|refused|rejected|mismatch)\b"
            r"|\b(?:failed|failure|exception|aborted)\b|\bassert\b|^\s*(?:expected|received):",
            re.IGNORECASE,
        ),
    ),
    (2, re.compile(r"\berrors?\b|\b(?:invalid|unexpected|missing)\b", re.IGNORECASE)),
    (1, re.compile(r"\bwarn(?:ing)?s?\b", re.IGNORECASE)),
)
CAUSE = 5
CERTAIN = 4
LIKELY = 3

# A message in quotes is code that would say so, not a tool that says so.
_QUOTED = re.compile(r"\w\([frbu]?[\"'`]")
# A bare "FAIL" tells less than the name of what failed.
_SAYS_SOMETHING = 8

_VARYING = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{7,40}\b|\d+")


@dataclass(frozen=True, slots=True)
class Telling:
    """A line that says what went wrong; `grade` is how clearly, `count` how often it was said."""

    number: int
    text: str
    grade: int
    count: int = 1


def telling_lines(text: str) -> list[Telling]:
    """What went wrong, each thing once, in the order in which it was said first."""
    found: dict[str, Telling] = {}
    for number, line in _suspects(text):
        shown = readable(line).strip()
        grade = _grade(shown[:_LONGEST_JUDGED])
        if not grade:
            continue
        shape = _VARYING.sub("#", shown)
        first = found.get(shape)
        found[shape] = (
            replace(first, count=first.count + 1) if first else Telling(number, shown, grade)
        )
    return list(found.values())


def most_telling(lines: list[Telling]) -> list[Telling]:
    """The clearest first; among equals the first, then the last, then the others in order.

    The first error of a build explains the others; the last of a traceback is the one that got out.
    """
    best: list[Telling] = []
    for grade in range(CAUSE, 0, -1):
        equal = [line for line in lines if line.grade == grade]
        best += [*equal[:1], *equal[-1:], *equal[1:-1]] if len(equal) > 1 else equal
    return best


def _grade(line: str) -> int:
    if _PASSED.search(line):
        return 0
    blamed = _GOOD.sub("", line)
    quote = _QUOTED.search(blamed)
    for grade, pattern in _GRADES:
        found = pattern.search(blamed)
        if found is not None:
            quoted = quote is not None and found.start() > quote.start()
            vague = len(line) < _SAYS_SOMETHING
            return 1 if quoted else min(grade, LIKELY) if vague else grade
    return 0


def _suspects(text: str) -> Iterator[tuple[int, str]]:
    """Numbers and lines that hold one of the words, in order."""
    lowered = text.lower()
    places = sorted(_line_starts(lowered))
    if len(places) > _MOST_JUDGED:
        places = places[: _MOST_JUDGED // 2] + places[-_MOST_JUDGED // 2 :]
    # Lower case may be longer than the text it was made of, but it has the same lines.
    lines = split(text) if len(lowered) != len(text) else None
    number, counted = 1, 0
    for start in places:
        number += lowered.count("\n", counted, start)
        counted = start
        end = lowered.find("\n", start)
        yield number, lines[number - 1] if lines else text[start : end if end >= 0 else None]


def _line_starts(lowered: str) -> set[int]:
    found = set()
    for word in _WORDS:
        at = lowered.find(word)
        while at >= 0:
            found.add(lowered.rfind("\n", 0, at) + 1)
            end = lowered.find("\n", at)
            at = lowered.find(word, end) if end >= 0 else -1
    return found
