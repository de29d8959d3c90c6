"""The dream's changes brought to the live memory: three-way per file, where the live one wins. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reverie.layers.dreaming.changes import Change
from reverie.layers.dreaming.reindex import followed
from reverie.memory import index as indexes
from reverie.memory.index import Index
from reverie.memory.manifest import INDEX_FILE

Content: TypeAlias = bytes | None
Current: TypeAlias = Callable[[str], Content]


@dataclass(frozen=True, slots=True)
class Merge:
    """What the live files become, and the changes that wait because a person was there first."""

    files: dict[str, Content]
    made: tuple[Change, ...] = ()
    waiting: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a dream made of the index it saw."""

    before: bytes
    after: Index


def merged(changes: Sequence[Change], current: Current, reindexed: Reindexed | None) -> Merge:
    """All that the live files allow. A live index that changed, too, only follows the changes."""
    moved = [change for change in changes if change.kind != "re-index"]
    waiting = [change for change in moved if not _untouched(change, current)]
    # What relies on a change that waits, waits with it.
    while more := [c for c in moved if c not in waiting and _leans_on(c, waiting)]:
        waiting += more
    made = tuple(change for change in moved if change not in waiting)
    files = {step.file: step.after for change in made for step in change.steps}
    live = current(INDEX_FILE) or b""
    if reindexed is not None and live == reindexed.before and not waiting:
        made_index = indexes.render(reindexed.after)
    else:
        made_index = indexes.render(followed(indexes.parse(live), made))
    if made_index != live:
        files[INDEX_FILE] = made_index
    return Merge(files, made, tuple(waiting))


def _untouched(change: Change, current: Current) -> bool:
    """Whether the live files are still what the dream saw, or already what it wants."""
    steps = all(current(step.file) in (step.before, step.after) for step in change.steps)
    return steps and all(current(heir) == data for heir, data in change.relies_on)


def _leans_on(change: Change, waiting: Sequence[Change]) -> bool:
    held = {file for other in waiting for file in other.files}
    return any(heir in held for heir, _ in change.relies_on)
