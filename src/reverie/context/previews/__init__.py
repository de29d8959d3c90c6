"""Previews of long texts: the head, or a selection of useful lines. Pure.

A useful preview has the first lines, notable lines in between (failures with their line numbers,
keys of a JSON document, definitions of a source file), and the end. It is deterministic.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Literal, TypeAlias

from reverie.context.previews.failures import (
    CERTAIN,
    LIKELY,
    FailureLine,
    at_line_end,
    clearest_first,
    clipped,
    failure_lines,
    first_bytes,
    from_back,
    from_front,
    readable,
    size,
    split,
    whole,
)

# How much of a text is examined to recognise its kind.
_SAMPLE = 200
_LINE = 160


@dataclass(frozen=True, slots=True)
class Note:
    """A line about the text; `place` is its line number or, if not `numbered`, its rank."""

    text: str
    place: int
    numbered: bool = True


@dataclass(frozen=True, slots=True)
class Shape:
    """The kind of a text and how to preview it.

    `about` describes it in one line. `notes` show its middle, most important first, and `lead`
    introduces them. `head` and `tail` are the shares of a preview for the first and last lines.
    """

    about: str
    notes: tuple[Note, ...] = ()
    lead: str = "among them"
    head: float = 0.22
    tail: float = 0.3


def shape_of(text: str, lines: Sequence[str]) -> Shape:
    """Return the first kind that fits; source or listings that end in failure count as a log."""
    binary = _binary(text)
    if binary is not None:
        return binary
    document = json_document(text)
    if document is not None:
        return _json(document[0])
    sample = [readable(line) for line in lines[:_SAMPLE]]
    for recognise in (_source, _listing):
        found = recognise(sample, lines)
        if found is not None:
            return found
    return _log(text, sample, lines)


# ── bytes that are no text ───────────────────────────────────────────────────

_STRANGE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd\ud800-\udfff]")


def _binary(text: str) -> Shape | None:
    start = text[:2_000]
    strange = len(_STRANGE.findall(start))
    if strange * 10 < len(start) or not strange:
        return None
    about = f"not text ({strange * 100 // len(start)} % of its beginning cannot be read)"
    return Shape(about, (Note(about, 0, numbered=False),), "this is", head=0.2, tail=0)


# ── JSON ─────────────────────────────────────────────────────────────────────

_DEEPEST = 3
_MOST_KEYS = 40
_TOLD_KEYS = ("error", "errors", "message", "detail", "reason", "status")


def json_document(text: str) -> tuple[Any] | None:
    """The parsed value in a tuple, if the text is one JSON object or array; otherwise None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> Shape:
    outline = list(enumerate(_outline(value)))
    # When not everything fits, outer keys come first.
    ranked = sorted(outline, key=lambda item: item[1][0])
    notes = tuple(Note("  " * depth + text, i, numbered=False) for i, (depth, text) in ranked)
    return Shape(_json_about(value), notes, _json_about(value), head=0.2, tail=0)


def _json_about(value: Any) -> str:
    if isinstance(value, list):
        return f"JSON array of {len(value):,}"
    keys = listed([readable(str(key)) for key in value], 120)
    parts = [f"{key}: {_brief(value[key], 100)}" for key in _TOLD_KEYS if value.get(key)]
    return "; ".join([f"JSON object with {keys or 'no keys'}", *parts[:1]])


def _outline(value: Any, depth: int = 0) -> Iterator[tuple[int, str]]:
    """Keys with their values in brief and their depth; of an array only the first item."""
    if depth == _DEEPEST:
        return
    if isinstance(value, list) and value:
        yield depth, f"[0]: {_brief(value[0])}"
        yield from _outline(value[0], depth + 1)
    if isinstance(value, dict):
        for key, inner in islice(value.items(), _MOST_KEYS):
            yield depth, f"{clipped(readable(str(key)), 60)}: {_brief(inner)}"
            yield from _outline(inner, depth + 1)
        if len(value) > _MOST_KEYS:
            yield depth, f"… {len(value) - _MOST_KEYS:,} more keys"


def _brief(value: Any, most: int = 80) -> str:
    if isinstance(value, dict):
        return f"object with {len(value):,} keys"
    if isinstance(value, list):
        return f"array of {len(value):,}"
    return clipped(readable(json.dumps(value, ensure_ascii=False)), most)


# ── source text ──────────────────────────────────────────────────────────────

_NUMBERED = re.compile(r"^(?P<file>)\s*(?P<line>\d{1,9})(?:→|\t|[:|-](?!\d))")
_DEFINITION = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|open|"
    r"override|unsafe|extern|const|pub(?:\([^)]*\))?)\s+)*"
    r"(?:def|class|func|function|fn|struct|enum|trait|impl|interface|type|module|namespace|"
    r"record|object|protocol|extension|message|service|macro_rules!)\s+"
    r"(?:\([^)]*\)\s*)?(?:<[^>]*>\s*)?(?P<name>[A-Za-z_$][\w$.:]*)"
    r"|#{1,4}\s+(?P<title>\S.*)"
)
_CHANGED = re.compile(r"diff --git a/(?P<name>\S+)(?P<title>)")
_DIAGNOSTIC = re.compile(r"^\S+:\d+:\d+:? \S")
_CODE_LINE = re.compile(r"[{};)(,:=\]]\s*$|^\s*(?://|#|\*|/\*|\"\"\"|'''|@|<|import |from |use )")


