"""The manifest: one line per memory, newest first, and candidates for similar memories."""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import log1p
from typing import TYPE_CHECKING

from reverie.memory.format import frontmatter
from reverie.memory.format.frontmatter import one_line, parse_text, readable
from reverie.memory.format.topic import read_moment, read_type
from reverie.text.words import ENGLISH, plain_words, stem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reverie.memory.format.taxonomy import MemoryType


HEAD_LINES = 30
INDEX_FILE = "MEMORY.md"

_HEAD = re.compile(rb"(?:[^\n]*\n){0,%d}" % HEAD_LINES)


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """The data of a memory from the first lines of its file."""

    file: str
    type: MemoryType | None
    mtime: datetime
    description: str
    name: str
    pinned: bool = False
    superseded: bool = False
    archived: bool = False
    problem: str | None = None
    # What replaced it, as its frontmatter says.
    superseded_by: str = ""
    valid_from: str | None = None
    valid_until: str | None = None

    @property
    def listed(self) -> bool:
        """Whether it belongs in the index: neither superseded nor archived."""
        return not (self.superseded or self.archived)


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed files, oldest change first; `upto` is the position to continue from.

    `afresh`: the catalog was rebuilt, so earlier answers do not count. `unread`: some files were not
    read yet and will be reported later.
    """

    upto: str
    changed: Mapping[str, tuple[int, int, int]]
    gone: tuple[str, ...]
    more: bool
    afresh: bool = False
    unread: bool = False


def is_index(file: str) -> bool:
    """Whether a file is an index (here or in a subfolder) and not a memory."""
    return file.rpartition("/")[2] == INDEX_FILE


def head(data: bytes) -> bytes:
    """The first 30 lines of a file, which the manifest reads."""
    found = _HEAD.match(data)
    cut = found.end() if found else 0
    return data if data.count(b"\n") < HEAD_LINES else data[:cut]


def entry(file: str, data: bytes, mtime: datetime, *, whole: bool = True) -> ManifestEntry:
    """The entry of a memory from its first lines; a broken file is listed under its file name.

    `whole`: the data is the whole file; only then is unclosed frontmatter a problem.
    """
    first = head(data)
    cut = len(first) < len(data) or not whole
    document = frontmatter.parse(first.decode("utf-8", "surrogateescape"), partial=cut)
    if document.problem is not None:
        return ManifestEntry(file, None, mtime, "", file, problem=document.problem)
    values = {item.key: item.value for item in document.entries if item.key in _READ}
    return ManifestEntry(
        file=file,
        type=read_type(document),
        mtime=mtime,
        description=parse_text(values.get("description", "")),
        name=parse_text(values.get("name", "")) or file,
        pinned=parse_text(values.get("pinned", "")).lower() in {"true", "yes", "on"},
        superseded=bool(parse_text(values.get("superseded_by", ""))),
        archived=read_moment(values.get("archived", "")) is not None,
        superseded_by=parse_text(values.get("superseded_by", "")),
        valid_from=read_moment(values.get("valid_from", "")),
        valid_until=read_moment(values.get("valid_until", "")),
    )


_READ = frozenset(
    {"name", "description", "pinned", "superseded_by", "archived", "valid_from", "valid_until"}
)


def newest_first(entries: Iterable[ManifestEntry]) -> tuple[ManifestEntry, ...]:
    """Memories by modification time, then by name, without index files."""
    memories = [entry for entry in entries if not is_index(entry.file)]
    memories.sort(key=lambda entry: entry.file)
    memories.sort(key=lambda entry: entry.mtime, reverse=True)
    return tuple(memories)


def render(entries: Iterable[ManifestEntry]) -> str:
    """Lines of the form `- [type] file.md (time): description`, newest first."""
    return "".join(f"{_line(entry)}\n" for entry in newest_first(entries))


def _line(entry: ManifestEntry) -> str:
    kind = f"[{entry.type}] " if entry.type else ""
    stamp = entry.mtime.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    description = f": {entry.description}" if entry.description else ""
    return readable(one_line(f"- {kind}{entry.file} ({stamp}){description}"))


MOST_CANDIDATES = 20
# A description is a sentence; of a longer text this many words suffice.
MOST_WORDS = 64
# How many postings one search adds; beyond it, a word only ranks the texts found so far.
MOST_PLACES = 20_000


def content_words(text: str) -> tuple[str, ...]:
    """The words a text is found by: stems without stop words, each once.

    Every text uses the same stemmer: the language of a short text can only be guessed, and two equal
    texts must have equal stems.
    """
    words = plain_words(text[: MOST_WORDS * 64])
    kept = [word for word in words if word not in ENGLISH] or words
    return tuple(dict.fromkeys(stem(word, "english") for word in kept))[:MOST_WORDS]


def rarity(having: float, total: float) -> float:
    """The weight of a shared word, by how many of all texts have it."""
    return log1p(total / having)


def covered(question: str, text: str) -> float:
    """The share of a question's words that a text has."""
    wanted = content_words(question)
    found = set(content_words(text))
    return sum(word in found for word in wanted) / len(wanted) if wanted else 0.0


class Candidates:
    """An inverted index over short texts, to compare with a few candidates instead of all."""

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        self._keys: list[str] = []
        self._texts: list[str] = []
        self._places: dict[str, list[int]] = {}
        for key, text in texts:
            self.add(key, text)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, key: str, text: str) -> None:
        place = len(self._keys)
        self._keys.append(key)
        self._texts.append(text)
        # A text without words is found by its whole text.
        for word in content_words(text) or (text.strip(),):
            self._places.setdefault(word, []).append(place)

    def find(self, text: str, most: int = MOST_CANDIDATES) -> list[tuple[str, str]]:
        """The (key, text) pairs that share the most words with a text; rare words count more."""
        wanted = content_words(text) or (text.strip(),)
        lists = sorted((found for word in wanted if (found := self._places.get(word))), key=len)
        scores: dict[int, float] = {}
        room = MOST_PLACES
        for places in lists:
            weight = rarity(len(places), len(self._keys))
            if len(places) <= room or not scores:
                for place in places[-room:]:
                    scores[place] = scores.get(place, 0.0) + weight
            else:
                for place in scores:
                    scores[place] += weight * _holds(places, place)
            room = max(0, room - len(places))
        best = heapq.nsmallest(most, scores, key=lambda place: (-scores[place], place))
        return [(self._keys[place], self._texts[place]) for place in best]


def _holds(places: Sequence[int], wanted: int) -> bool:
    at = bisect_left(places, wanted)
    return at < len(places) and places[at] == wanted
