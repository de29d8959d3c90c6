"""`reverie list`: what is remembered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from reverie.memory.taxonomy import TYPES
from reverie.surfaces.cli.figures import counted, printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import (
    iso,
    label,
    mention_former,
    require_team,
    shown_path,
    team_option,
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
@team_option
def command(frame: Frame, type_: str | None, which: Which | None, team: bool) -> None:
    """The memories of this project, newest first.

    Every command takes a memory by its id, its file name, or words of its title.

    \b
    reverie list --type feedback
    reverie list --archived
    reverie list --problems
    """
    from reverie.app.handles import ids_of, shelves

    app = frame.app()
    require_team(app, team=team)
    ids = ids_of(app)
    rows = [row for memory in shelves(app, team=team) for row in _rows(app, memory, ids)]
    rows = [row for row in rows if _wanted(row, which) and type_ in (None, row["type"])]
    if not rows:
        mention_former(app)
    frame.show(rows, lambda console: _print(console, app, rows, which))


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


def _rows(app: App, memory: OpenMemory, ids: Mapping[str, str]) -> list[dict[str, Any]]:
    now = datetime.fromtimestamp(app.clock.now(), UTC).astimezone()
    rows = []
    for entry in memory.store.entries():
        file = label(memory, entry.file)
        rows.append({"id": ids[file], "file": file, **_row(entry, now)})
    for skipped in memory.store.skipped:
        empty = dict.fromkeys(("name", "type", "description", "changed", "age"))
        flags = dict.fromkeys(("pinned", "superseded", "archived", "expired"), False)
        why = {"skipped": True, "problem": skipped.reason}
        ends = {"superseded_by": None, "valid_until": None}
        file = label(memory, skipped.file)
        rows.append({"id": None, "file": file, **empty, **flags, **ends, **why})
    return rows


def _row(entry: ManifestEntry, now: datetime) -> dict[str, Any]:
    from reverie.memory.age import has_ended, words

    return {
        "name": entry.name,
        "type": entry.type,
        "description": entry.description,
        "changed": iso(entry.mtime.timestamp()),
        "age": words(entry.mtime, now),
        "pinned": entry.pinned,
        "superseded": entry.superseded,
        "superseded_by": entry.superseded_by or None,
        "archived": entry.archived,
        "expired": has_ended(entry.valid_until, now),
        "valid_until": entry.valid_until or None,
        "skipped": False,
        "problem": entry.problem,
    }


# Below these widths a column is left out, and text goes over several lines.
_FOR_AGE = 70
_FOR_FILE = 110


def _print(console: Console, app: App, rows: list[dict[str, Any]], which: Which | None) -> None:
    from rich.table import Table

    if not rows:
        console.print(_NONE.get(which, 'Nothing remembered yet. Begin with: reverie remember "…"'))
        return
    told = "problem" if which == "problems" else "what it says"
    # A file that is no memory has no id: it is known by its name alone.
    filed = console.width >= _FOR_FILE or any(row["skipped"] for row in rows)
    columns = ["id", "type", *(["memory"] if filed else [])]
    columns += ["changed"] if console.width >= _FOR_AGE else []
    table = Table(*columns, told, box=None, pad_edge=False)
    for column in table.columns[:-1]:
        column.no_wrap = column.header != "memory"
        column.overflow = "fold"
    table.columns[-1].overflow = "fold"
    for row in rows:
        cells = {
            "id": row["id"] or "–",
            "type": row["type"] or "–",
            "memory": printable(row["file"]),
            "changed": row["age"] or "–",
        }
        said = row["problem"] or f"{_marks(row)}{_said(row)}"
        table.add_row(*(cells[name] for name in columns), printable(said))
    console.print(table)
    where = shown_path(app, app.memory_place.directory)
    count = counted(len(rows), "memory", "memories")
    console.print(f"{count} in {where}", style="dim", soft_wrap=True)


def _said(row: dict[str, Any]) -> str:
    """The title and the description, each if it says something of its own."""
    from reverie.text.words import said_once

    return said_once((row["name"] or row["file"], row["description"] or ""), ": ")


def _marks(row: dict[str, Any]) -> str:
    marks = ["pinned"] if row["pinned"] else []
    if row["superseded"]:
        marks.append(f"replaced by {row['superseded_by']}")
    marks += ["archived"] if row["archived"] else []
    marks += (
        [f"expired {row['valid_until'][:10]}"] if row["expired"] and not row["superseded"] else []
    )
    return f"({', '.join(marks)}) " if marks else ""
