"""Where the team's memory is kept: one address a project, beside its history, never in a repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from reverie.errors import InputError
from reverie.memory.manifest import INDEX_FILE
from reverie.stores.git_remote import Remote
from reverie.stores.history import GitHistory
from reverie.stores.json_files import read_json, write_json
from reverie.stores.team import SYNCED
from reverie.stores.team_merge import is_same

_FILE = "remote.json"


@dataclass(frozen=True, slots=True)
class TeamAddress:
    """A git remote and the branch on it."""

    url: str
    branch: str = "main"

    def remote(self, environment: Mapping[str, str]) -> Remote:
        return Remote(self.url, environment, self.branch)


def read_address(state: Path) -> TeamAddress | None:
    data = read_json(state / _FILE)
    if not isinstance(data, dict) or not data.keys() >= {"url", "branch"}:
        return None
    return TeamAddress(str(data["url"]), str(data["branch"]))


def write_address(state: Path, address: TeamAddress) -> None:
    """Kept from others' eyes: an address may hold a password."""
    address.remote({})
    write_json(state / _FILE, asdict(address))


def unsent(history: GitHistory) -> tuple[str, ...]:
    """Memories that differ from what the team had when we last met; our mark on them is no change."""
    ours = history.files()
    try:
        theirs = history.files(SYNCED)
    except InputError:
        return tuple(sorted(ours.keys() - {INDEX_FILE}))
    touched = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    changed = [
        name
        for name in touched - {INDEX_FILE}
        if not is_same(history.read(name), history.read(name, SYNCED))
    ]
    return tuple(sorted(changed))
