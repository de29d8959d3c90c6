"""Doctor checks of memory: files, index, history, leftovers, projects that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from reverie.cli.formatting import Finding, counted
from reverie.cli.memories import label, shown_path
from reverie.errors import ReverieError
from reverie.memory.changes.judging import retired_by_siblings
from reverie.memory.format.index import capped

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

_SHOWN = 10


def examine_memory(app: Workspace) -> Iterator[Finding]:
    """Every check of this project's memory, then of the projects of this home."""
    if not app.settings.memory_enabled:
        origin = app.settings.origin("memory.enabled")
        yield Finding("note", f"memory is off ({origin})", "set memory.enabled = true to use it")
        return
    try:
        memories = app.memory().parts
    except ReverieError as error:
        yield Finding("wrong", f"memory: {error}")
        return
    for memory in memories:
        # The other scopes have no directory until their first memory is saved.
        if memory.scope == "project" or memory.place.directory.is_dir():
            yield from _one(app, memory)
    yield from _projects(app)


def _one(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    """Run every check of one memory; a check that fails is a finding."""
    for check in (_count, _files, _index, _retired, _history, _leftovers):
        try:
            yield from list(check(app, memory))
        except Exception as error:  # noqa: BLE001 - damage can fail a check in any way
            yield Finding("wrong", f"memory: {_message(error)}")
            return


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, ReverieError) else f"{type(error).__name__}: {error}"


def _count(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    where = shown_path(app, memory.place.directory)
    yield Finding(
        "ok", f"memory {where}: {counted(len(memory.store.entries()), 'memory', 'memories')}"
    )


def _files(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    broken = [
        Finding(
            "wrong",
            f"{label(memory, entry.file)}: {entry.problem}",
            f"reverie edit {label(memory, entry.file)}",
        )
        for entry in memory.store.entries()
        if entry.problem
    ]
    yield from _some(broken, "more broken files")
    skipped = [
        Finding("note", f"{label(memory, one.file)} is not read: {one.reason}")
        for one in memory.store.skipped
    ]
    yield from _some(skipped, "more files that are not read")
    folder = memory.place.directory / "person"
    if memory.scope == "project" and any(folder.glob("*.md")):
        yield Finding(
            "note",
            f"{shown_path(app, folder)} is not read: person/ stands for memory about you",
            f"move its files up, or: reverie import {shown_path(app, folder)} --scope person",
        )


def _some(findings: list[Finding], rest: str) -> Iterator[Finding]:
    yield from findings[:_SHOWN]
    if len(findings) > _SHOWN:
        yield Finding(
            findings[0].state, f"{len(findings) - _SHOWN} {rest}", "reverie list --problems"
        )


def _index(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    index = memory.store.index()
    name = label(memory, "MEMORY.md")
    listed = {pointer.file for pointer in index.pointers}
    files = {entry.file: entry.listed for entry in memory.store.entries()}
    lost = sorted(listed - files.keys())
    unlisted = [file for file, wanted in files.items() if wanted and file not in listed]
    advice = "reverie index --rebuild"
    if lost:
        yield Finding("wrong", f"{name} leads nowhere: {_names(lost)}", advice)
    if len(unlisted) > index.more:
        yield Finding("note", f"{name} does not list {_names(sorted(unlisted))}", advice)
    if (limit := capped(index).limit) is not None:
        hidden = capped(index).hidden
        yield Finding(
            "wrong",
            f"{name} is over {limit}: {counted(hidden, 'pointer is', 'pointers are')} hidden",
            advice,
        )


def _retired(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    """Memories that an earlier rule replaced by one about something else."""
    doubtful = [
        Finding(
            "note",
            f"{label(memory, old)} was replaced by {new}, which is about something else",
            f"if both hold: reverie retire {label(memory, old)} --off",
        )
        for old, new in retired_by_siblings(memory.store)
    ]
    yield from _some(doubtful, "more memories that were replaced by one about something else")


def _history(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    try:
        unfinished = memory.history.unfinished()
        newest = next(memory.history.log(), None)
        if newest is not None:
            memory.history.files(newest.id)
    except Exception as error:  # noqa: BLE001 - a damaged repository fails in many ways
        advice = f"keep a copy of {memory.place.history}, then remove it: files are the truth"
        yield Finding("wrong", f"history cannot be read: {_message(error)}", advice)
        return
    if unfinished:
        advice = "the next change completes it by itself"
        yield Finding("note", f"a write was interrupted: {_names(sorted(unfinished))}", advice)


def _leftovers(app: Workspace, memory: OpenMemory) -> Iterator[Finding]:
    place = memory.place
    for path in sorted(place.directory.glob(".reverie-tmp-*")):
        advice = "the next change to memory removes it"
        yield Finding("note", f"left by a writer that died: {path.name}", advice)
    for path in sorted(place.state.glob("history.git.*")):
        yield Finding(
            "note", f"left by an interrupted forgetting: {shown_path(app, path)}", "remove it"
        )
    for path in sorted((place.state / "drafts").glob("[!.]*")):
        advice = f"go on with: reverie edit {path.name.replace('__', '/')}"
        yield Finding("note", f"an edit was not saved: {shown_path(app, path)}", advice)


def _projects(app: Workspace) -> Iterator[Finding]:
    former = {folder for folder, _ in app.adoption.former()}
    for folder, identity in app.adoption.orphans():
        if not (folder / "memory").is_dir() and not identity.adopted:
            continue
        if folder in former and not app.adoption.current:
            advice = f"this project was there: reverie adopt --from {folder.name}"
        else:
            advice = (
                f"if it moved: reverie adopt --from {folder.name}, there; if not, remove {folder}"
            )
        yield Finding("note", f"the project {identity.root} is gone, its memory is not", advice)


def _names(files: Iterable[str]) -> str:
    found = list(files)
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more
