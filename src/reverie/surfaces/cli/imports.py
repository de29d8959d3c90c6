"""`reverie import`: memories from elsewhere."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.errors import InputError
from reverie.keeper.wishes import Declined, Prepared, Wish
from reverie.memory.taxonomy import TYPES, MemoryType
from reverie.surfaces.cli.figures import counted, printable
from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import PERSON, opened, team_option, undo_hint

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.keeper.imports import Found
    from reverie.keeper.keeper import Keeper
    from reverie.memory.revisions import Revision

_MARKDOWN = (".md",)
_EXPORTS = (".json", ".jsonl", ".af")


@reverie_command(name="import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="The type of all that has none.")
@click.option("--even-if-known", is_flag=True, help="Also what a memory here already says.")
@team_option
def command(
    frame: Frame,
    paths: tuple[Path, ...],
    dry_run: bool,
    type_: MemoryType | None,
    even_if_known: bool,
    team: bool,
) -> None:
    """Bring in memories from files of many kinds.

    A folder of markdown (one memory a file), an AGENTS.md or other single file (one memory for each
    thing it says), a Mem0 or Letta export, or what `reverie export` wrote. What is known here, is
    not memory, or holds a secret is reported.

    \b
    reverie import ~/notes --dry-run
    reverie import mem0-export.json agent.af
    """
    memory = opened(frame.app(), team=team)
    found = [one for path in paths for one in _read(path)]
    if not found:
        raise InputError(f"there is nothing to import in {', '.join(map(str, paths))}")
    outcomes = _judged(memory.keeper, found, type_, even_if_known=even_if_known)
    fresh = [what for _, what in outcomes if isinstance(what, Prepared)]
    names = ", ".join(path.name for path in paths)
    summary = f"import {counted(len(fresh), 'memory', 'memories')} from {names}"
    revision = None if dry_run else memory.keeper.save_all(fresh, PERSON, summary)
    data = _as_json(outcomes, revision, dry_run=dry_run)
    frame.show(data, lambda console: _print(console, data, revision, team=team))


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


def _as_json(
    outcomes: list[tuple[str, Prepared | Declined]], revision: Revision | None, *, dry_run: bool
) -> dict[str, Any]:
    return {
        "imported": [_saved_json(s, what) for s, what in outcomes if isinstance(what, Prepared)],
        "declined": [
            {"source": s, **asdict(what)} for s, what in outcomes if isinstance(what, Declined)
        ],
        "dry_run": dry_run,
        "revision": revision.id if revision else None,
    }


def _saved_json(source: str, what: Prepared) -> dict[str, Any]:
    memory = what.topic
    return {
        "source": source,
        "file": memory.file,
        "name": memory.name,
        "type": memory.type,
        "dates": [{"before": change.before, "after": change.after} for change in what.dates],
        "secrets": list(what.secrets),
    }


def _print(
    console: Console, data: dict[str, Any], revision: Revision | None, *, team: bool
) -> None:
    imported, declined = data["imported"], data["declined"]
    verb = "Would import" if data["dry_run"] else "Imported"
    of = len(imported) + len(declined)
    lines = [f"{verb} {len(imported)} of {counted(of, 'memory', 'memories')}."]
    for row in imported:
        removed = f" (removed: {', '.join(row['secrets'])})" if row["secrets"] else ""
        lines.append(f"  + {row['file']}  {row['name']}{removed}")
    lines += [f"  - {row['source']}: {row['reason']}" for row in declined]
    if revision is not None:
        lines.append(f"  {undo_hint(revision, team=team)}")
    for line in lines:
        console.print(printable(line), soft_wrap=True)
