"""`reverie team`, `sync` and `migrate`: share memory with a team, bring it to your machines, move it to a service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from reverie.cli.invocation import Invocation, counted, reverie_command
from reverie.cli.memories import PERSON, require_team, up_to_date
from reverie.errors import InputError
from reverie.files.atomic import read_json, slug, write_json
from reverie.memory.inbox import FOLDER
from reverie.memory.sync.copies import HistoryMerge, Part
from reverie.memory.sync.machines import PERSON as SYNCED_PERSON
from reverie.memory.sync.machines import InboxMerge, PartReport, SyncAddress, sync
from reverie.memory.sync.team import SyncReport, TeamAddress, TeamSync, read_address, write_address
from reverie.settings.sources import environment

if TYPE_CHECKING:
    from reverie.memory.format.revisions import Author
    from reverie.memory.service.store import ServiceStore
    from reverie.memory.store import FileStore
    from reverie.workspace import Workspace


def sync_team(app: Workspace, address: TeamAddress, author: Author) -> SyncReport:
    """Synchronise the shared memory with the team's branch, both ways."""
    memory = app.memory(team=True)
    remote = address.remote(environment())
    return TeamSync(memory.store, remote, memory.scrubber, app.clock).sync(author)


def team_address(app: Workspace, chosen: tuple[str, str] | None = None) -> TeamAddress | None:
    """Where the team keeps its memory; `chosen` (address, branch) is stored first."""
    state = app.memory(team=True).place.state
    if chosen is not None:
        write_address(state, TeamAddress(*chosen))
    return read_address(state)


def sync_machines(app: Workspace, address: SyncAddress) -> tuple[tuple[PartReport, ...], str]:
    """Synchronise private memory, its history and the inbox with the person's other machines.

    The second value is a warning about memories there that were sent with another key, or without
    one.
    """
    name = slug(Path(app.owner.remote)) if app.owner.remote else app.owner.folder.name
    found = environment()
    project = app.memory()
    inbox = project.beside / FOLDER
    parts: dict[str, Part] = {
        f"memory/{name}": HistoryMerge(project.store, app.clock),
        f"inbox/{name}": InboxMerge(inbox, project.place.state / "inbox.git", app.clock),
    }
    for memory in project.private:
        if memory.scope == "person":
            parts[SYNCED_PERSON] = HistoryMerge(memory.store, app.clock)
    mixed = address.mixed(project.place.state, found)
    reports = tuple(
        sync(part, address.branch(branch, found), branch) for branch, part in parts.items()
    )
    return reports, mixed


ACTIONS = ("status", "sync", "remote")


@reverie_command(name="team")
@click.argument("action", type=click.Choice(ACTIONS), default="status")
@click.argument("url", required=False)
@click.option("--branch", default="main", show_default=True, help="With remote: the branch there.")
def team_command(frame: Invocation, action: str, url: str | None, branch: str) -> None:
    """Share a part of memory with your team, through git.

    remote URL sets the remote; sync pulls, merges each file and pushes; status shows what is unsent.

    \b
    reverie settings set features.team true
    reverie team remote git@example.com:team/memory.git
    reverie team sync
    """
    if (action == "remote") != (url is not None):
        raise click.UsageError("give a URL with `remote`, and only there")

    app = frame.app()
    if action == "sync":
        _sync(frame, app)
        return
    if url is not None:
        team_address(app, (url, branch))
    data = _status(app)
    frame.show(data, _status_lines(data))


def _status(app: Workspace) -> dict[str, Any]:
    from reverie.memory.sync.team import unsent

    memory = up_to_date(app.memory(team=True))
    address = team_address(app)
    return {
        "on": app.settings.flag("features.team"),
        "remote": address.remote({}).name if address else None,
        "branch": address.branch if address else None,
        "memories": len(memory.store.entries()),
        "unsent": list(unsent(memory.history)),
    }


def _status_lines(data: dict[str, Any]) -> Iterator[str]:
    if not data["on"]:
        yield "Team memory is off; turn it on with features.team = true in the settings."
    if data["remote"]:
        yield f"remote {data['remote']}, branch {data['branch']}"
    else:
        yield "No remote yet: reverie team remote URL"
    waiting = f"; not sent yet: {', '.join(data['unsent'])}" if data["unsent"] else ""
    yield f"{counted(data['memories'], 'shared memory', 'shared memories')}{waiting}"


