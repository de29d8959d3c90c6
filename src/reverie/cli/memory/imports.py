"""`reverie import`: import memories from other files."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import click

from reverie.cli.formatting import counted, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, opened, scope_option, undo_hint
from reverie.errors import InputError
from reverie.memory.changes.draft import Declined, NewMemory, Prepared
from reverie.memory.format.taxonomy import TYPES, MemoryScope, MemoryType

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.changes.imports import Found
    from reverie.memory.changes.keeper import Keeper
    from reverie.memory.format.revisions import Revision
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

_MARKDOWN = (".md",)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Judged(NamedTuple):
    """An imported item: its source, the decision, and the keys that were dropped."""

    source: str
    what: Prepared | Declined
    dropped: tuple[str, ...]


# The memory an item goes to, and the decision.
Row: TypeAlias = "tuple[OpenMemory, Judged]"


@reverie_command(name="import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="The type for items without one.")
@click.option("--even-if-known", is_flag=True, help="Also items that a memory already says.")
@scope_option
def command(
    frame: Invocation,
    paths: tuple[Path, ...],
    dry_run: bool,
    type_: MemoryType | None,
    even_if_known: bool,
    scope: MemoryScope | None,
) -> None:
    """Import memories from files of many kinds.

    PATHS are folders of markdown (one memory per file), an AGENTS.md or other single file (one
    memory per statement), Mem0 or Letta exports, or exports of `reverie export`. Items that are
    known, are not memories, or contain a secret are reported. The folder person/ of an export is
    about you; the rest goes to this project, unless --scope says otherwise.

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
    for memory, items in _grouped(app, found, scope):
        judged = _judged(memory.keeper, items, type_, even_if_known=even_if_known)
        outcomes += [(memory, one) for one in judged]
        fresh = [one.what for one in judged if isinstance(one.what, Prepared)]
        summary = f"import {counted(len(fresh), 'memory', 'memories')} from {names}"
        revision = None if dry_run else memory.keeper.save_all(fresh, PERSON, summary)
        made += [(memory, revision)] if revision is not None else []
    data = _as_json(outcomes, [revision for _, revision in made], dry_run=dry_run)
    frame.show(data, lambda console: _print(console, data, made))


def _grouped(
    app: Workspace, found: list[Found], scope: MemoryScope | None
) -> list[tuple[OpenMemory, list[Found]]]:
    """Group items by target memory; if there is no person memory, all go to the project."""
    if scope is not None or "person" not in app.scopes:
        return [(opened(app, scope), found)]
    groups: dict[MemoryScope, list[Found]] = {}
    for one in found:
        wanted = one.wish.scope if isinstance(one.wish, NewMemory) else None
        groups.setdefault(wanted or "project", []).append(one)
    return [(opened(app, wanted), items) for wanted, items in groups.items()]


def _read(path: Path) -> list[Found]:
    from reverie.memory.changes.imports import EXPORTS, LARGEST_PILE, Found, read_file, read_pile

    try:
        if not path.is_dir():
            data = _content(path, LARGEST_PILE)
            return [Found(path.name, data)] if isinstance(data, Declined) else read_file(path.name, data)  # fmt: skip
        files: dict[str, bytes] = {}
        refused: list[Found] = []
        room = LARGEST_PILE
        for name in map(str, _inside(path, _MARKDOWN) or _inside(path, EXPORTS)):
            data = _content(path / name, room)
            if isinstance(data, Declined):
                refused.append(Found(name, data))
            else:
                files[name] = data
                room -= len(data)
        return [*read_pile(files), *refused]
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path} ({error.strerror})") from error


def _content(path: Path, room: int) -> bytes | Declined:
    """The bytes of a regular file within the limit; links, pipes and devices are never read."""
    try:
        opened = os.open(path, _READ)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return Declined("it is a link", "import the file it leads to")
        if error.errno == errno.ENXIO:
            return Declined("it is not a plain file")
        raise
    with os.fdopen(opened, "rb") as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            return Declined("it is not a plain file")
        # A file may grow while it is read, and some report size 0.
        data = file.read(room + 1) if seen.st_size <= room else b""
        if seen.st_size > room or len(data) > room:
            return Declined(f"it is too large: {room:,} bytes may still be imported", "split it")
        return data


def _inside(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Files below a folder, without hidden ones; links to folders are not followed."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(place).relative_to(folder)
        found += [here / name for name in sorted(files) if _is_wanted(name, endings)]
    return found


def _is_wanted(name: str, endings: tuple[str, ...]) -> bool:
    return name.endswith(endings) and not name.startswith(".")


def _judged(
    keeper: Keeper, found: list[Found], type_: MemoryType | None, *, even_if_known: bool
) -> list[Judged]:
    new = [one.wish for one in found if isinstance(one.wish, NewMemory)]
    judged = iter(
        keeper.prepare_all(
            replace(item, type=item.type or type_, even_if_known=even_if_known) for item in new
        )
    )
    return [
        Judged(
            one.source, one.wish if isinstance(one.wish, Declined) else next(judged), one.dropped
        )
        for one in found
    ]


def _as_json(outcomes: list[Row], revisions: list[Revision], *, dry_run: bool) -> dict[str, Any]:
    return {
        "imported": [
            {**_saved_json(memory, one.source, one.what), "dropped": list(one.dropped)}
            for memory, one in outcomes
            if isinstance(one.what, Prepared)
        ],
        "declined": [
            {"source": one.source, **asdict(one.what)}
            for _, one in outcomes
            if isinstance(one.what, Declined)
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
        left = f" (not taken over: {', '.join(row['dropped'])})" if row["dropped"] else ""
        lines.append(f"  + {row['file']}  {row['name']}{removed}{left}")
    lines += [f"  - {row['source']}: {row['reason']}" for row in declined]
    lines += [f"  {undo_hint(revision, team=memory.team)}" for memory, revision in made]
    for line in lines:
        console.print(printable(line), soft_wrap=True)
