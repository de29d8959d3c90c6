"""Several memories read as one: the project's under their own names, the others under a prefix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reverie.memory.manifest import ManifestEntry, newest_first
from reverie.memory.scopes import MemoryScope, labelled, split
from reverie.memory.topic import Topic
from reverie.ports import Stored, TopicReader

Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A stored memory under the name it has among the others."""

    topic: Topic
    version: str


class ScopedTopics:
    """The memories of a project, its person and its team, for whoever only reads.

    Nothing is written through it: a change goes to the one memory it belongs to.
    """

    def __init__(self, own: TopicReader, others: Mapping[MemoryScope, TopicReader]) -> None:
        self._own = own
        self._others = others
        # What was merged last, of which parts: who asks again gets the same objects.
        self._parts: tuple[tuple[ManifestEntry, ...], ...] = ()
        self._merged: tuple[ManifestEntry, ...] = ()
        self._renamed: dict[str, tuple[ManifestEntry, ManifestEntry]] = {}

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first, whoever it belongs to."""
        own = self._own.entries()
        found = {scope: part.entries() for scope, part in self._others.items()}
        if not any(found.values()):
            return own
        parts = (own, *found.values())
        if len(parts) != len(self._parts) or any(
            new is not old for new, old in zip(parts, self._parts, strict=True)
        ):
            renamed = [self._entry(scope, entry) for scope, part in found.items() for entry in part]
            self._merged = newest_first((*own, *renamed))
            self._parts = parts
        return self._merged

    def listing(self) -> Mapping[str, Signature]:
        """Every memory with its signature."""
        own = self._own.listing()
        others = {
            labelled(file, scope): signature
            for scope, part in self._others.items()
            for file, signature in part.listing().items()
        }
        return {**own, **others} if others else own

    def read(self, file: str) -> Stored | None:
        scope, name = split(file)
        if scope == "project":
            return self._own.read(name)
        part = self._others.get(scope)
        stored = None if part is None else part.read(name)
        if stored is None:
            return None
        return _Labelled(replace(stored.topic, file=file), stored.version)

    def _entry(self, scope: MemoryScope, entry: ManifestEntry) -> ManifestEntry:
        """An entry under its label; the same one for as long as the file does not change."""
        file = labelled(entry.file, scope)
        known = self._renamed.get(file)
        if known is None or known[0] is not entry:
            known = self._renamed[file] = (entry, replace(entry, file=file))
        return known[1]