def _source(sample: Sequence[str], lines: Sequence[str]) -> Shape | None:
    filled = [line for line in sample if line.strip()]
    numbered = _share(filled, _NUMBERED.match) > 0.6 and _rising(filled, _NUMBERED)
    if filled and filled[0].startswith("diff --git "):
        changed = _definitions(lines, _CHANGED)
        return _defining("changes to", changed)
    if numbered:
        return _defining("source with", _definitions(lines, _DEFINITION, numbered=True))
    if len(filled) < 8 or _share(filled, _CODE_LINE.search) < 0.5 or _reports(filled, lines):
        return None
    defined = _definitions(lines, _DEFINITION)
    return _defining("source with", defined) if len(defined) >= 3 else None


def _definitions(
    lines: Sequence[str], pattern: re.Pattern[str], *, numbered: bool = False
) -> list[tuple[int, str, Note]]:
    """Depth, name and line of each definition, the outermost first."""
    found = []
    for i, line in enumerate(lines, 1):
        bare = _NUMBERED.sub("", line, count=1) if numbered else line
        match = pattern.match(bare)
        if match:
            name = next(filter(None, match.group("name", "title")))
            note = Note(clipped(readable(bare).strip(), 100), i)
            found.append((len(bare) - len(bare.lstrip()), clipped(readable(name), 60), note))
    return sorted(found, key=lambda item: item[0])


def _defining(what: str, defined: Sequence[tuple[int, str, Note]]) -> Shape:
    names = listed(list(dict.fromkeys(name for _, name, _ in defined)))
    notes = tuple(note for _, _, note in defined)
    about = f"{what} {names}" if names else "source"
    return Shape(about, notes, "these begin there", head=0.35, tail=0.1)


