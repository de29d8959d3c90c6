"""Readable lines of tool output, cut to a size, and the lines that report failures. Pure.

Tool output contains colour codes, progress bars and binary bytes. A line is cleaned only when it is
shown, so that long texts cost little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]"
)
# Control characters except the tab, and lone surrogates from cut input.
_UNREADABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TORN = re.compile("[\ud800-\udfff]")
_LOST = "\ufffd"


def split(text: str) -> list[str]:
    """The lines of a text as editors number them: only a newline ends a line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def readable(line: str) -> str:
    """One line without colours; if carriage returns overwrote it, the final text."""
    if line.isprintable():
        return line
    line = _ESCAPE.sub("", line).rstrip("\r")
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    return _UNREADABLE.sub(_LOST, line)


def whole(text: str) -> str:
    """The text without lone surrogates, so that any provider can decode it."""
    return _TORN.sub(_LOST, text)


def size(text: str) -> int:
    """The size in bytes when sent."""
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
    """Cut a beginning back to the end of its last whole line, unless that loses much."""
    end = start.rfind("\n")
    return start[:end] if end > len(start) // 2 else start


def clipped(text: str, most: int) -> str:
    """Cut one long line in the middle; beginning and end stay."""
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


# At most this many candidates are graded, half from the front and half from the end.
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

# Phrases that report success.
_GOOD = re.compile(
    r"\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+)?"
    r"(?:errors?|failures?|failed|failing|warnings?|exceptions?|problems?|issues?|conflicts?)\b"
    r"|\b(?:errors?|failures?|failed|warnings?|exceptions?|conflicts?)\s*[:=]\s*(?:0|none|null)\b"
    r"|\bfail(?:ed|ures?)?=0\b|\bexit(?:ed with)? (?:code|status):? 0\b",
    re.IGNORECASE,
)
_PASSED = re.compile(r"^\s*(?:ok\b|PASS\b|--- PASS|✓|✔|√|✅)|\bPASSED\b|\.\.\. ok\s*$")

# From the clearest to the vaguest.
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

# A quoted message is source code, not output of a tool.
_QUOTED = re.compile(r"\w\([frbu]?[\"'`]")
# A bare "FAIL" is less informative than the name of what failed.
_SAYS_SOMETHING = 8

_VARYING = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{7,40}\b|\d+")


@dataclass(frozen=True, slots=True)
class FailureLine:
    """A line that reports a failure; `grade` is its clarity, `count` how often it occurs."""

    number: int
    text: str
    grade: int
    count: int = 1


def failure_lines(text: str) -> list[FailureLine]:
    """The lines that report failures, each once, in the order of their first occurrence."""
    found: dict[str, FailureLine] = {}
    for number, line in _suspects(text):
        shown = readable(line).strip()
        grade = _grade(shown[:_LONGEST_JUDGED])
        if not grade:
            continue
        shape = _VARYING.sub("#", shown)
        first = found.get(shape)
        found[shape] = (
            replace(first, count=first.count + 1) if first else FailureLine(number, shown, grade)
        )
    return list(found.values())


def clearest_first(lines: list[FailureLine]) -> list[FailureLine]:
    """Sort the clearest first; among equals the first, then the last, then the others in order.

    The first error of a build causes the others; the last line of a traceback is the final error.
    """
    best: list[FailureLine] = []
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
    """The lines that contain one of the words, with their numbers."""
    lowered = text.lower()
    places = sorted(_line_starts(lowered))
    if len(places) > _MOST_JUDGED:
        places = places[: _MOST_JUDGED // 2] + places[-_MOST_JUDGED // 2 :]
    # Lower-casing can change the length of a text, but not its number of lines.
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
