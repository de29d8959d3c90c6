"""Coding agents on this machine: their files, and what Reverie wrote into them."""

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
    """The clients' files, and our own note of what was installed."""

    def __init__(self, home: Path) -> None:
        self.files = ClientFiles()
        self._note = home / "clients.json"
        self._lock = home / "clients.lock"

    def alone(self) -> AbstractContextManager[None]:
        """Nobody else changes the note meanwhile."""
        return exclusive(self._lock)

    def installed(self) -> list[dict[str, Any]]:
        """Every installation that was written down."""
        found = read_json(self._note)
        rows = found.get("installations") if isinstance(found, dict) else None
        return rows if isinstance(rows, list) else []

    def write_down(self, installations: Sequence[dict[str, Any]]) -> None:
        """All installations there are now; none leaves no note behind."""
        if installations:
            write_json(self._note, {"version": 1, "installations": list(installations)})
        else:
            self.files.remove(self._note)


def open_clients(app: Workspace) -> Clients:
    return Clients(app.settings.home)
