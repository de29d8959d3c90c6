"""The index MEMORY.md: one pointer per line, other lines kept exactly, and a cap for the prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from reverie.memory.format.frontmatter import BOM, line_end, one_line, readable, writable
from reverie.memory.format.manifest import ManifestEntry, is_index
from reverie.memory.format.taxonomy import TYPES
from reverie.memory.format.topic import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reverie.memory.format.manifest import ManifestEntry

MOST_LINES = 200
MOST_BYTES = 25_000
POINTER_AIM = 150
LONGEST_TITLE = 100

_STOPS = ".!?。 "
_CONTINUED = re.compile(r"[.!?]+\s|[。！？]|; ")

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_POINTER = re.compile(
    r"(?P<bullet>[ \t]*[-*+][ \t]+)"
    r"\[(?P<title>(?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]"
    r"\((?:<(?P<angled>[^<>]*)>|(?P<bare>[^\s()<>]+))\)"
    r"(?:[ \t]*(?:—|–|-|:)[ \t]*(?P<hook>.*)|[ \t]*)"
)
_MORE = re.compile(r"_(?P<count>\d+) more memor(?:y is|ies are) not listed here; recall finds .*_")


@dataclass(frozen=True, slots=True)
class Pointer:
    """A line of the index that points to a topic file."""

    title: str
    file: str
    hook: str = ""

    def render(self, bullet: str = "- ") -> str:
        title = re.sub(r"([\[\]\\])", r"\\\1", one_line(writable(self.title))) or self.file
        target = self.file if re.fullmatch(r"[^\s()<>]+", self.file) else f"<{self.file}>"
        hook = one_line(writable(self.hook))
        return f"{bullet}[{title}]({target})" + (f" — {hook}" if hook else "")


def pointer_to(name: str, file: str, description: str) -> Pointer:
    """A pointer to a memory; to save prompt space, its hook does not repeat the title."""
    if description.rstrip(_STOPS) == name.rstrip(_STOPS):
        return Pointer(name, file)
    told = name.rstrip(_STOPS)
    if told and description.startswith(told) and _CONTINUED.match(description, len(told)):
        return Pointer(name, file, description[len(told) :].lstrip(f"{_STOPS};"))
    begun = name.removesuffix("…")
    if begun != name and description.startswith(begun):
        return Pointer(name, file, f"…{description[len(begun) :]}")
    return Pointer(name, file, description)


@dataclass(frozen=True, slots=True)
class Index:
    """The exact lines of an index file, each with its line end."""

    lines: tuple[str, ...] = ()

    @property
    def pointers(self) -> tuple[Pointer, ...]:
        return tuple(found for line in self.lines if (found := pointer_of(line)))

    @property
    def more(self) -> int:
        """How many memories are not listed, according to the last line."""
        found = (_MORE.fullmatch(line.strip()) for line in self.lines)
        return sum(int(match["count"]) for match in found if match)

    @property
    def fits(self) -> bool:
        return capped(self).limit is None

    def with_pointer(self, pointer: Pointer) -> Index:
        """Add a pointer, or update the first line with the same file; one line changes, if any."""
        if pointer in self.pointers:
            return self
        for at, line in enumerate(self.lines):
            present = pointer_of(line)
            if present and present.file == pointer.file:
                return Index((*self.lines[:at], _rewritten(line, pointer), *self.lines[at + 1 :]))
        return self._with_new(pointer)

    def without(self, file: str) -> Index:
        """The index without pointers to this file."""
        kept = (line for line in self.lines if (p := pointer_of(line)) is None or p.file != file)
        return Index(tuple(kept))

    def _with_new(self, pointer: Pointer) -> Index:
        eol = line_end("".join(self.lines))
        positions = (n for n, line in enumerate(self.lines, 1) if pointer_of(line))
        more_at = next(
            (n for n, line in enumerate(self.lines) if _MORE.fullmatch(line.strip())), None
        )
        at = max(positions, default=len(self.lines) if more_at is None else more_at)
        before = list(self.lines[:at])
        if before and not before[-1].endswith(("\n", "\r")):
            before[-1] += eol
        return Index((*before, pointer.render() + eol, *self.lines[at:]))


def parse(data: bytes) -> Index:
    """Parse any bytes as an index; lines that are not pointers are kept."""
    return Index(tuple(_LINE.findall(data.decode("utf-8", "surrogateescape"))))


def render(index: Index) -> bytes:
    """The exact bytes of an index file."""
    return "".join(index.lines).encode("utf-8", "surrogateescape")


# Every change of an index reads all of its lines, of which one is new.
@lru_cache(maxsize=4_096)
def pointer_of(line: str) -> Pointer | None:
    """The pointer on a line, or None for any other line."""
    found = _POINTER.fullmatch(line.removeprefix(BOM).rstrip())
    if found is None:
        return None
    title = re.sub(r"\\(.)", r"\1", found["title"])
    file = found["bare"] if found["angled"] is None else found["angled"]
    # A web link or a link within a page is not a pointer to a memory.
    if not file.endswith(".md") or "://" in file:
        return None
    return Pointer(title, file.removeprefix("./"), (found["hook"] or "").strip())


def _rewritten(line: str, pointer: Pointer) -> str:
    mark = BOM if line.startswith(BOM) else ""
    found = _POINTER.fullmatch(line.removeprefix(BOM).rstrip())
    bullet = found["bullet"] if found else "- "
    eol = line[len(line.rstrip("\r\n")) :]
    return f"{mark}{pointer.render(bullet)}{eol}"


@dataclass(frozen=True, slots=True)
class Capped:
    """The part of an index that goes into a prompt; `limit` names the cap that cut it, if any."""

    text: str
    shown: int
    hidden: int
    limit: str | None


def capped(index: Index) -> Capped:
    """Cut to 200 lines and 25,000 bytes at a line; a warning says that it was cut."""
    lines = [readable(line.removeprefix(BOM)) for line in index.lines]
    kept = lines[:MOST_LINES]
    limit = f"{MOST_LINES} lines" if len(lines) > MOST_LINES else None
    size = 0
    for at, line in enumerate(kept):
        size += len(line.encode())
        if size > MOST_BYTES:
            kept, limit = kept[:at], f"{MOST_BYTES:,} bytes"
            break
    shown = sum(pointer_of(line) is not None for line in kept)
    hidden = len(index.pointers) - shown
    text = "".join(kept)
    if limit is None:
        return Capped(text, shown, hidden, None)
    joint = "" if not text or text.endswith(("\n", "\r")) else "\n"
    return Capped(f"{text}{joint}{_warning(limit, hidden)}\n", shown, hidden, limit)


def _warning(limit: str, hidden: int) -> str:
    pointers = "1 pointer is" if hidden == 1 else f"{hidden} pointers are"
    return (
        f"> WARNING: MEMORY.md is over its limit of {limit}; {pointers} not shown above. "
        "They can still be found by recall and by searching the directory. "
        "Keep one short line for each memory and move detail into its topic file."
    )


def rebuild(entries: Iterable[ManifestEntry], recalled: Mapping[str, int] | None = None) -> Index:
    """Build an index from frontmatter: pinned, then by type, then most recalled, then newest."""
    return rebuilt(Index(), entries, recalled)


def rebuilt(
    old: Index, entries: Iterable[ManifestEntry], recalled: Mapping[str, int] | None = None
) -> Index:
    """Rebuild an index and keep hand-written lines: those above the pointers stay there."""
    counts = recalled or {}
    above, below = _foreign(old)
    known = {pointer.file: pointer for pointer in old.pointers}
    current = [e for e in entries if e.listed and not is_index(e.file)]
    by_use = sorted(current, key=lambda e: _usefulness(e, counts))
    kept = _fitting(by_use, known, (*above, *below))
    ordered = sorted(kept, key=lambda e: (*listing_rank(e), *_usefulness(e, counts)))
    lines = [f"{_pointer(entry, known).render()}\n" for entry in ordered]
    missing = len(current) - len(kept)
    return Index((*above, *lines, *below, *((more_line(missing),) if missing else ())))


def _foreign(index: Index) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines that are not pointers: those before the first pointer, and the others."""
    first = next((n for n, line in enumerate(index.lines) if pointer_of(line)), len(index.lines))
    whole = [line if line.endswith(("\n", "\r")) else f"{line}\n" for line in index.lines]
    ours = [bool(pointer_of(line) or _MORE.fullmatch(line.strip())) for line in whole]
    above = tuple(line for line, own in zip(whole[:first], ours, strict=False) if not own)
    below = tuple(line for line, own in zip(whole[first:], ours[first:], strict=True) if not own)
    return above, below


