"""`reverie list`: what is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from reverie.memory.scopes import MemoryScope
from reverie.memory.taxonomy import TYPES
from reverie.surfaces.cli.figures import printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import (
    iso,
    mention_former,
    opened,
    scope_option,
    shown_path,
)

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.memory.manifest import ManifestEntry

Which: TypeAlias = Literal["all", "archived", "problems"]

_NONE: dict[Which | None, str] = {
    "archived": "Nothing is archived.",
    "problems": "No file has a problem.",
}


_OTHERS: dict[MemoryScope, str] = {
    "person": "about you (in every project)",
    "team": "the team's",
}


@reverie_command(name="list")
@click.option("--type", "type_", type=click.Choice(TYPES), help="Only memories of this type.")
@click.option("--all", "which", flag_value="all", help="Also what was superseded or archived.")
@click.option("--archived", "which", flag_value="archived", help="Only what was archived.")
@click.option(
    "--problems",
    "which",
    flag_value="problems",
    help="Only files that cannot be read as they should.",
)
@scope_option
def command(
    frame: Frame, type_: str | None, which: Which | None, scope: MemoryScope | None
) -> None:
    """The memories of this project, newest first.

    Those about you (person/…) and of the team (team/…) come with them.

    \b
    reverie list --type feedback
    reverie list --archived
    reverie list --problems
    """
    app = frame.app()
    memories = app.memory().parts if scope is None else (opened(app, scope),)
    rows = _rows(app, memories)
    rows = [row for row in rows if _wanted(row, which) and type_ in (None, row["type"])]
    if not rows:
        mention_former(app)
    where = app.memory_place.directory if scope is None else memories[0].place.directory
    told = shown_path(app, where) + (_about(rows) if scope is None else "")
    frame.show(rows, lambda console: _print(console, rows, which, told))


def _wanted(row: dict[str, Any], which: Which | None) -> bool:
    match which:
        case "all":
            return True
        case "archived":
            return bool(row["archived"])
        case "problems":
            return bool(row["problem"])
        case None:
            return not (row["superseded"] or row["archived"] or row["skipped"])


def _rows(app: App, memories: Sequence[OpenMemory]) -> list[dict[str, Any]]:
    """All of them, newest first; what is no memory comes last."""
    now = datetime.fromtimestamp(app.clock.now(), UTC).astimezone()
    found = [(entry, memory) for memory in memories for entry in memory.store.entries()]
    found.sort(key=lambda pair: pair[0].mtime, reverse=True)
    rows = [_row(memory, entry, now) for entry, memory in found]
    for memory, skipped in ((one, skipped) for one in memories for skipped in one.store.skipped):
        unknown = ("name", "type", "description", "changed", "age")
        empty = dict.fromkeys((*unknown, "valid_from", "valid_until", "term"))
        flags = dict.fromkeys(("pinned", "superseded", "archived"), False)
        why = {"skipped": True, "problem": skipped.reason, "scope": memory.scope}
        rows.append({"file": memory.label(skipped.file), **empty, **flags, **why})
    return rows


def _row(memory: OpenMemory, entry: ManifestEntry, now: datetime) -> dict[str, Any]:
    from reverie.memory.age import term, words

    return {
        "file": memory.label(entry.file),
        "name": entry.name,
        "type": entry.type,
        "description": entry.description,
        "changed": iso(entry.mtime.timestamp()),
        "age": words(entry.mtime, now),
        "pinned": entry.pinned,
        "superseded": entry.superseded,
        "archived": entry.archived,
        "valid_from": entry.valid_from,
        "valid_until": entry.valid_until,
        "term": term(entry.valid_from, entry.valid_until, now) or None,
        "skipped": False,
        "problem": entry.problem,
        "scope": memory.scope,
    }


def _print(console: Console, rows: list[dict[str, Any]], which: Which | None, where: str) -> None:
    from rich.table import Table

    if not rows:
        console.print(_NONE.get(which, 'Nothing remembered yet. Begin with: reverie remember "…"'))
        return
    told = "problem" if which == "problems" else "what it says"
    table = Table("type", "memory", "changed", told, box=None, pad_edge=False)
    for column in table.columns[:3]:
        column.no_wrap = True
    table.columns[3].no_wrap, table.columns[3].overflow = True, "ellipsis"
    for row in rows:
        said = row["problem"] or f"{_marks(row)}{row['description'] or row['name']}"
        table.add_row(
            row["type"] or "–", printable(row["file"]), row["age"] or "–", printable(said)
        )
    console.print(table)
    count = "1 memory" if len(rows) == 1 else f"{len(rows)} memories"
    console.print(f"{count} in {where}", style="dim", soft_wrap=True)


def _about(rows: list[dict[str, Any]]) -> str:
    """How many of them lie elsewhere."""
    scopes = [row["scope"] for row in rows]
    found = [f", {scopes.count(one)} of them {_OTHERS[one]}" for one in _OTHERS if one in scopes]
    return "".join(found)


def _marks(row: dict[str, Any]) -> str:
    marks = [word for word in ("pinned", "superseded", "archived") if row[word]]
    marks += [row["term"]] if row["term"] and not row["superseded"] else []
    return f"({', '.join(marks)}) " if marks else ""
