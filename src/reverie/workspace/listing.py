"""The memories of a project as rows: for the list on the command line and in the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reverie.memory.format.age import term, words

if TYPE_CHECKING:
    from reverie.memory.format.manifest import ManifestEntry
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

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
        "changed": _iso(entry.mtime),
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


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
