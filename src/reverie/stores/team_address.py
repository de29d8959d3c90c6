"""Where the team's memory is kept: one address a project, beside its history, never in a repository."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from reverie.core.codec import dump
from reverie.errors import InputError
from reverie.memory.manifest import INDEX_FILE
from reverie.stores.git_remote import Remote
from reverie.stores.history import GitHistory
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
    try:
        data = json.loads((state / _FILE).read_bytes())
        return TeamAddress(str(data["url"]), str(data["branch"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_address(state: Path, address: TeamAddress) -> None:
    """Kept from others' eyes: an address may hold a password."""
    address.remote({})
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = state / f".{_FILE}.new"
    fresh.touch(mode=0o600)
    fresh.write_bytes(dump(asdict(address)) + b"\n")
    fresh.replace(state / _FILE)


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
