"""Two writers save memories with the same title at the same time: both are kept."""

from pathlib import Path

from tests.place import FixedClock

from reverie.memory.changes.draft import Declined, NewMemory, Remembered
from reverie.memory.changes.keeper import Keeper
from reverie.memory.format.revisions import Author
from reverie.memory.history import GitHistory
from reverie.memory.secrets.scrubber import SecretScrubber
from reverie.memory.store import FileStore


def keeper_of(folder: Path, clock: FixedClock) -> Keeper:
    store = FileStore(folder / "memory", GitHistory(folder / "history.git", clock))
    return Keeper(store, clock, SecretScrubber(folder / "allowed.json"))


def test_the_second_gets_another_name(tmp_path: Path, clock: FixedClock):
    first, second = keeper_of(tmp_path, clock), keeper_of(tmp_path, clock)
    stale = second.store.entries()
    made = first.remember(NewMemory("The cat is black", name="Cat"), Author())
    assert isinstance(made, Remembered)
    # The second checked just before the first saved, and sees it at the next attempt.
    looked = [stale]
    entries = second.store.entries
    second.store.entries = lambda: looked.pop() if looked else entries()
    other = second.remember(
        NewMemory("Feed the animal at noon", name="Cat", type="project"), Author()
    )
    assert isinstance(other, Remembered)
    assert other.topic.file != made.topic.file
    assert len(first.store.entries()) == 2


def test_the_same_fact_is_then_known(tmp_path: Path, clock: FixedClock):
    first, second = keeper_of(tmp_path, clock), keeper_of(tmp_path, clock)
    looked = [second.store.entries()]
    first.remember(NewMemory("The cat is black"), Author())
    entries = second.store.entries
    second.store.entries = lambda: looked.pop() if looked else entries()
    assert isinstance(second.remember(NewMemory("The cat is black!"), Author()), Declined)
