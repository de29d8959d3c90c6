"""A memory directory put together: where it is, its store, its history and the keeper over both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.keeper.keeper import Keeper
from reverie.stores.files import FileStore
from reverie.stores.history import GitHistory
from reverie.stores.instructions import read_instructions
from reverie.stores.places import MemoryPlace
from reverie.stores.scrubber import SecretScrubber
from reverie.stores.uses import UseCounts

if TYPE_CHECKING:
    from reverie.ports import Clock
    from reverie.stores.adoption import Adoption
    from reverie.stores.projects import Project

# Folders in a memory directory that are no topic files of its own store.
APART = ("team", "logs")


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """A memory directory, ready to be used."""

    place: MemoryPlace
    store: FileStore
    keeper: Keeper
    history: GitHistory
    scrubber: SecretScrubber
    uses: UseCounts
    # The project's own folder: sessions, their notes and the inbox stay there wherever memory is.
    beside: Path
    team: bool = False

    def label(self, file: str) -> str:
        """A file's name as every command and tool takes it: shared ones start with `team/`."""
        return f"team/{file}" if self.team else file


def open_memory(
    place: MemoryPlace, project: Project, adoption: Adoption, clock: Clock, *, team: bool
) -> OpenMemory:
    place = place.team if team else place
    history = GitHistory(place.history, clock)
    store = FileStore(place.directory, history, apart=APART, before_write=adoption.recognise)
    scrubber = SecretScrubber(place.state / "allowed-secrets.json")
    keeper = Keeper(
        store,
        clock,
        scrubber,
        instructions=lambda: read_instructions(project.root),
        shared=team,
    )
    uses = UseCounts(place.state, clock)
    return OpenMemory(place, store, keeper, history, scrubber, uses, project.folder, team)
