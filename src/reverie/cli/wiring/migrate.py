"""`reverie migrate`: a memory from files to a service, or back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reverie.cli.formatting import counted, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.service.store import ServiceStore
    from reverie.memory.store import FileStore
    from reverie.workspace import Workspace

FILES = "files"


@reverie_command(name="migrate")
@click.argument("source", metavar="files|URL")
@click.argument("target", metavar="URL|files")
@click.option("--scope", type=click.Choice(("project", "person")), default="project")
def command(frame: Invocation, source: str, target: str, scope: str) -> None:
    """Move a memory from files to a service, or back, with its history.

    Every byte of every memory and every revision is copied and compared; the source stays as it is.
    The target must be empty. The key of the service is in REVERIE_KEY. Afterwards set store.url to the
    service, or remove it, to use what was moved.

    \b
    reverie migrate files https://memory.example.com
    reverie migrate https://memory.example.com files
    """
    if (source == FILES) == (target == FILES):
        raise click.UsageError("one side is `files`, the other the address of a service")
    app = frame.app()
    from reverie.memory.service.moving import to_files, to_service

    there = _service(frame, target if source == FILES else source, scope)
    here = _files(app, scope)
    moved = to_service(here, there) if source == FILES else to_files(there, here)
    data = {"memories": moved.memories, "revisions": moved.revisions, "renamed": moved.renamed}

    def human(console: Console) -> None:
        what = counted(moved.memories, "memory", "memories")
        console.print(
            printable(
                f"Moved {what} and {counted(moved.revisions, 'revision', 'revisions')}; "
                "all bytes are the same on both sides."
            )
        )
        if moved.renamed:
            console.print(f"{moved.renamed} revisions made by the service have new ids.")

    frame.show(data, human)


def _service(frame: Invocation, url: str, scope: str) -> ServiceStore:
    from reverie.memory.service.store import ServiceStore
    from reverie.workspace import Workspace

    if not url.startswith(("https://", "http://")):
        raise InputError(f"{url!r} is not the address of a service: give https://…")
    overrides = (*frame.overrides, f"store.url={url}")
    app = Workspace.open(frame.project, home=frame.home, overrides=overrides)
    store = app.memory("person" if scope == "person" else "project").store
    if not isinstance(store, ServiceStore):
        raise InputError("memory is not kept by a service here")
    return store


def _files(app: Workspace, scope: str) -> FileStore:
    from reverie.memory.locations import person_location
    from reverie.memory.opening import open_memory

    place = person_location(app.settings.home) if scope == "person" else app.files_location
    return open_memory(
        place, app.clock, beside=place.state, before_write=app.adoption.recognise
    ).store
