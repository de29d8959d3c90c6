"""Configuration files of coding agents, and the record of what Reverie wrote into them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.files.client_files import ClientFiles
from reverie.files.json_files import read_json, write_json
from reverie.files.locks import exclusive

if TYPE_CHECKING:
    from reverie.workspace import Workspace


class Clients:
    """The clients' files, and the record of installations in Reverie's home."""

    def __init__(self, home: Path, record: str = "clients.json") -> None:
        self.files = ClientFiles()
        self._record = home / record
        self._lock = home / "clients.lock"

    def alone(self) -> AbstractContextManager[None]:
        """Lock the record against other processes."""
        return exclusive(self._lock)

    def installed(self) -> list[dict[str, Any]]:
        """All recorded installations."""
        found = read_json(self._record)
        rows = found.get("installations") if isinstance(found, dict) else None
        return rows if isinstance(rows, list) else []

    def write_down(self, installations: Sequence[dict[str, Any]]) -> None:
        """Replace the record; without installations the file is removed."""
        if installations:
            write_json(self._record, {"version": 1, "installations": list(installations)})
        else:
            self.files.remove(self._record)


def open_clients(app: Workspace) -> Clients:
    return Clients(app.settings.home)


def open_proxied(app: Workspace) -> Clients:
    """Clients whose base URL leads to the proxy; they have a record of their own."""
    return Clients(app.settings.home, "proxied.json")
