"""`reverie sync`: one person's memory on several machines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from reverie.cli.formatting import printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.errors import InputError
from reverie.files.json_files import read_json, write_json

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.sync.machines import SyncAddress
    from reverie.workspace import Workspace

RECORD = "sync.json"


@reverie_command(name="sync")
@click.option("--remote", metavar="URL", help="A git remote of yours; it is used from now on.")
@click.option(
    "--new-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Make a key that encrypts what is sent, and stop.",
)
def command(frame: Invocation, remote: str | None, new_key: Path | None) -> None:
    """Bring your memory to your other machines, through a git remote of yours.

    The memory of this project, its history, its inbox and the memory about you are fetched, merged
    file by file and pushed. If a file was changed on both sides and does not merge, both versions are
    kept. With sync.key in your settings, the remote only sees encrypted data.

    \b
    reverie sync --remote git@example.com:me/memory.git
    reverie sync
    """
    from reverie.workspace.syncing import sync_machines

    app = frame.app()
    if new_key is not None:
        _make_key(frame, new_key)
        return
    address = _address(app, remote)
    reports = sync_machines(app, address)
    if remote is not None:
        write_json(app.settings.home / RECORD, {"url": address.url})
    data = {"remote": _shown(address), "parts": [asdict(report) for report in reports]}
    frame.show(data, lambda console: _print(console, data))


def _make_key(frame: Invocation, path: Path) -> None:
    from reverie.memory.sync.branches import SyncKey

    SyncKey.create(path.expanduser().absolute())
    data = {"key": str(path)}

    def human(console: Console) -> None:
        console.print(printable(f"Wrote {path}. Copy it to your other machines by a safe way,"))
        console.print("keep a backup, and set sync.key to its path in the settings of each.")

    frame.show(data, human)


def _address(app: Workspace, chosen: str | None) -> SyncAddress:
    from reverie.memory.sync.branches import SyncKey
    from reverie.memory.sync.machines import SyncAddress
    from reverie.memory.team.remote import Remote

    known = read_json(app.settings.home / RECORD)
    last = known.get("url") if isinstance(known, dict) else None
    url = chosen or app.settings["sync.remote"] or last
    if not url:
        raise InputError("no remote yet; give one: reverie sync --remote URL")
    Remote(str(url), {})
    # A path is remembered as the absolute one; the next sync may start elsewhere.
    local = Path(str(url)).expanduser()
    path = cast("Path | None", app.settings["sync.key"])
    key = None if path is None else SyncKey.read(path)
    return SyncAddress(str(local.resolve()) if local.exists() else str(url), key)


def _shown(address: SyncAddress) -> str:
    from reverie.memory.team.remote import Remote

    return Remote(address.url, {}).name + (", encrypted" if address.key else "")


def _print(console: Console, data: dict[str, Any]) -> None:
    lines = [data["remote"]]
    for part in data["parts"]:
        pulled = ", ".join(part["pulled"])
        told = [f"pulled {pulled}"] if pulled else []
        told += ["pushed"] if part["pushed"] else []
        lines.append(f"{part['part']}: {'; '.join(told) or 'nothing new on either side'}")
        for one in part["conflicts"]:
            kept = f"; yours is kept in {one['beside']}" if one["beside"] else ""
            lines.append(f"  conflict in {one['file']}: {one['reason']}{kept}")
        lines += [f"  refused {one['file']}: {one['reason']}" for one in part["refused"]]
    for line in lines:
        console.print(printable(line), soft_wrap=True)
