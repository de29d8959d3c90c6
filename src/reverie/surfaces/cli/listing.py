"""`reverie list`: what is remembered."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from reverie.memory.taxonomy import TYPES
from reverie.surfaces.cli.figures import printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import (
    iso,
    label,
    mention_former,
    opened,
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

    \b
    reverie list --type feedback
    reverie list --archived
    reverie list --problems
    """
    app = frame.app()
    rows = [row for memory in _memories(app, team=team) for row in _rows(app, memory)]
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


def _memories(app: App, *, team: bool) -> list[OpenMemory]:
    """Both, when team memory is on; with --team only that one."""
    if team:
        return [opened(app, team=True)]
    shared = [app.memory(team=True)] if app.settings.flag("features.team") else []
    return [app.memory(), *shared]


def _rows(app: App, memory: OpenMemory) -> list[dict[str, Any]]:
    now = datetime.fromtimestamp(app.clock.now(), UTC).astimezone()
    rows = [_row(label(memory, entry.file), entry, now) for entry in memory.store.entries()]
    for skipped in memory.store.skipped:
        unknown = ("name", "type", "description", "changed", "age")
        empty = dict.fromkeys((*unknown, "valid_from", "valid_until", "term"))
        flags = dict.fromkeys(("pinned", "superseded", "archived"), False)
        why = {"skipped": True, "problem": skipped.reason}
        rows.append({"file": label(memory, skipped.file), **empty, **flags, **why})
    return rows


def _row(file: str, entry: ManifestEntry, now: datetime) -> dict[str, Any]:
    from reverie.memory.age import term, words

    return {
        "file": file,
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
    }


def _print(console: Console, app: App, rows: list[dict[str, Any]], which: Which | None) -> None:
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
    console.print(
        f"{count} in {shown_path(app, app.memory_place.directory)}", style="dim", soft_wrap=True
    )


def _marks(row: dict[str, Any]) -> str:
    marks = [word for word in ("pinned", "superseded", "archived") if row[word]]
    marks += [row["term"]] if row["term"] and not row["superseded"] else []
    return f"({', '.join(marks)}) " if marks else ""
