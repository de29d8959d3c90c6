"""Find a memory by its file name, a short id, or words of its title.

The short id is a prefix of a hash of the label (such as `team/x.md`). It is computed, never stored,
and as long as needed to be unique (eight letters in a large memory, without a look at every name). Its alphabet has no vowels, so that no id is a word of a title.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias, assert_never

from reverie.memory.format.manifest import ManifestEntry
from reverie.ports import TopicReader
from reverie.text.words import fold, plain_words

SHORTEST = 4
# With 100,000 memories, two of them share eight letters once in 280 billion pairs.
AMONG_MANY = 8

How: TypeAlias = Literal["file", "id", "title", "words"]

_LETTERS = "23456789bcdfghjkmnpqrstvwxz"
_LONGEST = 16
_MOST_CLOSE = 3
_MOST_CANDIDATES = 8
_STOPS = ".!?。… "


@dataclass(frozen=True, slots=True)
class Named:
    """A memory as shown to the user: short id, file and title."""

    id: str
    file: str
    title: str

    def __str__(self) -> str:
        return f"{self.id}  {self.file}  {self.title}"


@dataclass(frozen=True, slots=True)
class Found:
    """The memory that was found, and by what."""

    file: str
    how: How


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Several memories match."""

    candidates: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """No memory matches; `close` are those with a similar name."""

    close: tuple[str, ...] = ()


Resolved: TypeAlias = Found | Ambiguous | Missing


def full_id(file: str) -> str:
    """The full id of a file name; users type its first letters."""
    digest = hashlib.blake2b(file.encode("utf-8", "surrogateescape"), digest_size=12).digest()
    number = int.from_bytes(digest)
    letters = []
    for _ in range(_LONGEST):
        number, at = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[at])
    return "".join(letters)


def mark_of(file: str) -> str:
    """What the model cites a memory by: the start of its id, long enough for one conversation."""
    return full_id(file)[:SHORTEST]


def short_ids(files: Iterable[str]) -> dict[str, str]:
    """The shortest unique id of each of these files."""
    whole = {file: full_id(file) for file in files}
    ordered = sorted(whole.items(), key=lambda item: item[1])
    found: dict[str, str] = {}
    for at, (file, id_) in enumerate(ordered):
        neighbours = [other for _, other in ordered[max(0, at - 1) : at + 2] if other != id_]
        shared = max((_common(id_, other) for other in neighbours), default=0)
        found[file] = id_[: max(SHORTEST, shared + 1)]
    return found


def ids_among(topics: TopicReader, files: Sequence[str]) -> dict[str, str]:
    """The id to show for each of these memories; among many, of a length that is unique in practice."""
    if topics.large:
        return {file: full_id(file)[:AMONG_MANY] for file in files}
    ids = short_ids(entry.file for entry in topics.entries())
    return {file: ids[file] for file in files if file in ids}


def resolve(wanted: str, entries: Sequence[ManifestEntry]) -> Resolved:
    """Find a memory. A file name wins over an id, an id over a title, a title over words."""
    text = wanted.strip()
    if not text:
        return Missing()
    for how, fitting in _WAYS.items():
        if files := fitting(text, entries):
            return _one(files, how, entries)
    return Missing(close_to(text, entries))


def explained(wanted: str, resolved: Ambiguous | Missing, listed_by: str = "`reverie list`") -> str:
    """The error message for a name that matches no memory or several."""
    match resolved:
        case Ambiguous(candidates):
            shown = [f"  {one}" for one in candidates[:_MOST_CANDIDATES]]
            more = len(candidates) - len(shown)
            shown += [f"  and {more} more"] if more else []
            head = f"{wanted!r} fits {len(candidates)} memories; give the id of one:"
            return "\n".join([head, *shown])
        case Missing(close):
            hint = f"did you mean {' or '.join(close)}?" if close else f"{listed_by} shows them all"
            return f"no memory {wanted!r}; {hint}"
        case _:
            assert_never(resolved)


def _one(files: Sequence[str], how: How, entries: Sequence[ManifestEntry]) -> Found | Ambiguous:
    """The only match; current memories win over superseded ones."""
    known = {entry.file: entry for entry in entries}
    if len(files) > 1 and how in ("title", "words"):
        files = [file for file in files if known[file].listed] or files
    if len(files) == 1:
        return Found(files[0], how)
    ids = short_ids(known)
    return Ambiguous(tuple(Named(ids[file], file, known[file].name) for file in files))


def _with_name(text: str, entries: Sequence[ManifestEntry]) -> list[str]:
    """The file of this name, or labelled files that end with it."""
    name = text if text.endswith(".md") else f"{text}.md"
    files = [entry.file for entry in entries]
    return [name] if name in files else [file for file in files if file.endswith(f"/{name}")]


def _with_id(text: str, entries: Sequence[ManifestEntry]) -> list[str]:
    if not is_id(text):
        return []
    return [entry.file for entry in entries if full_id(entry.file).startswith(text.lower())]


def is_id(text: str) -> bool:
    """Whether a text can be a short id."""
    return SHORTEST <= len(text) <= _LONGEST and all(char in _LETTERS for char in text.lower())


def _titled(text: str, entries: Sequence[ManifestEntry]) -> list[str]:
    wanted = fold(text).strip(_STOPS)
    return [entry.file for entry in entries if fold(entry.name).strip(_STOPS) == wanted]


def _holding(text: str, entries: Sequence[ManifestEntry]) -> list[str]:
    """Memories with all these words in title and file name, or else also in the description.

    A missing file name ending in `.md` is a typing mistake, not a search.
    """
    wanted = plain_words(text)
    if not wanted or text.endswith(".md"):
        return []
    for described in (False, True):
        found = [
            entry.file
            for entry in entries
            if all(_begins(word, _words(entry, described=described)) for word in wanted)
        ]
        if found:
            return found
    return []


_WAYS: Mapping[How, Callable[[str, Sequence[ManifestEntry]], list[str]]] = {
    "file": _with_name,
    "id": _with_id,
    "title": _titled,
    "words": _holding,
}


def _words(entry: ManifestEntry, *, described: bool) -> list[str]:
    stem = entry.file.removesuffix(".md").replace("_", " ").replace("-", " ")
    return plain_words(f"{entry.name} {stem} {entry.description if described else ''}")


def _begins(word: str, words: Sequence[str]) -> bool:
    return any(other.startswith(word) for other in words)


def close_to(text: str, entries: Sequence[ManifestEntry]) -> tuple[str, ...]:
    """Files whose names or titles are similar to a text."""
    files = [entry.file for entry in entries]
    stem = text.removesuffix(".md")
    holding = [file for file in files if stem in file]
    file = f"{stem}.md"
    close = holding[:_MOST_CLOSE] or get_close_matches(file, files, n=_MOST_CLOSE, cutoff=0.6)
    if close:
        return tuple(close)
    titles = {fold(entry.name): entry.file for entry in entries}
    alike = get_close_matches(fold(stem), titles, n=_MOST_CLOSE, cutoff=0.6)
    return tuple(titles[title] for title in alike)


def _common(one: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))
