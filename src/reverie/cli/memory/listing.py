"""`reverie list` and `reverie index`: the memories, and MEMORY.md as it appears in every prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    counted,
    print_lines,
    reverie_command,
    styled,
    table,
)
from reverie.cli.memories import (
    PERSON,
    mention_former,
    opened,
    opened_for,
    require_team,
    scope_option,
    shown_path,
    team_option,
    tell_age,
    undo_hint,
)
from reverie.errors import InputError
from reverie.memory.format.index import MOST_BYTES, MOST_LINES, capped, rebuilt, render
from reverie.memory.format.taxonomy import SCOPES, TYPES, MemoryScope

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.memory.format.revisions import Revision
    from reverie.memory.opening import OpenMemory
    from reverie.workspace.handles import Which

_NONE: dict[str | None, str] = {
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
@click.option("--problems", "which", flag_value="problems", help="Only files with problems.")
@scope_option
def list_command(
    frame: Invocation, type_: str | None, which: Which | None, scope: MemoryScope | None
) -> None:
    """List the memories of this project, newest first.

    Includes memories about you (person/…) and of the team (team/…). Every command takes a memory by
    its id, its file name, or words of its title.

    \b
    reverie list --type feedback
    reverie list --archived
    reverie list --problems
    """
    from reverie.workspace.handles import ids_of, parts, rows_of, wanted

    app = frame.app()
    memories = parts(app) if scope is None else (opened(app, scope),)
    rows = rows_of(app, memories, ids_of(app))
    rows = [row for row in rows if wanted(row, which) and type_ in (None, row["type"])]
    tell_age(memories)
    if not rows:
        mention_former(app)
    where = app.memory_location.directory if scope is None else memories[0].place.directory
    footer = shown_path(app, where) + (_about(rows) if scope is None else "")
    frame.answer(rows, lambda out: print_lines(out, _list_lines(out.width, rows, which, footer)))


# Below these widths the column is left out.
_FOR_AGE = 70
_FOR_FILE = 110


def _list_lines(
    width: int, rows: list[dict[str, Any]], which: Which | None, where: str
) -> Iterator[RenderableType]:
    if not rows:
        yield _NONE.get(which, 'Nothing remembered yet. Begin with: reverie remember "…"')
        return
    last = "problem" if which == "problems" else "what it says"
    # A skipped file has no id, only a name.
    filed = width >= _FOR_FILE or any(row["skipped"] for row in rows)
    columns = ["id", "type", *(["memory"] if filed else [])]
    columns += ["changed"] if width >= _FOR_AGE else []
    keys = {"memory": "file", "changed": "age"}
    cells = (
        (
            *(row[keys.get(name, name)] or "–" for name in columns),
            row["problem"] or f"{_marks(row)}{_title(row)}",
        )
        for row in rows
    )
    shown = table(*columns, last, rows=cells)
    for column in shown.columns:
        column.no_wrap = column.header not in ("memory", last)
        column.overflow = "fold"
    yield shown
    yield styled(f"{counted(len(rows), 'memory', 'memories')} in {where}")


def _title(row: dict[str, Any]) -> str:
    """The title and the description, without repetition."""
    from reverie.text.words import said_once

    return said_once((row["name"] or row["file"], row["description"] or ""), ": ")


def _about(rows: list[dict[str, Any]]) -> str:
    """How many of the memories are about the user or the team's."""
    scopes = [row["scope"] for row in rows]
    found = [f", {scopes.count(one)} of them {_OTHERS[one]}" for one in _OTHERS if one in scopes]
    return "".join(found)


def _marks(row: dict[str, Any]) -> str:
    marks = ["pinned"] if row["pinned"] else []
    marks += [f"replaced by {row['superseded_by']}"] if row["superseded"] else []
    marks += ["archived"] if row["archived"] else []
    marks += [row["term"]] if row["term"] and not row["superseded"] else []
    return f"({', '.join(marks)}) " if marks else ""


_TITLES = {"person": "About you, in every project", "team": "Shared by the team"}


@reverie_command(name="index")
@click.option("--rebuild", is_flag=True, help="Rebuild it from the memories; other lines stay.")
@scope_option
def index(frame: Invocation, rebuild: bool, scope: MemoryScope | None) -> None:
    """Show MEMORY.md as it goes into every prompt.

    The indexes about you and of the team go into every prompt, too, and are shown below.

    \b
    reverie index --rebuild
    """
    memory = opened(frame.app(), scope)
    revision = _rebuild(memory) if rebuild else None
    data = _index_json(memory) | {"rebuilt": rebuild, "revision": revision.id if revision else None}
    others = [(other.scope, capped(other.store.index()).text) for other in memory.others]
    data["others"] = {scope: text for scope, text in others if text}
    frame.answer(data, _index_lines(data, revision, team=memory.team))


def _rebuild(memory: OpenMemory) -> Revision | None:
    entries = memory.store.entries()
    return memory.store.apply((), PERSON, "rebuild the index", lambda old: rebuilt(old, entries))


def _index_json(memory: OpenMemory) -> dict[str, Any]:
    index = memory.store.index()
    part = capped(index)
    listed = {pointer.file for pointer in index.pointers}
    files = {entry.file: entry.listed for entry in memory.store.entries()}
    return {
        "text": part.text,
        "lines": len(index.lines),
        "bytes": len(render(index)),
        "pointers": len(index.pointers),
        "hidden": part.hidden,
        "limit": part.limit,
        "more": index.more,
        "dangling": sorted(listed - files.keys()),
        "unlisted": sorted(f for f, wanted in files.items() if wanted and f not in listed),
    }