def more_line(count: int) -> str:
    """The last line of an index that cannot list everything."""
    if count == 1:
        return "_1 more memory is not listed here; recall finds it._\n"
    return f"_{count} more memories are not listed here; recall finds them._\n"


def _fitting(
    by_use: list[ManifestEntry], known: Mapping[str, Pointer], foreign: tuple[str, ...]
) -> list[ManifestEntry]:
    # The line with the count needs room, too, but only if some memories are not listed.
    sizes = [_size(f"{_pointer(entry, known).render()}\n") for entry in by_use]
    most = MOST_LINES - len(foreign)
    room = MOST_BYTES - sum(map(_size, foreign))
    if len(by_use) <= most and sum(sizes) <= room:
        return by_use
    room -= len(more_line(len(by_use)))
    kept: list[ManifestEntry] = []
    for entry, size in zip(by_use[: max(0, most - 1)], sizes, strict=False):
        room -= size
        if room < 0:
            break
        kept.append(entry)
    return kept


def _size(line: str) -> int:
    return len(line.encode("utf-8", "surrogateescape"))


def _usefulness(entry: ManifestEntry, counts: Mapping[str, int]) -> tuple[bool, int, float, str]:
    return (not entry.pinned, -counts.get(entry.file, 0), -entry.mtime.timestamp(), entry.file)


