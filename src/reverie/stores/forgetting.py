"""Forgetting everywhere: a memory leaves the files, the history and every shadow of both.

Transcripts are a record of what was said and stay as they are; what is derived from them (search
index, session notes, inbox) is cleaned. The receipt names each place, so that a person can check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from reverie.memory import index as indexes
from reverie.memory import topic as topics
from reverie.memory.manifest import INDEX_FILE
from reverie.memory.revisions import Author, Drop
from reverie.stores.files import FileStore
from reverie.stores.places import MemoryPlace

# Sentences shorter than this may stand anywhere by chance; longer ones are the memory's own.
_OWN_SENTENCE = 24


@dataclass(frozen=True, slots=True)
class Cleaned:
    """One place that was looked at, and what was done there."""

    place: str
    done: str


def forget_everywhere(
    file: str, store: FileStore, place: MemoryPlace, author: Author
) -> list[Cleaned]:
    """Remove a memory so that nothing can recall it; the receipt lists every place."""
    traces = _traces(file, store)
    receipt = [_from_directory(file, store, author), _from_history(file, store, traces)]
    receipt += _from_shadows(place.state)
    receipt += _from_notes(place.state, traces)
    receipt += _from_inbox(place.state, traces)
    return receipt


def _traces(file: str, store: FileStore) -> tuple[str, ...]:
    """What gives a memory away: its name, title, description and longer sentences, in any version."""
    versions = {store.current(file)} | {
        store.history.read(file, revision.id) for revision in store.history.log(file)
    }
    found: set[str] = {file}
    for data in versions - {None}:
        memory = topics.parse(data or b"", file)
        sentences = re.split(r"(?<=[.!?])\s+|\n+", memory.body)
        found |= {memory.name, memory.description, *(s.strip() for s in sentences)}
    return tuple(sorted(t for t in found if t == file or len(t) >= _OWN_SENTENCE))


def _from_directory(file: str, store: FileStore, author: Author) -> Cleaned:
    stored = store.read(file)
    if stored is None:
        return Cleaned(f"memory/{file}", "was not there any more")
    store.apply((Drop(file, stored.version),), author, "forget", lambda index: index.without(file))
    return Cleaned(f"memory/{file}", "removed, with its pointer in MEMORY.md")


def _from_history(file: str, store: FileStore, traces: tuple[str, ...]) -> Cleaned:
    def change(name: str, data: bytes) -> bytes | None:
        if name == file:
            return None
        if name == INDEX_FILE:
            return indexes.render(indexes.parse(data).without(file))
        return data

    def message(text: str) -> str:
        summary, _, rest = text.partition("\n")
        given_away = any(trace in summary for trace in traces) or file in summary
        return f"(forgotten)\n{rest}" if given_away else text

    with store.exclusively():
        count = store.history.rewrite(change, message)
    return Cleaned("history.git", f"rewritten: {count} revisions no longer hold it")


def _from_shadows(state: Path) -> Iterator[Cleaned]:
    """Shadows are rebuilt from the files; deleting one is always safe."""
    for name in ("index.sqlite", "search.sqlite"):
        shadow = state / name
        for path in (shadow, Path(f"{shadow}-wal"), Path(f"{shadow}-shm")):
            path.unlink(missing_ok=True)
        yield Cleaned(name, "dropped; it is rebuilt from the files")


def _from_notes(state: Path, traces: tuple[str, ...]) -> Iterator[Cleaned]:
    notes = [path for path in sorted((state / "sessions").glob("*/notes.md")) if path.is_file()]
    changed = [path for path in notes if _clean(path, traces)]
    yield Cleaned("session notes", f"{len(changed)} of {len(notes)} held it and were cleaned")


def _from_inbox(state: Path, traces: tuple[str, ...]) -> Iterator[Cleaned]:
    held = [path for path in sorted((state / "inbox").glob("*")) if path.is_file()]
    dropped = [path for path in held if _mentions(path.read_text("utf-8", "replace"), traces)]
    for path in dropped:
        path.unlink()
    yield Cleaned("inbox", f"{len(dropped)} of {len(held)} proposals held it and were removed")


def _clean(path: Path, traces: tuple[str, ...]) -> bool:
    text = path.read_text("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    kept = [line for line in lines if not _mentions(line, traces)]
    if len(kept) == len(lines):
        return False
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text("".join(kept), "utf-8")
    fresh.replace(path)
    return True


def _mentions(text: str, traces: Iterable[str]) -> bool:
    return any(trace in text for trace in traces)