def _trouble_lines(data: dict[str, Any]) -> Iterator[str]:
    for one in data["conflicts"]:
        kept = f"; yours is kept in {one['beside']}" if one["beside"] else ""
        yield f"conflict in {one['file']}: {one['reason']}{kept}"
    yield from (f"refused {one['file']}: {one['reason']}" for one in data["refused"])


def _sync(frame: Invocation, app: Workspace) -> None:
    require_team(app, team=True)
    address = team_address(app)
    if address is None:
        raise InputError("no remote yet; set one with: reverie team remote URL")
    data = asdict(sync_team(app, address, PERSON))
    lines = [f"{word}: {', '.join(data[word])}" for word in ("pulled", "pushed") if data[word]]
    lines += ["The branch did not exist; it was created."] if data["started"] else []
    lines += _trouble_lines(data)
    frame.show(data, lines or ["Nothing new on either side."])


RECORD = "sync.json"


@reverie_command(name="sync")
@click.option("--remote", metavar="URL", help="A git remote of yours; it is used from now on.")
@click.option(
    "--new-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Make a key that encrypts what is sent, and stop.",
)
def sync_command(frame: Invocation, remote: str | None, new_key: Path | None) -> None:
    """Bring your memory to your other machines, through a git remote of yours.

    The memory of this project, its history, its inbox and the memory about you are fetched, merged
    file by file and pushed. If both sides changed a file and it does not merge, both versions are
    kept. With sync.key in your settings, the remote only sees encrypted data.

    \b
    reverie sync --remote git@example.com:me/memory.git
    reverie sync
    """
    app = frame.app()
    if new_key is not None:
        _make_key(frame, new_key)
        return
    address = _address(app, remote)
    reports, mixed = sync_machines(app, address)
    if remote is not None:
        write_json(app.settings.home / RECORD, {"url": address.url})
    parts = [asdict(report) for report in reports]
    data = {"remote": _shown(address), "parts": parts, "mixed": mixed}
    frame.show(data, _sync_lines(data))


def _make_key(frame: Invocation, path: Path) -> None:
    from reverie.memory.sync.remote import SyncKey

    SyncKey.create(path.expanduser().absolute())
    made = f"Wrote {path}. Copy it to your other machines by a safe way,"
    more = "keep a backup, and set sync.key to its path in the settings of each."
    frame.show({"key": str(path)}, [made, more])


def _address(app: Workspace, chosen: str | None) -> SyncAddress:
    from reverie.memory.sync.remote import Remote, SyncKey

    known = read_json(app.settings.home / RECORD)
    last = known.get("url") if isinstance(known, dict) else None
    url = chosen or app.settings["sync.remote"] or last
    if not url:
        raise InputError("no remote yet; give one: reverie sync --remote URL")
    Remote(str(url), {})
    # Store a path as absolute: the next sync may start elsewhere.
    local = Path(str(url)).expanduser()
    path = cast("Path | None", app.settings["sync.key"])
    key = None if path is None else SyncKey.read(path)
    return SyncAddress(str(local.resolve()) if local.exists() else str(url), key)


def _shown(address: SyncAddress) -> str:
    from reverie.memory.sync.remote import Remote

    return Remote(address.url, {}).name + (", encrypted" if address.key else "")


def _sync_lines(data: dict[str, Any]) -> Iterator[str]:
    yield data["remote"]
    for part in data["parts"]:
        done = [f"pulled {', '.join(part['pulled'])}"] if part["pulled"] else []
        done += ["pushed"] if part["pushed"] else []
        yield f"{part['part']}: {'; '.join(done) or 'nothing new on either side'}"
        yield from (f"  {line}" for line in _trouble_lines(part))
    if data["mixed"]:
        yield f"Note: {data['mixed']}."


FILES = "files"


@reverie_command(name="migrate")
@click.argument("source", metavar="files|URL")
@click.argument("target", metavar="URL|files")
@click.option("--scope", type=click.Choice(("project", "person")), default="project")
def migrate(frame: Invocation, source: str, target: str, scope: str) -> None:
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
    from reverie.memory.service.opening import to_files, to_service

    there = _service(frame, target if source == FILES else source, scope)
    here = _files(app, scope)
    moved = to_service(here, there) if source == FILES else to_files(there, here)
    data = {"memories": moved.memories, "revisions": moved.revisions, "renamed": moved.renamed}
    what = f"{counted(moved.memories, 'memory', 'memories')} and {counted(moved.revisions, 'revision')}"
    lines = [f"Moved {what}; all bytes are the same on both sides."]
    if moved.renamed:
        lines.append(f"{moved.renamed} revisions made by the service have new ids.")
    frame.show(data, lines)


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
