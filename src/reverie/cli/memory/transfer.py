"""`reverie import`, `export` and `adopt`: memories from other files, to other files, and in place."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import Invocation, counted, reverie_command
from reverie.cli.memories import PERSON, opened, private, scope_option, shown_path, undo_hint
from reverie.errors import InputError, StorageError
from reverie.memory.changes.draft import Declined, Prepared
from reverie.memory.format.taxonomy import TYPES, MemoryScope, MemoryType

if TYPE_CHECKING:
    from reverie.api.importing import ImportPlan
    from reverie.memory.changes.transfer import Exported
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace


@reverie_command(name="import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--dry-run", is_flag=True, help="Only show what would be imported.")
@click.option("-y", "--yes", is_flag=True, help="Import without asking, on a terminal.")
@click.option("--type", "type_", type=click.Choice(TYPES), help="The type for items without one.")
@click.option("--even-if-known", is_flag=True, help="Also items that a memory already says.")
@scope_option
def import_command(
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
    file), single files such as AGENTS.md, CLAUDE.md or GEMINI.md (one memory per statement), or
    exports of Mem0, Letta, Claude.ai, ChatGPT or `reverie export`. Items that are known, are not
    memories, or contain a secret are reported. Relative dates in markdown count from the day the
    file was last changed; where no day is known, they stay and are reported. The folder person/ of
    an export is about you; the rest goes to this project, unless --scope says otherwise. On a
    terminal the plan is shown first.

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
        shown = _import_json(plan, dry_run=True)
        frame.show(shown, _import_lines(shown, plan))
        if not plan.files or not click.confirm("Import these?"):
            return
    if not dry_run:
        plan.save(PERSON, ", ".join(path.name for path in paths))
    data = _import_json(plan, dry_run=dry_run)
    frame.show(data, _import_lines(data, plan))
    refused = [row for row in data["declined"] if not row["existing"]]
    if refused and not data["imported"] and not dry_run:
        click.get_current_context().exit(1)


def _import_json(plan: ImportPlan, *, dry_run: bool) -> dict[str, Any]:
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
        "undated": list(what.undated),
        "secrets": list(what.secrets),
    }


def _import_lines(data: dict[str, Any], plan: ImportPlan) -> Iterator[str]:
    imported, declined = data["imported"], data["declined"]
    verb = "Would import" if data["dry_run"] else "Imported"
    of = len(imported) + len(declined)
    yield f"{verb} {len(imported)} of {counted(of, 'memory', 'memories')}."
    for row in imported:
        removed = f" (removed: {', '.join(row['secrets'])})" if row["secrets"] else ""
        left = f" (not taken over: {', '.join(row['dropped'])})" if row["dropped"] else ""
        vague = (
            f" (day of writing unknown, left: {', '.join(row['undated'])})"
            if row["undated"]
            else ""
        )
        yield f"  + {row['file']}  {row['name']}{removed}{left}{vague}"
    yield from (f"  - {row['source']}: {row['reason']}" for row in declined)
    for memory, revision in plan.revisions:
        yield f"  {undo_hint(revision, team=memory.team)}"


FORMATS = ("folder", "zip", "json")


@reverie_command(name="export")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="Default: by the suffix of PATH."
)
@scope_option
def export_command(
    frame: Invocation, path: Path | None, format_: str | None, scope: MemoryScope | None
) -> None:
    """Write all memories to a folder, a .zip or JSON.

    Memories about you go into its folder person/; --scope project leaves them out. Secrets are
    removed. Existing files are never overwritten. JSON is printed if there is no PATH; otherwise
    PATH defaults to `<project>-memory.zip` here. `reverie import` reads all three formats.

    \b
    reverie export ~/backup/memory
    reverie export --format json | jq .memories[].name
    """
    from reverie.api.other_files import note_export
    from reverie.memory.changes.transfer import as_json

    app = frame.app()
    memories = private(app, scope)
    export = _merged([_exported(memory) for memory in memories])
    if not export.memories:
        raise InputError("there is nothing to export: no memory is saved yet")
    chosen = format_ or _format_of(path)
    if format_ is None and path is not None and chosen == "folder":
        _require_folder(path)
    if chosen == "json" and path is None:
        click.echo(as_json(export, app.clock.now()), nl=False)
        return
    target = path or Path(_default_name(app, chosen))
    _write(app, export, target, chosen)
    note_export(memories, target)
    data = {
        "path": str(target.absolute()),
        "format": chosen,
        "memories": len(export.memories),
        "secrets": {name: list(kinds) for name, kinds in export.secrets.items()},
    }
    frame.show(data, _export_lines(app, data))


def _exported(memory: OpenMemory) -> Exported:
    from reverie.memory.changes.transfer import exported
    from reverie.memory.format.manifest import INDEX_FILE

    names = [entry.file for entry in memory.store.entries()]
    contents = {name: memory.store.current(name) for name in (*names, INDEX_FILE)}
    files = {memory.label(name): data for name, data in contents.items() if data is not None}
    return exported(files, memory.scrubber)


def _merged(exports: list[Exported]) -> Exported:
    from reverie.memory.changes.transfer import Exported

    files = {name: data for one in exports for name, data in one.files.items()}
    return Exported(files, {name: kinds for one in exports for name, kinds in one.secrets.items()})


def _format_of(path: Path | None) -> str:
    if path is None or path.suffix == ".zip":
        return "zip"
    return "json" if path.suffix == ".json" else "folder"


def _require_folder(path: Path) -> None:
    """InputError for a name that looks like a file of another kind, such as x.tar.gz."""
    if path.suffix[1:2].isalpha() and not path.is_dir():
        raise InputError(
            f"nothing is exported as {path.suffix}; name a .zip, a .json or a folder "
            f"(a folder of that name: --format folder)"
        )


def _default_name(app: Workspace, chosen: str) -> str:
    ending = ".zip" if chosen == "zip" else ""
    return f"{app.project.root.name or 'all'}-memory{ending}"


def _write(app: Workspace, export: Exported, target: Path, chosen: str) -> None:
    from reverie.memory.changes.transfer import as_json, as_zip

    if target.exists() and not (
        chosen == "folder" and target.is_dir() and not any(target.iterdir())
    ):
        raise InputError(f"{target} exists already; choose another name, or remove it first")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if chosen == "folder":
            for name, data in export.files.items():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(data)
        elif chosen == "zip":
            target.write_bytes(as_zip(export, app.clock.now()))
        else:
            target.write_text(as_json(export, app.clock.now()), "utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {error.filename or target} ({error.strerror})") from error


def _export_lines(app: Workspace, data: dict[str, Any]) -> Iterator[str]:
    count = counted(data["memories"], "memory", "memories")
    yield f"Exported {count} to {shown_path(app, Path(data['path']))}"
    for name, kinds in data["secrets"].items():
        yield f"  removed a secret from {name} ({', '.join(kinds)})"


CLAUDE_CODE = "claude-code"


@reverie_command(name="adopt")
@click.argument("what", required=False, metavar="[claude-code|PATH]")
@click.option(
    "--from", "old", metavar="OLD", help="Continue the memory this project had at another path."
)
@click.option("--undo", "back", is_flag=True, help="Use this project's own memory again.")
@click.option("--anyway", is_flag=True, help="Even if memories saved here become hidden.")
def adopt(frame: Invocation, what: str | None, old: str | None, back: bool, anyway: bool) -> None:
    """Use a memory that exists elsewhere, in place.

    claude-code is the directory Claude Code keeps for this project; PATH is any memory directory.
    Its files are not moved or changed; history and indexes are kept outside it. Without
    arguments, it lists what could be adopted.

    \b
    reverie adopt claude-code
    reverie adopt --from /home/me/old-place
    reverie adopt --undo
    """
    if sum((what is not None, old is not None, back)) > 1:
        raise click.UsageError("give claude-code, a PATH, --from or --undo: one of them")
    app = frame.app()
    if back:
        left = app.adoption.give_back()
        _report(frame, app, f"{left} is no longer used; nothing in it was changed.")
        return
    if what is None and old is None:
        _offer(frame, app)
        return
    directory = _directory(app, what) if what is not None else None
    _require_free(app, anyway=anyway)
    if directory is not None:
        app.adoption.adopt(directory)
        _report(frame, app, "Adopted, in place.")
    else:
        app.adoption.continue_from(old or "")
        _report(frame, app, f"Continuing the memory of {old}.")


def _directory(app: Workspace, what: str) -> Path:
    if what != CLAUDE_CODE:
        return Path(what).expanduser()
    found = app.claude_memory()
    if found is None:
        raise InputError(
            f"Claude Code has no memory directory for {app.project.root}; "
            "if it is elsewhere, give its path"
        )
    return found


def _require_free(app: Workspace, *, anyway: bool) -> None:
    chosen = app.settings.origin("memory_directory")
    if app.settings.memory_directory is not None:
        raise InputError(
            f"memory_directory is set ({chosen}) and overrides an adopted memory; remove it first"
        )
    count = len(app.memory().store.entries())
    if count and not anyway and not app.adoption.current:
        raise InputError(
            f"{counted(count, 'memory', 'memories')} saved here would become hidden; take them along: "
            "`reverie export mine.zip`, `reverie adopt … --anyway`, `reverie import mine.zip`"
        )


def _report(frame: Invocation, app: Workspace, done: str) -> None:
    memory = app.memory()
    data = {
        "directory": str(memory.place.directory),
        "state": str(memory.place.state),
        "linked": app.adoption.current,
        "memories": len(memory.store.entries()),
    }
    count = counted(len(memory.store.entries()), "memory", "memories")
    place = memory.place
    lines = [done, f"  memory: {shown_path(app, place.directory)} ({count})"]
    lines += [f"  history and indexes: {shown_path(app, place.state)}"]
    lines += ["  go back with: reverie adopt --undo"] if app.adoption.current else []
    frame.show(data, lines)


def _offer(frame: Invocation, app: Workspace) -> None:
    claude = app.claude_memory()
    offers = [{"adopt": CLAUDE_CODE, "directory": str(claude)}] if claude else []
    for folder, identity in app.adoption.former():
        offers.append({"adopt": f"--from {folder.name}", "directory": identity.root})
    data = {"linked": app.adoption.current, "offers": offers}
    lines = [f"This project uses {data['linked']} (go back with --undo)."] if data["linked"] else []
    lines += [f"reverie adopt {offer['adopt']}  ({offer['directory']})" for offer in offers]
    frame.show(data, lines or ["There is nothing to adopt for this project."])
