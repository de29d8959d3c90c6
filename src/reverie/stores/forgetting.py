"""Forgetting everywhere: a memory leaves the files, the history and every shadow of both.

Transcripts are a record of what was said and stay as they are; what is derived from them (search
index, session notes, inbox) is cleaned. The receipt names each place, so that a person can check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from reverie.core.codec import dump
from reverie.memory import index as indexes
from reverie.memory import topic as topics
from reverie.memory.manifest import INDEX_FILE
from reverie.memory.revisions import Author, Drop
from reverie.memory.topic import Topic
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
    file: str, store: FileStore, place: MemoryPlace, author: Author, beside: Path | None = None
) -> list[Cleaned]:
    """Remove a memory so that nothing can recall it; the receipt lists every place.

    `beside` is the project's folder, when memory and its state lie elsewhere.
    """
    versions = _versions(file, store)
    traces = _traces(file, versions)
    titles = {version.name for version in versions} | {file}
    receipt = [_from_directory(file, store, author), _from_history(file, store, titles)]
    folders = tuple(dict.fromkeys((place.state, beside or place.state)))
    receipt.append(_from_shadows(folders))
    receipt.append(_from_notes(folders, traces))
    receipt.append(_from_inbox(folders, traces, versions))
    receipt.append(_from_drafts(folders, file, traces))
    return receipt


def _versions(file: str, store: FileStore) -> list[Topic]:
    """A memory as it is and as it ever was."""
    contents = {store.current(file)} | {
        store.history.read(file, revision.id) for revision in store.history.log(file)
    }
    return [topics.parse(data, file) for data in contents if data is not None]


def _traces(file: str, versions: list[Topic]) -> tuple[str, ...]:
    """What gives a memory away: its name, title, description and longer sentences, in any version."""
    found: set[str] = {file}
    for memory in versions:
        sentences = re.split(r"(?<=[.!?])\s+|\n+", memory.body)
        found |= {memory.name, memory.description, *(s.strip() for s in sentences)}
    return tuple(sorted(t for t in found if t == file or len(t) >= _OWN_SENTENCE))


def _from_directory(file: str, store: FileStore, author: Author) -> Cleaned:
    stored = store.read(file)
    if stored is None:
        return Cleaned(f"memory/{file}", "was not there any more")
    store.apply((Drop(file, stored.version),), author, "forget", lambda index: index.without(file))
    return Cleaned(f"memory/{file}", "removed, with its pointer in MEMORY.md")


def _from_history(file: str, store: FileStore, titles: Iterable[str]) -> Cleaned:
    # A short title counts too: our summaries name the memory by it.
    named = re.compile("|".join(rf"(?<!\w){re.escape(t)}(?!\w)" for t in sorted(titles)))

    def change(name: str, data: bytes) -> bytes | None:
        if name == file:
            return None
        if name == INDEX_FILE:
            return indexes.render(indexes.parse(data).without(file))
        return data

    def message(text: str) -> str:
        summary, _, rest = text.partition("\n")
        return f"(forgotten)\n{rest}" if named.search(summary) else text

    with store.exclusively():
        count = store.history.rewrite(change, message)
    return Cleaned("history.git", f"rewritten: {count} revisions no longer hold it")


def _from_shadows(folders: Iterable[Path]) -> Cleaned:
    """Shadows are rebuilt from the files; deleting one is always safe."""
    for folder, name in product(folders, ("index.sqlite", "search.sqlite")):
        for ending in ("", "-wal", "-shm"):
            (folder / f"{name}{ending}").unlink(missing_ok=True)
    return Cleaned("search indexes", "dropped; they are rebuilt from the files")


def _from_notes(folders: Iterable[Path], traces: tuple[str, ...]) -> Cleaned:
    notes = _files(folders, "sessions/*/notes.md")
    changed = [path for path in notes if _clean(path, traces)]
    return Cleaned("session notes", f"{len(changed)} of {len(notes)} held it and were cleaned")


def _from_inbox(
    folders: Iterable[Path], traces: tuple[str, ...], versions: Iterable[Topic]
) -> Cleaned:
    """Proposals are JSON: a trace may stand there escaped, and a short memory as the whole text."""
    escaped = [_quoted(trace)[1:-1] for trace in traces]
    whole = [f'"text":{_quoted(version.body.strip())}' for version in versions]
    held, dropped = _dropped(_files(folders, "inbox/*"), (*traces, *escaped, *whole))
    return Cleaned("inbox", f"{dropped} of {held} proposals held it and were removed")


def _from_drafts(folders: Iterable[Path], file: str, traces: tuple[str, ...]) -> Cleaned:
    """Texts that `edit` kept because they could not be saved; the one of this file goes anyway."""
    own = file.replace("/", "__")
    held, dropped = _dropped(_files(folders, "drafts/[!.]*"), (own, *traces))
    for path in _files(folders, f"drafts/.{own}.base"):
        path.unlink()
    return Cleaned("unsaved edits", f"{dropped} of {held} held it and were removed")


def _quoted(text: str) -> str:
    return dump(text).decode("utf-8", "replace")


def _files(folders: Iterable[Path], pattern: str) -> list[Path]:
    found = (path for folder in folders for path in sorted(folder.glob(pattern)))
    return [path for path in found if path.is_file()]


def _dropped(files: list[Path], traces: tuple[str, ...]) -> tuple[int, int]:
    """How many there were, and how many held it and are gone."""
    dropped = [
        path
        for path in files
        if path.name in traces or _mentions(path.read_text("utf-8", "replace"), traces)
    ]
    for path in dropped:
        path.unlink()
    return len(files), len(dropped)


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