def _reports(sample: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether the text only looks like code because a compiler quotes it."""
    return _share(sample, _DIAGNOSTIC.match) > 0.05 or _ends_badly(lines)


def _ends_badly(lines: Sequence[str]) -> bool:
    return any(line.grade >= CERTAIN for line in failure_lines("\n".join(lines[-40:])))


# ── listings: search hits and paths ──────────────────────────────────────────

_HIT = re.compile(r"^(?P<file>(?:[A-Za-z]:)?[^\s:]*[./][^\s:]*?)[:-](?P<line>\d{1,7})[:-](?!\d+: )")
_PATH = re.compile(r"^(?:\./|/|~/)?[\w.@+-]+(?:/[\w.@+ -]+)*/?$")


def _listing(sample: Sequence[str], lines: Sequence[str]) -> Shape | None:
    filled = [line for line in sample if line.strip()]
    if len(filled) < 5:
        return None
    if _share(filled, _HIT.match) > 0.7 and _rising(filled, _HIT) and not _ends_badly(lines):
        files = Counter(m["file"] for line in lines if (m := _HIT.match(line)))
        return _counted("search hits", "file", files)
    if _share(filled, lambda line: "/" in line and _PATH.match(line)) > 0.8:
        folders = Counter(line.strip().rpartition("/")[0] or "." for line in lines)
        return _counted("paths", "folder", folders)
    return None


def _counted(what: str, by: str, found: Counter[str]) -> Shape:
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    notes = tuple(
        Note(f"{count:,} × {clipped(readable(name), 120)}", i, numbered=False)
        for i, (name, count) in enumerate(ranked)
    )
    about = f"{what} in {listed([readable(name) for name, _ in ranked])}"
    return Shape(about, notes, f"all {what} by {by}", head=0.35, tail=0.1)


def _rising(sample: Sequence[str], pattern: re.Pattern[str]) -> bool:
    """Whether the numbers are line numbers, which rise within a file, unlike times and ports."""
    found = [(m["file"], int(m["line"])) for line in sample if (m := pattern.match(line))]
    steps = [b[1] > a[1] for a, b in pairwise(found) if a[0] == b[0]]
    return sum(steps) >= 0.9 * len(steps)


# ── everything else reads like a log ─────────────────────────────────────────


def _log(text: str, sample: Sequence[str], lines: Sequence[str]) -> Shape:
    found = clearest_first(failure_lines(text))
    notes = tuple(Note(_counted_line(line), line.number) for line in found)
    if found and found[0].grade >= LIKELY:
        return Shape(_clearest(found), notes)
    about = _diagnostic(sample) or _table(sample)
    return Shape(about or _ending(lines), notes, head=0.4 if about else 0.22)


def _diagnostic(sample: Sequence[str]) -> str | None:
    """The first complaint of a compiler or linter."""
    return next((clipped(line, _LINE) for line in sample if _DIAGNOSTIC.match(line)), None)


def _clearest(found: Sequence[FailureLine]) -> str:
    """The clearest line, and a second one if it is as clear."""
    parts = [clipped(found[0].text, _LINE)]
    for line in found[1:]:
        if line.grade < min(found[0].grade, CERTAIN):
            break
        if size(parts[0]) + size(line.text) > _LINE + 90:
            continue
        parts.append(line.text)
        break
    return "; ".join(parts)


def _counted_line(line: FailureLine) -> str:
    times = f" (×{line.count:,})" if line.count > 1 else ""
    return clipped(line.text, _LINE) + times


def _ending(lines: Sequence[str]) -> str:
    last = next((shown for line in reversed(lines) if (shown := readable(line).strip())), "")
    return f"ends with: {clipped(last, _LINE)}" if last else "blank"


def _table(sample: Sequence[str]) -> str | None:
    """The columns of a table, if its lines have as many fields as the first one."""
    filled = [line for line in sample[:20] if line.strip()]
    if len(filled) < 5:
        return None
    for sign, least in (("\t", 1), (",", 2), (";", 2), ("|", 2)):
        pieces = [line.count(sign) for line in filled]
        if pieces[0] >= least and pieces.count(pieces[0]) >= 0.9 * len(pieces):
            names = [name.strip(' "') for name in filled[0].split(sign)]
            return f"table of {listed([name for name in names if name], _LINE)}"
    return None


def _share(lines: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(1 for line in lines if holds(line)) / len(lines) if lines else 0.0


def listed(names: Sequence[str], room: int = 180) -> str:
    """As many whole names as fit, and the number of the others."""
    shown: list[str] = []
    for name in names:
        room -= size(name) + 2
        if room < 0 and shown:
            break
        shown.append(clipped(name, _LINE))
    more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
    return ", ".join(shown) + more


Kind: TypeAlias = Literal["useful", "head"]

MOST_BYTES = 2_500
HEAD_BYTES = 2_000
LINE_BYTES = 300

_LONGEST_LINE = 400
_FEW_LINES = 3
# Reserved for the sentences between the parts.
_GLUE = 240


def preview(text: str, kind: Kind = "useful") -> str:
    """Return a preview of at most 2,500 bytes."""
    return _head(text) if kind == "head" else _useful(text)


def outline_line(text: str) -> str:
    """One line of at most 300 bytes: the length of the text and its most informative line."""
    lines = split(text)
    about = " ".join(readable(shape_of(text, lines).about).split())
    return clipped(f"{counted(len(lines))}; {about}", LINE_BYTES)


def counted(lines: int) -> str:
    return f"{lines:,} line" if lines == 1 else f"{lines:,} lines"


def _head(text: str) -> str:
    start = first_bytes(whole(text), HEAD_BYTES)
    return start if len(start) == len(text) else at_line_end(start)


def _useful(text: str) -> str:
    lines = split(text)
    if size(text) <= MOST_BYTES:
        return "\n".join(map(readable, lines))
    shape = shape_of(text, lines)
    few = len(lines) <= _FEW_LINES
    head = _taken(from_front, lines, _front(shape), few=few)
    tail = _taken(from_back, lines[len(head) :], shape.tail, few=few)
    omitted = range(len(head) + 1, len(lines) - len(tail) + 1)
    room = MOST_BYTES - _GLUE - sum(size(line) + 1 for line in (*head, *tail))
    middle = _middle(shape.notes, omitted, room)
    return "\n".join([*head, *_gap(len(omitted), shape, middle), *tail])


def _front(shape: Shape) -> float:
    """The share for the first lines, which also get the room of an empty middle."""
    return shape.head if shape.notes else 1 - shape.tail


def _taken(
    take: Callable[[Sequence[str], int, int], list[str]],
    lines: Sequence[str],
    share: float,
    *,
    few: bool,
) -> list[str]:
    room = int(HEAD_BYTES * share)
    return take(lines, room, room - 1 if few else min(room - 1, _LONGEST_LINE))


def _middle(notes: Sequence[Note], omitted: range, room: int) -> list[str]:
    """As many notes as fit, chosen by importance and shown in the order of the text."""
    chosen: list[tuple[int, str]] = []
    for note in notes:
        if note.numbered and note.place not in omitted:
            continue
        text = f"  {note.place}: {note.text}" if note.numbered else f"  {note.text}"
        room -= size(text) + 1
        if room < 0:
            break
        chosen.append((note.place, text))
    return [text for _, text in sorted(chosen)]


def _gap(omitted: int, shape: Shape, middle: Sequence[str]) -> list[str]:
    """The text between the first and the last lines."""
    note = f"… {counted(omitted)} omitted" if omitted else "…"
    if middle:
        return [f"{note}; {shape.lead}:", *middle, "…"]
    return [f"{note} …"] if omitted else []