def listing_rank(entry: ManifestEntry) -> tuple[bool, int]:
    """The first sort key of the index: pinned memories, then by type."""
    return (not entry.pinned, TYPES.index(entry.type) if entry.type else len(TYPES))


def _pointer(entry: ManifestEntry, known: Mapping[str, Pointer]) -> Pointer:
    # A memory without a description keeps its existing line.
    if not entry.description and entry.file in known:
        return known[entry.file]
    title = entry.name if len(entry.name) <= LONGEST_TITLE else f"{entry.name[:LONGEST_TITLE]}…"
    pointer = pointer_to(title, entry.file, entry.description)
    excess = len(pointer.render()) - POINTER_AIM
    if excess <= 0 or not pointer.hook:
        return pointer
    room = max(0, len(pointer.hook) - excess - 1)
    hook = pointer.hook[:room].rpartition(" ")[0]
    return replace(pointer, hook=f"{hook}…" if hook else "")


def pointed(index: Index, memory: Topic) -> Index:
    """Add a pointer to a memory; a full index only counts it, and recall still finds it.

    A memory that is not listed (superseded or archived) does not change the index.
    """
    if not memory.listed:
        return index
    pointer = pointer_to(memory.name, memory.file, memory.description)
    known = _lists(index, memory.file)
    if known or len(index.lines) < MOST_LINES - 1:
        grown = index.with_pointer(pointer)
        return grown if known or grown.fits else _counted(index, index.more + 1)
    return _counted(index, index.more + 1)


def refreshed(index: Index, old: Topic, fresh: Topic) -> Index:
    """Update a memory's line if its title or description changed.

    A line written by hand stays until then; a memory that was counted or left out is not counted
    again.
    """
    if not fresh.listed:
        return unpointed(index, fresh.file) if old.listed else index.without(fresh.file)
    if not old.listed:
        return pointed(index, fresh)
    same = (old.name, old.description) == (fresh.name, fresh.description)
    if _lists(index, fresh.file):
        return index if same else pointed(index, fresh)
    grown = index.with_pointer(pointer_to(fresh.name, fresh.file, fresh.description))
    return grown if grown.fits and len(grown.lines) < MOST_LINES else index


def moved(index: Index, file: str, entries: Sequence[ManifestEntry]) -> Index:
    """Move one pointer to where a rebuild would put it: pinned memories first, then by type.

    No other line moves. For a pinned memory that a full index only counted, rebuild the index.
    """
    known = {entry.file: entry for entry in entries}
    one = known.get(file)
    if one is None or not one.listed:
        return index
    if not _lists(index, file):
        return rebuilt(index, entries) if one.pinned else index
    [line] = [line for line in index.lines if (p := pointer_of(line)) and p.file == file]
    rest = index.without(file).lines
    positions = [n for n, other in enumerate(rest) if pointer_of(other)]
    behind = (n for n in positions if not _before(rest[n], one, known))
    at = next(behind, positions[-1] + 1 if positions else index.lines.index(line))
    whole = [other if other.endswith(("\n", "\r")) else f"{other}\n" for other in (*rest, line)]
    return Index((*whole[:at], whole[-1], *whole[at:-1]))


def _before(line: str, one: ManifestEntry, known: Mapping[str, ManifestEntry]) -> bool:
    """Whether the memory of a line is listed before another one."""
    pointer = pointer_of(line)
    other = known.get(pointer.file) if pointer else None
    return other is not None and listing_rank(other) < listing_rank(one)


def unpointed(index: Index, file: str) -> Index:
    """Remove a memory's line, or reduce the count by one."""
    if _lists(index, file) or not index.more:
        return index.without(file)
    return _counted(index, index.more - 1)


def _lists(index: Index, file: str) -> bool:
    return any(pointer.file == file for pointer in index.pointers)


def _counted(index: Index, more: int) -> Index:
    kept = [line for line in index.lines if not Index((line,)).more]
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    return Index((*kept, more_line(more)) if more else tuple(kept))
