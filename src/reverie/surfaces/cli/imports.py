"""`reverie import`: memories from elsewhere."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from reverie.errors import InputError
from reverie.keeper.wishes import Declined, Prepared, Wish
from reverie.memory.scopes import MemoryScope
from reverie.memory.taxonomy import TYPES, MemoryType
from reverie.surfaces.cli.figures import counted, printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import PERSON, opened, scope_option, undo_hint

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.keeper.imports import Found
    from reverie.keeper.keeper import Keeper
    from reverie.memory.revisions import Revision

# Where something goes, where it stood, and what becomes of it.
Row: TypeAlias = "tuple[OpenMemory, str, Prepared | Declined]"

_MARKDOWN = (".md",)
_EXPORTS = (".json", ".jsonl", ".af")


@reverie_command(name="import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="The type of all that has none.")
@click.option("--even-if-known", is_flag=True, help="Also what a memory here already says.")
@scope_option
def command(
    frame: Frame,
    paths: tuple[Path, ...],
    dry_run: bool,
    type_: MemoryType | None,
    even_if_known: bool,
    scope: MemoryScope | None,
) -> None:
    """Bring in memories from files of many kinds.

    A folder of markdown (one memory a file), an AGENTS.md or other single file (one memory for each
    thing it says), a Mem0 or Letta export, or what `reverie export` wrote. What is known here, is
    not memory, or holds a secret is reported. What an export has in its folder person/ is about
    you; the rest belongs to this project, unless --scope says otherwise.

    \b
    reverie import ~/notes --dry-run
    reverie import mem0-export.json agent.af
    """
    app = frame.app()
    found = [one for path in paths for one in _read(path)]
    if not found:
        raise InputError(f"there is nothing to import in {', '.join(map(str, paths))}")
    names = ", ".join(path.name for path in paths)
    outcomes: list[Row] = []
    made: list[tuple[OpenMemory, Revision]] = []
    for memory, pile in _piles(app, found, scope):
        judged = _judged(memory.keeper, pile, type_, even_if_known=even_if_known)
        outcomes += [(memory, source, what) for source, what in judged]
        fresh = [what for _, what in judged if isinstance(what, Prepared)]
        summary = f"import {counted(len(fresh), 'memory', 'memories')} from {names}"
        revision = None if dry_run else memory.keeper.save_all(fresh, PERSON, summary)
        made += [(memory, revision)] if revision is not None else []
    data = _as_json(outcomes, [revision for _, revision in made], dry_run=dry_run)
    frame.show(data, lambda console: _print(console, data, made))


def _piles(
    app: App, found: list[Found], scope: MemoryScope | None
) -> list[tuple[OpenMemory, list[Found]]]:
    """What goes to which memory; without one about the person, all of it to the project's."""
    if scope is not None or "person" not in app.scopes:
        return [(opened(app, scope), found)]
    piles: dict[MemoryScope, list[Found]] = {}
    for one in found:
        wanted = one.wish.scope if isinstance(one.wish, Wish) else None
        piles.setdefault(wanted or "project", []).append(one)
    return [(opened(app, wanted), pile) for wanted, pile in piles.items()]


def _read(path: Path) -> list[Found]:
    from reverie.keeper.imports import read_file, read_pile

    try:
        if not path.is_dir():
            return read_file(path.name, path.read_bytes())
        files = _inside(path, _MARKDOWN) or _inside(path, _EXPORTS)
        return read_pile({str(name): (path / name).read_bytes() for name in files})
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path} ({error.strerror})") from error


def _inside(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Files below a folder, hidden ones left out; links to folders are not followed."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(place).relative_to(folder)
        found += [here / name for name in sorted(files) if _counts(name, endings)]
    return found


def _counts(name: str, endings: tuple[str, ...]) -> bool:
    return name.endswith(endings) and not name.startswith(".")


def _judged(
    keeper: Keeper, found: list[Found], type_: MemoryType | None, *, even_if_known: bool
) -> list[tuple[str, Prepared | Declined]]:
    wishes = [one.wish for one in found if isinstance(one.wish, Wish)]
    judged = iter(
        keeper.prepare_all(
            replace(wish, type=wish.type or type_, even_if_known=even_if_known) for wish in wishes
        )
    )
    return [
        (one.source, one.wish if isinstance(one.wish, Declined) else next(judged)) for one in found
    ]


def _as_json(outcomes: list[Row], revisions: list[Revision], *, dry_run: bool) -> dict[str, Any]:
    return {
        "imported": [_saved_json(m, s, w) for m, s, w in outcomes if isinstance(w, Prepared)],
        "declined": [
            {"source": s, **asdict(what)} for _, s, what in outcomes if isinstance(what, Declined)
        ],
        "dry_run": dry_run,
        "revision": revisions[0].id if revisions else None,
        "revisions": [revision.id for revision in revisions],
    }


def _saved_json(of: OpenMemory, source: str, what: Prepared) -> dict[str, Any]:
    memory = what.topic
    return {
        "source": source,
        "file": of.label(memory.file),
        "name": memory.name,
        "type": memory.type,
        "dates": [{"before": change.before, "after": change.after} for change in what.dates],
        "secrets": list(what.secrets),
    }


def _print(console: Console, data: dict[str, Any], made: list[tuple[OpenMemory, Revision]]) -> None:
    imported, declined = data["imported"], data["declined"]
    verb = "Would import" if data["dry_run"] else "Imported"
    of = len(imported) + len(declined)
    lines = [f"{verb} {len(imported)} of {counted(of, 'memory', 'memories')}."]
    for row in imported:
        removed = f" (removed: {', '.join(row['secrets'])})" if row["secrets"] else ""
        lines.append(f"  + {row['file']}  {row['name']}{removed}")
    lines += [f"  - {row['source']}: {row['reason']}" for row in declined]
    lines += [f"  {undo_hint(revision, team=memory.team)}" for memory, revision in made]
    for line in lines:
        console.print(printable(line), soft_wrap=True)
