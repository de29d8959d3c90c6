"""Open memories of a service: which space and project, and where their copies are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from reverie.errors import InputError
from reverie.files.atomic import read_json, slug, write_json
from reverie.memory.format.taxonomy import MemoryScope
from reverie.memory.locations import MemoryLocation
from reverie.memory.service.connection import ServiceAway, ServiceConnection, quoted
from reverie.memory.service.store import FRESH, ServiceStore
from reverie.ports import Clock

SERVICES = "services"
PERSON = "person"


@dataclass(frozen=True, slots=True)
class Service:
    """A service as one key sees it; `project` is the name of this project there."""

    connection: ServiceConnection
    project: str
    home: Path
    clock: Clock
    fresh: float = FRESH

    @property
    def folder(self) -> Path:
        """The folder of everything copied with this key; another key sees other things."""
        whose = self.connection.key.partition(".")[0]
        return self.home / SERVICES / slug(Path(f"{self.connection.url}/{whose}"))

    def store(self, scope: MemoryScope) -> tuple[MemoryLocation, ServiceStore]:
        """The memory of a scope: the person's and the project's are in a private space."""
        name = PERSON if scope == "person" else self.project
        space = self._space("team" if scope == "team" else "private")
        state = self.folder / slug(Path(f"{space}/{name}"))
        path = partial(self._path, state, space, name)
        place = MemoryLocation(state / "memory", state)
        made = ServiceStore(place.directory, state, self.connection, path, self.clock, self.fresh)
        return place, made

    def _space(self, kind: str) -> str:
        for space in self._known()["spaces"]:
            if space["kind"] == kind:
                return str(space["name"])
        raise InputError(f"this key sees no {kind} space of {self.connection.url}")

    def has_team(self) -> bool:
        return any(space["kind"] == "team" for space in self._known()["spaces"])

    def _known(self) -> dict[str, Any]:
        """What this key may see; as last told, while the service is away."""
        record = self.folder / "whoami.json"
        known = read_json(record)
        try:
            told: dict[str, Any] = self.connection.get("/v1/whoami").data
        except ServiceAway:
            if isinstance(known, dict):
                return known
            raise
        if told != known:
            write_json(record, told)
        return told

    def _path(self, state: Path, space: str, name: str) -> str:
        record = state / "project.json"
        known = read_json(record)
        if isinstance(known, dict) and known.get("path"):
            return str(known["path"])
        asked = f"/v1/spaces/{quoted(space)}/projects/{quoted(name)}"
        path = f"/v1/projects/{self.connection.send('PUT', asked, {}).data['project']}"
        write_json(record, {"path": path, "name": name, "space": space})
        return path
