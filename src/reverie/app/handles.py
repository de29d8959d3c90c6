"""Which memory is meant, over all the memories of a project: the one way from a name to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.keeper.handles import (
    Ambiguous,
    Found,
    How,
    Missing,
    explained,
    full_id,
    is_id,
    resolve,
    short_ids,
)

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.memory.manifest import ManifestEntry

# Names that can mean only one memory; words of a title are a search.
EXACT: tuple[How, ...] = ("file", "id", "title")


@dataclass(frozen=True, slots=True)
class Located:
    """A memory's store, its file there, and by what it was named."""

    memory: OpenMemory
    file: str
    how: How


def shelves(app: App, *, team: bool = False) -> list[OpenMemory]:
    """The person's memory, and the team's where that is on; with `team` only that one."""
    if team:
        return [app.memory(team=True)]
    shared = [app.memory(team=True)] if app.settings.flag("features.team") else []
    return [app.memory(), *shared]


def labelled(app: App, *, team: bool = False) -> list[ManifestEntry]:
    """Every memory under the name it is shown by."""
    return [shown for memory in shelves(app, team=team) for shown, _ in _entries(memory)]


def _entries(memory: OpenMemory) -> list[tuple[ManifestEntry, str]]:
    """What one store holds, as it is shown, and each file's name there."""
    return [
        (replace(entry, file=memory.label(entry.file)), entry.file)
        for entry in memory.store.entries()
    ]


def ids_of(app: App) -> dict[str, str]:
    """The short id of every memory, by the name it is shown by."""
    return short_ids(entry.file for entry in labelled(app))


def locate(app: App, wanted: str, *, team: bool = False) -> Located | Ambiguous | Missing:
    """Find a memory by file name (also a path, also without .md), id, title or words of it."""
    found = {
        shown.file: (memory, file, shown)
        for memory in shelves(app, team=team)
        for shown, file in _entries(memory)
    }
    resolved = resolve(wanted, [shown for _, _, shown in found.values()])
    if isinstance(resolved, Found):
        memory, file, _ = found[resolved.file]
        return Located(memory, file, resolved.how)
    try:
        memory, name = app.memory_of(wanted, team=team)
        file = name if name.endswith(".md") else f"{name}.md"
        return resolved if memory.store.read(file) is None else Located(memory, file, "file")
    except InputError:
        return resolved


def is_known(app: App, wanted: str) -> bool:
    """Whether a name fits a memory, without opening any file."""
    return isinstance(resolve(wanted, labelled(app)), Found)


def required(
    app: App,
    wanted: str,
    *,
    team: bool = False,
    ways: Sequence[How] = (),
    listed_by: str = "`reverie list`",
) -> tuple[OpenMemory, str]:
    """The memory that is meant and its file, or an InputError that says which ones may be.

    `ways` are those in which it may be named; none given: all of them.
    """
    found = locate(app, wanted, team=team)
    if isinstance(found, Located):
        if not ways or found.how in ways:
            return found.memory, found.file
        found = Missing((found.memory.label(found.file),))
    raise InputError(explained(wanted, found, listed_by))


def required_or_gone(app: App, wanted: str, *, team: bool = False) -> tuple[OpenMemory, str]:
    """The same, also for one that was removed: history still knows its file name and id."""
    found = locate(app, wanted, team=team)
    if isinstance(found, Located) and found.how in EXACT:
        return found.memory, found.file
    for memory in shelves(app, team=team):
        if (file := _gone(memory, wanted)) is not None:
            return memory, file
    if isinstance(found, Located):
        return found.memory, found.file
    if found == Missing():
        raise InputError(f"no memory {wanted!r}, and no change to it in history; {_SEE_ALL}")
    raise InputError(explained(wanted, found))


_SEE_ALL = "`reverie list` and `reverie log` show them all"


def _gone(memory: OpenMemory, wanted: str) -> str | None:
    """The file of a memory that is only in history, by its name or id."""
    file = wanted if wanted.endswith(".md") else f"{wanted}.md"
    former = {memory.label(one): one for revision in memory.history.log() for one in revision.files}
    if file in former or memory.label(file) in former:
        return former.get(file) or former[memory.label(file)]
    fitting = [one for shown, one in former.items() if full_id(shown).startswith(wanted.lower())]
    return fitting[0] if len(fitting) == 1 and is_id(wanted) else None
