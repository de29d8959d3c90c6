"""Forgetting everywhere: a memory leaves the files, the history and every shadow of both.

Transcripts are a record of what was said and stay as they are; what is derived from them (search
index, session notes, inbox, reports of dreams) is cleaned. The receipt names each place, so that a person can check.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from reverie.core.codec import dump
from reverie.memory import index as indexes
from reverie.memory import topic as topics
from reverie.memory.manifest import INDEX_FILE
from reverie.memory.revisions import Author, Drop
from reverie.memory.topic import Topic
from reverie.stores.files import FileStore
from reverie.stores.json_files import read_json, write_json
from reverie.stores.places import MemoryPlace
from reverie.stores.uses import UseCounts

# Sentences shorter than this may stand anywhere by chance; longer ones are the memory's own.
_OWN_SENTENCE = 24


@dataclass(frozen=True, slots=True)
class Cleaned:
    """One place that was looked at, and what was done there."""

    place: str
    done: str


def forget_everywhere(
    file: str,
    store: FileStore,
    place: MemoryPlace,
    author: Author,
    uses: UseCounts,
    *,
    beside: Iterable[Path] = (),
) -> list[Cleaned]:
    """Remove a memory so that nothing can recall it; the receipt lists every place.

    `beside` are the folders of the projects in which it was recalled.
    """
    versions = _versions(file, store)
    traces = _traces(file, versions)
    titles = {version.name for version in versions} | {file}
    receipt = [_from_directory(file, store, author), _from_history(file, store, titles)]
    folders = tuple(dict.fromkeys((place.state, *beside)))
    receipt.append(_from_shadows(folders))
    receipt.append(_from_notes(folders, traces))
    receipt.append(_from_inbox(folders, traces, versions))
    receipt.append(_from_drafts(folders, file, traces))
    receipt += _from_dreams([folder / "dreams" for folder in folders], traces)
    receipt.append(Cleaned("use counts", f"{uses.forget(file)} lines spoke of it and were removed"))
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
    for folder, name in product(folders, ("index.sqlite", "search.sqlite", "manifest.sqlite")):
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


def _from_dreams(folders: list[Path], traces: tuple[str, ...]) -> list[Cleaned]:
    """A dream under way holds a copy: it is told to stop first, then the copy can go."""
    stopped = [folder for folder in folders if _told_to_stop(folder)]
    branches = [branch for folder in folders for branch in sorted(folder.glob("branches/*"))]
    held = [branch for branch in branches if _holds(branch, traces)]
    for branch in held:
        shutil.rmtree(branch, ignore_errors=True)
    reports = _files(folders, "*.json")
    changed = [path for path in reports if _clean_report(path, traces)]
    again = "; one is under way and was told to stop: do this again when it is over"
    return [
        Cleaned(
            "reports of dreams",
            f"{len(changed)} of {len(reports)} held it and were cleaned{again if stopped else ''}",
        ),
        Cleaned("branches of dreams", f"{len(held)} of {len(branches)} held it and were removed"),
    ]


def _told_to_stop(dreams: Path) -> bool:
    status = read_json(dreams / "status.json")
    if not isinstance(status, dict) or status.get("state") != "running":
        return False
    (dreams / "stop").write_text(str(status.get("id", "")))
    return True


def _holds(branch: Path, traces: tuple[str, ...]) -> bool:
    """Whether a copy of the memory holds it; links in it are not followed."""
    files = (path for path in branch.rglob("*") if path.is_file() and not path.is_symlink())
    return any(
        _mentions(f"{path.relative_to(branch)}\n{path.read_text('utf-8', 'replace')}", traces)
        for path in files
    )


def _clean_report(path: Path, traces: tuple[str, ...]) -> bool:
    """Take what quotes it out of a report, entry by entry; what is no report goes as a whole."""
    report = read_json(path)
    if not _quotes(path.read_text("utf-8", "replace") if report is None else report, traces):
        return False
    kept = _unquoted(report, traces)
    if kept is not None and not _quotes(kept, traces):
        write_json(path, kept)
    else:
        path.unlink()
    return True


def _unquoted(report: Any, traces: tuple[str, ...]) -> dict[str, Any] | None:
    """The lists of a report without the entries that quote it."""
    if not isinstance(report, dict):
        return None
    return {
        key: [entry for entry in value if not _quotes(entry, traces)]
        if isinstance(value, list)
        else value
        for key, value in report.items()
    }


def _quotes(value: Any, traces: tuple[str, ...]) -> bool:
    """Whether any text in a JSON value mentions it, names of files among the keys too."""
    match value:
        case str():
            return _mentions(value, traces)
        case list():
            return any(_quotes(item, traces) for item in value)
        case dict():
            return any(_quotes(part, traces) for item in value.items() for part in item)
        case _:
            return False


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
