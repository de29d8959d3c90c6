"""Three-way merge of our files and the team's, with the last common version as base.

Files from others are marked `origin: team` here; the mark is not a change and is never pushed. On a
conflict the team's version keeps its name, and ours is saved beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TypeAlias

from reverie.errors import InputError
from reverie.memory.format import topic as topics
from reverie.memory.format.frontmatter import line_end, one_line
from reverie.memory.format.index import LONGEST_TITLE, Index, Pointer, pointer_of
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.revisions import version
from reverie.memory.format.topic import LARGEST_FILE

Files: TypeAlias = Mapping[str, bytes]
Merge: TypeAlias = Callable[[bytes, bytes, bytes], bytes | None]

LONGEST_HOOK = 200
# In bytes, so that the longer name is still a valid file name.
_LONGEST_STEM = 190


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that both sides changed. Both versions are kept; `beside` is the file of ours."""

    file: str
    reason: str
    beside: str | None = None


@dataclass(slots=True)
class Merged:
    """The changes to our files, and conflicts for the user to resolve."""

    changes: dict[str, bytes | None] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)


def marked(data: bytes) -> bytes:
    """The memory with `origin: team`; unchanged if its frontmatter cannot be edited."""
    try:
        return topics.render(topics.parse(data).with_(origin="team"))
    except InputError:
        return data


def is_same(one: bytes | None, other: bytes | None) -> bool:
    """Whether two versions are equal, ignoring the mark."""
    if one is None or other is None or one == other:
        return one == other
    return marked(one) == marked(other)


def merge_files(
    base: Files, ours: Files, theirs: Files, left_out: Set[str], merge: Merge
) -> Merged:
    """Merge file by file; the index is merged by pointers instead (below)."""
    merged = Merged()
    for file in sorted({*base, *ours, *theirs} - left_out - {INDEX_FILE}):
        was, here, there = base.get(file), ours.get(file), theirs.get(file)
        if is_same(there, was) or is_same(here, there):
            continue
        if is_same(here, was):
            merged.changes[file] = None if there is None else marked(there)
        else:
            _both_changed(merged, file, (was, here, there), {**theirs, **ours}, merge)
    return merged


def _both_changed(
    merged: Merged,
    file: str,
    versions: tuple[bytes | None, bytes | None, bytes | None],
    known: Files,
    merge: Merge,
) -> None:
    was, here, there = versions
    if there is None:
        merged.conflicts.append(Conflict(file, "removed by the team, changed here: it stays"))
    elif here is None:
        merged.changes[file] = marked(there)
        merged.conflicts.append(Conflict(file, "removed here, changed by the team: it is back"))
    elif (clean := None if was is None else _clean(was, here, there, merge)) is not None:
        merged.changes[file] = clean
    else:
        beside = _beside(file, here, known)
        merged.changes |= {file: marked(there), beside: here}
        reason = f"changed here and by the team: the team's keeps its name, yours is {beside}"
        merged.conflicts.append(Conflict(file, reason, beside))


def _clean(was: bytes, here: bytes, there: bytes, merge: Merge) -> bytes | None:
    """The merged file; None on conflict, or if it is too large or no longer valid."""
    # Mark both sides or none, so that the mark is never a difference.
    base = marked(was) if topics.parse(here).origin == "team" else was
    merged = merge(base, here, marked(there))
    if merged is None or len(merged) > LARGEST_FILE:
        return None
    broken = topics.parse(merged).document.problem
    return None if broken not in {_problem(here), _problem(there)} else merged


def _problem(data: bytes) -> str | None:
    return topics.parse(data).document.problem


def _beside(file: str, data: bytes, known: Files) -> str:
    """A name for our version, derived from its content, so that a repeated merge finds it."""
    path, id_ = PurePosixPath(file), version(data)
    stem = path.stem.encode()[:_LONGEST_STEM].decode(errors="ignore")
    names = [str(path.with_name(f"{stem}_conflict_{id_[:n]}.md")) for n in (8, 16, 40)]
    return next((name for name in names if known.get(name, data) == data), names[-1])


# --- the index: pointers are shared, other lines stay local ---


def pointers(index: Index) -> dict[str, Pointer]:
    """Each file's pointer, cut to a maximum length."""
    found: dict[str, Pointer] = {}
    for pointer in index.pointers:
        found.setdefault(pointer.file, _cut(pointer))
    return found


def merge_pointers(ours: Index, theirs: Index, base: Index, files: Set[str]) -> dict[str, Pointer]:
    """Merge the pointers of each file three-way; if both sides changed one, ours wins."""
    was, here, there = pointers(base), pointers(ours), pointers(theirs)
    merged: dict[str, Pointer] = {}
    for file in [*here, *(name for name in there if name not in here)]:
        old, own, new = was.get(file), here.get(file), there.get(file)
        chosen = own if new == old else new if own == old else own or new
        if chosen is not None and file in files:
            merged[file] = chosen
    return merged


def with_pointers(index: Index, wanted: Mapping[str, Pointer], decided: Set[str]) -> Index:
    """Set the pointers of the decided files; every other line stays."""
    lines: list[str] = []
    missing = {file: pointer for file, pointer in wanted.items() if file in decided}
    last = 0
    for line in index.lines:
        present = pointer_of(line)
        if present is None or present.file not in decided:
            lines.append(line)
        elif present.file in missing:
            pointer = missing.pop(present.file)
            same = _cut(present) == pointer
            lines.append(line if same else Index((line,)).with_pointer(pointer).lines[0])
        last = len(lines) if present else last
    return Index(_with_new(lines, list(missing.values()), last))


def _with_new(lines: list[str], fresh: list[Pointer], last: int) -> tuple[str, ...]:
    """Insert new pointers after the last existing one, in one pass."""
    at = last or len(lines)
    eol = line_end("".join(lines))
    if fresh and at and not lines[at - 1].endswith(("\n", "\r")):
        lines[at - 1] += eol
    return (*lines[:at], *(pointer.render() + eol for pointer in fresh), *lines[at:])


def _cut(pointer: Pointer) -> Pointer:
    """Shorten title and hook: a very long line would push all others out of the prompt."""
    title, hook = one_line(pointer.title), one_line(pointer.hook)
    if len(title) > LONGEST_TITLE:
        title = f"{title[: LONGEST_TITLE - 1]}…"
    return Pointer(
        title, pointer.file, f"{hook[: LONGEST_HOOK - 1]}…" if len(hook) > LONGEST_HOOK else hook
    )
