"""Three-way merge of our files and those of another side, with the last common version as base.

On a conflict the other version keeps its name, and ours is saved beside it: nothing is lost. Files from
the team are marked `origin: team` here; the mark is not a change and is never pushed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
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
    """The new content of our files (None: removed), and conflicts for the user to resolve."""

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


class Copy:
    """Another copy of this memory, as one side of a merge."""

    where = "elsewhere"
    conflict = "changed here and elsewhere: the other keeps its name"

    def is_same(self, one: bytes | None, other: bytes | None) -> bool:
        return one == other

    def taken(self, data: bytes) -> bytes:
        """The file as it is kept here."""
        return data

    def clean(self, was: bytes, here: bytes, there: bytes, merge: Merge) -> bytes | None:
        """The merged file; None on conflict, or if it is too large."""
        merged = merge(was, here, there)
        return None if merged is None or len(merged) > LARGEST_FILE else merged


class TeamCopy(Copy):
    """The team's copy, whose files are marked here."""

    where = "by the team"
    conflict = "changed here and by the team: the team's keeps its name, yours is {beside}"

    def is_same(self, one: bytes | None, other: bytes | None) -> bool:
        return is_same(one, other)

    def taken(self, data: bytes) -> bytes:
        return marked(data)

    def clean(self, was: bytes, here: bytes, there: bytes, merge: Merge) -> bytes | None:
        """None also if the merged file is no longer valid."""
        # Mark both sides or none, so that the mark is never a difference.
        base = marked(was) if topics.parse(here).origin == "team" else was
        merged = super().clean(base, here, marked(there), merge)
        if merged is None or _problem(merged) not in (_problem(here), _problem(there)):
            return None
        return merged


def _problem(data: bytes) -> str | None:
    return topics.parse(data).document.problem


def merge_files(
    base: Files, ours: Files, theirs: Files, left_out: Set[str], merge: Merge, side: Copy
) -> Merged:
    """Merge file by file; the index is merged by pointers instead (below)."""
    merged = Merged()
    for file in sorted({*base, *ours, *theirs} - left_out - {INDEX_FILE}):
        was, here, there = base.get(file), ours.get(file), theirs.get(file)
        if side.is_same(there, was) or side.is_same(here, there):
            continue
        if side.is_same(here, was):
            merged.changes[file] = None if there is None else side.taken(there)
        elif there is None:
            reason = f"removed {side.where}, changed here: it stays"
            merged.conflicts.append(Conflict(file, reason))
        elif here is None:
            merged.changes[file] = side.taken(there)
            reason = f"removed here, changed {side.where}: it is back"
            merged.conflicts.append(Conflict(file, reason))
        elif was is not None and (clean := side.clean(was, here, there, merge)) is not None:
            merged.changes[file] = clean
        else:
            beside = name_beside(file, here, {**theirs, **ours})
            merged.changes |= {file: side.taken(there), beside: here}
            merged.conflicts.append(Conflict(file, side.conflict.format(beside=beside), beside))
    return merged


def name_beside(file: str, data: bytes, known: Files) -> str:
    """A name for our version, derived from its content, so that a repeated merge finds it."""
    path, id_ = PurePosixPath(file), version(data)
    stem = path.stem.encode()[:_LONGEST_STEM].decode(errors="ignore")
    names = [str(path.with_name(f"{stem}_conflict_{id_[:n]}.md")) for n in (8, 16, 40)]
    return next((name for name in names if known.get(name, data) == data), names[-1])


def shown(names: Sequence[str]) -> str:
    """The first three names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


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
