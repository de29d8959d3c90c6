"""`reverie import`: import memories from other files."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, opened, scope_option, undo_hint
from reverie.errors import InputError
from reverie.memory.changes.draft import Declined, Prepared
from reverie.memory.format.taxonomy import TYPES, MemoryScope, MemoryType

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.api.importing import ImportPlan
    from reverie.memory.opening import OpenMemory


@reverie_command(name="import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@click.option("-y", "--yes", is_flag=True, help="Import without asking, on a terminal.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="The type for items without one.")
@click.option("--even-if-known", is_flag=True, help="Also items that a memory already says.")
@scope_option
def command(
    frame: Invocation,
    paths: tuple[Path, ...],
    dry_run: bool,
    yes: bool,
    type_: MemoryType | None,
    even_if_known: bool,
    scope: MemoryScope | None,
) -> None:
    """Import memories from files of many kinds.

    PATHS are folders of markdown such as an Obsidian vault or basic-memory's notes (one memory per
    file), an AGENTS.md, CLAUDE.md, GEMINI.md or other single file (one memory per statement), exports
    of Mem0, Letta, Claude.ai or ChatGPT, or of `reverie export`. Items that are known, are not
    memories, or contain a secret are reported. The folder person/ of an export is about you; the rest
    goes to this project, unless --scope says otherwise. On a terminal the plan is shown first.

    \b
    reverie import ~/notes --dry-run
    reverie import mem0-export.json agent.af
    """
    app = frame.app()
    from reverie.api.importing import plan_import, read_path

    found = [one for path in paths for one in read_path(path, app.project.root)]
    if not found:
        raise InputError(f"there is nothing to import in {', '.join(map(str, paths))}")
    if scope is not None:
        # The team's memory must be turned on.
        opened(app, scope)
    plan = plan_import(app, found, scope, type_, even_if_known=even_if_known)
    if sys.stdin.isatty() and not (yes or dry_run or frame.as_json):
        shown = _as_json(plan, dry_run=True)
        frame.show(shown, lambda console: _print(console, shown, plan))
        if not plan.files or not click.confirm("Import these?"):
            return
    if not dry_run:
        plan.save(PERSON, ", ".join(path.name for path in paths))
    data = _as_json(plan, dry_run=dry_run)
    frame.show(data, lambda console: _print(console, data, plan))


def _as_json(plan: ImportPlan, *, dry_run: bool) -> dict[str, Any]:
    revisions = [revision for _, revision in plan.revisions]
    return {
        "imported": [
            {**_saved_json(memory, one.source, one.what), "dropped": list(one.dropped)}
            for memory, one in plan
            if isinstance(one.what, Prepared)
        ],
        "declined": [
            {"source": one.source, **asdict(one.what)}
            for _, one in plan
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


def _print(console: Console, data: dict[str, Any], plan: ImportPlan) -> None:
    imported, declined = data["imported"], data["declined"]
    verb = "Would import" if data["dry_run"] else "Imported"
    of = len(imported) + len(declined)
    lines = [f"{verb} {len(imported)} of {counted(of, 'memory', 'memories')}."]
    for row in imported:
        removed = f" (removed: {', '.join(row['secrets'])})" if row["secrets"] else ""
        left = f" (not taken over: {', '.join(row['dropped'])})" if row["dropped"] else ""
        lines.append(f"  + {row['file']}  {row['name']}{removed}{left}")
    lines += [f"  - {row['source']}: {row['reason']}" for row in declined]
    lines += [f"  {undo_hint(revision, team=memory.team)}" for memory, revision in plan.revisions]
    for line in lines:
        console.print(printable(line), soft_wrap=True)