def _index_lines(
    data: dict[str, Any], revision: Revision | None, *, team: bool
) -> Iterator[RenderableType]:
    yield data["text"].rstrip("\n") or "The index is empty."
    yield from map(styled, _index_summary(data))
    for scope, other in data["others"].items():
        yield styled(f"\n{_TITLES[scope]} ({scope}/MEMORY.md):", "bold")
        yield other.rstrip("\n")
    if revision is not None:
        yield undo_hint(revision, team=team)
    elif data["rebuilt"]:
        yield "It was up to date already."


def _index_summary(data: dict[str, Any]) -> list[str]:
    sizes = f"{data['lines']} of {MOST_LINES} lines, {data['bytes']:,} of {MOST_BYTES:,} bytes"
    pointers = counted(data["hidden"], "pointer is", "pointers are")
    hidden = f"{pointers} hidden by the limit of {data['limit']}"
    lines = [f"{sizes}; {hidden if data['limit'] else 'nothing is hidden'}"]
    if data["dangling"]:
        lines.append(f"lead nowhere: {', '.join(data['dangling'])} (reverie index --rebuild)")
    if len(data["unlisted"]) > data["more"]:
        count = counted(len(data["unlisted"]), "memory", "memories")
        lines.append(f"not in it: {count} (reverie index --rebuild)")
    return lines


@reverie_command(name="pin")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option("--off", is_flag=True, help="Unpin it.")
@team_option
def pin(frame: Invocation, what: tuple[str, ...], off: bool, team: bool) -> None:
    """Keep a memory first in the index.

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    \b
    reverie pin feedback_real_database.md
    reverie pin feedback_real_database.md --off
    """
    memory, name = opened_for(frame.app(), " ".join(what), team=team)
    revision = memory.keeper.pin(name, PERSON, pinned=not off)
    shown = memory.label(name)
    data = {
        "file": shown,
        "pinned": not off,
        "changed": revision is not None,
        "revision": revision.id if revision else None,
    }
    verb = "unpinned" if off else "pinned"
    if revision is None:
        lines = [f"{shown} was {verb} already."]
    else:
        place = [] if off else ["  it is now first in the index"]
        undo = f"  {undo_hint(revision, team=memory.team)}"
        lines = [f"{verb.capitalize()} {shown}", *place, undo]
    frame.show(data, lines)


@reverie_command(name="retire")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option("--by", metavar="MEMORY", help="The memory that holds the newer value.")
@click.option("--off", is_flag=True, help="Restore it; the memory that replaced it is kept.")
@team_option
def retire(frame: Invocation, what: tuple[str, ...], by: str | None, off: bool, team: bool) -> None:
    """Mark a memory as replaced by another, or restore it; both are kept.

    MEMORY is a file name, a short id from `reverie list`, or words of the title.

    \b
    reverie retire project_port_8080.md --by project_port_8443.md
    reverie retire project_port_8080.md --off
    """
    if bool(by) == off:
        raise click.UsageError("say which memory replaces it (--by MEMORY), or --off to restore it")
    from reverie.memory.changes.draft import Declined

    app = frame.app()
    memory, name = opened_for(app, " ".join(what), team=team)
    shown = memory.label(name)
    if by:
        newer_memory, newer = opened_for(app, by, team=team)
        if newer_memory.place != memory.place:
            raise InputError(f"{shown} and {by} are in different memories; move one of them first")
        by = newer_memory.label(newer)
        outcome = memory.keeper.retire(name, newer, PERSON)
        if isinstance(outcome, Declined):
            raise InputError("; ".join(filter(None, (outcome.reason, outcome.advice))))
        revision: Revision | None = outcome.revision
    else:
        revision = memory.keeper.restore(name, PERSON)
    message = f"{shown} is valid again" if off else f"{shown} is replaced by {by} and kept"
    data = {"file": shown, "by": by, "retired": not off, "revision": revision and revision.id}
    undo = [f"  {undo_hint(revision, team=memory.team)}"] if revision else []
    frame.show(data, [message, *undo])


_MEANINGS: dict[str, str] = {
    "project": "it belongs to this project",
    "person": "about you: known in every project",
    "team": "shared with the team at the next `reverie team sync`",
}


@reverie_command(name="move")
@click.argument("what", nargs=-1, required=True, metavar="MEMORY")
@click.option(
    "--scope", type=click.Choice(SCOPES), required=True, help="The new scope of the memory."
)
def move(frame: Invocation, what: tuple[str, ...], scope: MemoryScope) -> None:
    """Move a memory to the project, to you in every project, or to the team.

    MEMORY is a file name, a short id from `reverie list`, or words of the title. Both histories
    keep the change; to reverse it, move the memory back.

    \b
    reverie move feedback_short_answers.md --scope person
    reverie move person/feedback_short_answers.md --scope project
    """
    app = frame.app()
    require_team(app, team=scope == "team")
    memory, name = opened_for(app, " ".join(what))
    old = memory.label(name)
    fresh = app.move(old, scope, PERSON)
    data = {"from": old, "file": fresh, "scope": scope}
    back = f"  to reverse this: reverie move {fresh} --scope {memory.scope}"
    frame.show(data, [f"Moved {old} to {fresh}", f"  {_MEANINGS[scope]}", back])
