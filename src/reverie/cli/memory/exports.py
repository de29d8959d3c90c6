"""`reverie export`: write all memories to a folder, a .zip or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import private, scope_option, shown_path
from reverie.errors import InputError, StorageError
from reverie.memory.format.taxonomy import MemoryScope

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.changes.exports import Exported
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

FORMATS = ("folder", "zip", "json")


@reverie_command(name="export")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="Default: by the suffix of PATH."
)
@scope_option
def command(
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
    from reverie.memory.changes.exports import as_json

    app = frame.app()
    memories = private(app, scope)
    export = _merged([_exported(memory) for memory in memories])
    if not export.memories:
        raise InputError("there is nothing to export: no memory is saved yet")
    chosen = format_ or _format_of(path)
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
    frame.show(data, lambda console: _print(console, app, data))


def _exported(memory: OpenMemory) -> Exported:
    from reverie.memory.changes.exports import exported
    from reverie.memory.format.manifest import INDEX_FILE

    names = [entry.file for entry in memory.store.entries()]
    contents = {name: memory.store.current(name) for name in (*names, INDEX_FILE)}
    files = {memory.label(name): data for name, data in contents.items() if data is not None}
    return exported(files, memory.scrubber)


def _merged(exports: list[Exported]) -> Exported:
    from reverie.memory.changes.exports import Exported

    files = {name: data for one in exports for name, data in one.files.items()}
    return Exported(files, {name: kinds for one in exports for name, kinds in one.secrets.items()})


def _format_of(path: Path | None) -> str:
    if path is None or path.suffix == ".zip":
        return "zip"
    return "json" if path.suffix == ".json" else "folder"


def _default_name(app: Workspace, chosen: str) -> str:
    ending = ".zip" if chosen == "zip" else ""
    return f"{app.project.root.name or 'all'}-memory{ending}"


def _write(app: Workspace, export: Exported, target: Path, chosen: str) -> None:
    from reverie.memory.changes.exports import as_json, as_zip

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


def _print(console: Console, app: Workspace, data: dict[str, Any]) -> None:
    count = counted(data["memories"], "memory", "memories")
    where = shown_path(app, Path(data["path"]))
    console.print(printable(f"Exported {count} to {where}"), soft_wrap=True)
    for name, kinds in data["secrets"].items():
        console.print(
            printable(f"  removed a secret from {name} ({', '.join(kinds)})"), soft_wrap=True
        )
