"""Resolves a name to a memory's file, over all memories of a project, and lists them as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reverie.errors import InputError
from reverie.memory.changes import handles
from reverie.memory.format.attachment import term, words

if TYPE_CHECKING:
    from reverie.memory.format.manifest import ManifestEntry
    from reverie.memory.format.taxonomy import MemoryScope
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

# Ways of naming that identify one memory; words of a title are a search.
EXACT: tuple[handles.How, ...] = ("file", "id", "title")


@dataclass(frozen=True, slots=True)
class Located:
    """A memory, its file there, and how it was named."""

    memory: OpenMemory
    file: str
    how: handles.How


def parts(app: Workspace, scope: MemoryScope | None = None) -> tuple[OpenMemory, ...]:
    """The memories in use: the project's, the person's and the team's, or only that of one scope."""
    return app.memory().parts if scope is None else (app.memory(scope),)


def labelled(app: Workspace) -> Sequence[ManifestEntry]:
    """Every memory under its displayed name, newest first."""
    return app.memory().topics.entries()


def ids_of(app: Workspace) -> dict[str, str]:
    """The short id of every memory, by its displayed name."""
    return handles.short_ids(entry.file for entry in labelled(app))


def locate(
    app: Workspace, wanted: str, scope: MemoryScope | None = None
) -> Located | handles.Ambiguous | handles.Missing:
    """Find a memory by file name (also a path, also without .md), id, title or words of it."""
    found = {
        memory.label(entry.file): (memory, entry)
        for memory in parts(app, scope)
        for entry in memory.store.entries()
    }
    shown = [replace(entry, file=label) for label, (_, entry) in found.items()]
    resolved = handles.resolve(wanted, shown)
    if isinstance(resolved, handles.Found):
        memory, entry = found[resolved.file]
        return Located(memory, entry.file, resolved.how)
    memory, name = app.memory_of(wanted, scope)
    file = name if name.endswith(".md") else f"{name}.md"
    try:
        return resolved if memory.store.read(file) is None else Located(memory, file, "file")
    except InputError:
        return resolved


def is_known(app: Workspace, wanted: str) -> bool:
    """Whether a name fits a memory; opens no file."""
    return isinstance(handles.resolve(wanted, labelled(app)), handles.Found)


def required(
    app: Workspace,
    wanted: str,
    scope: MemoryScope | None = None,
    *,
    ways: Sequence[handles.How] = (),
    listed_by: str = "`reverie list`",
) -> tuple[OpenMemory, str]:
    """The named memory and its file; otherwise an InputError that lists possible ones.

    `ways` restricts how it may be named; by default all ways are allowed.
    """
    found = locate(app, wanted, scope)
    if isinstance(found, Located):
        if not ways or found.how in ways:
            return found.memory, found.file
        found = handles.Missing((found.memory.label(found.file),))
    raise InputError(handles.explained(wanted, found, listed_by))


def locate_or_gone(
    app: Workspace, wanted: str, scope: MemoryScope | None = None
) -> Located | handles.Ambiguous | handles.Missing:
    """Find an existing memory, or a removed one in history; words of a title are tried last."""
    found = locate(app, wanted, scope)
    if isinstance(found, Located) and found.how in EXACT:
        return found
    for memory in parts(app, scope):
        if (file := _gone(memory, wanted)) is not None:
            return Located(memory, file, "file")
    return found


def required_or_gone(
    app: Workspace, wanted: str, scope: MemoryScope | None = None
) -> tuple[OpenMemory, str]:
    """Like `required`, but also finds removed memories by file name or id in history."""
    found = locate_or_gone(app, wanted, scope)
    if isinstance(found, Located):
        return found.memory, found.file
    if found == handles.Missing():
        raise InputError(f"no memory {wanted!r}, and no change to it in history; {_SEE_ALL}")
    raise InputError(handles.explained(wanted, found))


_SEE_ALL = "`reverie list` and `reverie log` show them all"


def _gone(memory: OpenMemory, wanted: str) -> str | None:
    """The file of a memory that exists only in history, by its name or id."""
    file = wanted if wanted.endswith(".md") else f"{wanted}.md"
    former = {memory.label(one): one for revision in memory.history.log() for one in revision.files}
    if file in former or memory.label(file) in former:
        return former.get(file) or former[memory.label(file)]
    fitting = [
        one for shown, one in former.items() if handles.full_id(shown).startswith(wanted.lower())
    ]
    return fitting[0] if len(fitting) == 1 and handles.is_id(wanted) else None


Which: TypeAlias = Literal["all", "archived", "problems"]


def wanted(row: dict[str, Any], which: Which | None) -> bool:
    match which:
        case "all":
            return True
        case "archived":
            return bool(row["archived"])
        case "problems":
            return bool(row["problem"])
        case None:
            return not (row["superseded"] or row["archived"] or row["skipped"])


def rows_of(
    app: Workspace, memories: Sequence[OpenMemory], ids: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A row for each memory, newest first, then for each skipped file."""
    now = datetime.fromtimestamp(app.clock.now(), UTC).astimezone()
    found = [(entry, memory) for memory in memories for entry in memory.store.entries()]
    found.sort(key=lambda pair: pair[0].mtime, reverse=True)
    rows = [
        {"id": ids.get(memory.label(entry.file)), **row_of(memory, entry, now)}
        for entry, memory in found
    ]
    for memory, skipped in ((one, skipped) for one in memories for skipped in one.store.skipped):
        unknown = ("name", "type", "description", "changed", "age", "superseded_by")
        empty = dict.fromkeys((*unknown, "valid_from", "valid_until", "term"))
        flags = dict.fromkeys(("pinned", "superseded", "archived"), False)
        why = {"skipped": True, "problem": skipped.reason, "scope": memory.scope}
        rows.append({"id": None, "file": memory.label(skipped.file), **empty, **flags, **why})
    return rows


def row_of(
    memory: OpenMemory, entry: ManifestEntry, now: datetime, *, label: str = ""
) -> dict[str, Any]:
    """A memory as a row; `label` is its displayed name, where that is known already."""
    return {
        "file": label or memory.label(entry.file),
        "name": entry.name,
        "type": entry.type,
        "description": entry.description,
        "changed": entry.mtime.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "age": words(entry.mtime, now),
        "pinned": entry.pinned,
        "superseded": entry.superseded,
        "superseded_by": memory.label(newer) if (newer := entry.superseded_by) else None,
        "archived": entry.archived,
        "valid_from": entry.valid_from,
        "valid_until": entry.valid_until,
        "term": term(entry.valid_from, entry.valid_until, now) or None,
        "skipped": False,
        "problem": entry.problem,
        "scope": memory.scope,
    }
