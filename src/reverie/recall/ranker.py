"""The hybrid index as the pipeline sees it: brought up to date from the files, then asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reverie.events import Announce, TroubleNoted, unheard
from reverie.memory.manifest import ManifestEntry
from reverie.ports import Clock, TopicReader
from reverie.recall import queries
from reverie.recall.documents import MemoryDoc, Refreshed, Results, Scope, Signature
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex
from reverie.recall.pipeline import SHORTLIST, Ranked
from reverie.recall.queries import Query


def no_uses() -> Mapping[str, int]:
    return {}


@dataclass(slots=True)
class _Look:
    """What the folder held when it was last listed: an entry that changed is another object."""

    entries: dict[str, ManifestEntry] = field(default_factory=dict)
    listing: Mapping[str, Signature] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexRanker:
    """Ranks the memories of one store; `notes` are what is known of the model it was given."""

    index: RecallIndex
    store: TopicReader
    clock: Clock
    uses: Callable[[], Mapping[str, int]] = field(default=no_uses)
    notes: tuple[str, ...] = ()
    announce: Announce = unheard
    # How many of the best are looked at; None: enough for a selector to choose from.
    reach: int | None = None
    _look: _Look = field(default_factory=_Look)

    def rank(self, question: str, entries: Sequence[ManifestEntry]) -> Sequence[Ranked]:
        wanted = {entry.file for entry in entries}
        limit = self.reach or SHORTLIST + len(wanted) // 10
        done = self.refresh(self._listed(entries))
        found = self._found(queries.plain(question), limit, "memories", done)
        for note in found.notes:
            self.announce(TroubleNoted("recall.index", note))
        return [
            Ranked(hit.key, hit.score, sure=hit.score >= GOOD_MATCH)
            for hit in found.hits
            if hit.key in wanted
        ]

    def search(self, question: str | Query, *, limit: int, scope: Scope = "memories") -> Results:
        """The best of memories, past conversations or both; text is read in the query language."""
        done = self.refresh() if scope != "episodes" else Refreshed()
        return self._found(question, limit, scope, done)

    def refresh(self, listing: Mapping[str, Signature] | None = None) -> Refreshed:
        """Follow the files, as they are or as they were listed; what did not change is not read again."""
        known = self.store.listing() if listing is None else listing

        def document(file: str) -> MemoryDoc | None:
            stored = self.store.read(file)
            return None if stored is None else MemoryDoc.of(stored.topic, known[file])

        return self.index.refresh(known, document)

    def _listed(self, entries: Sequence[ManifestEntry]) -> Mapping[str, Signature]:
        """Whoever has entries has just looked at the folder: it is listed again if they are others."""
        look = self._look
        if not all(look.entries.get(entry.file) is entry for entry in entries):
            look.listing = self.store.listing()
            look.entries.update((entry.file, entry) for entry in entries)
        return look.listing

    def _found(self, question: str | Query, limit: int, scope: Scope, done: Refreshed) -> Results:
        found = self.index.search(
            question,
            now=self.clock.now(),
            limit=limit,
            collection=scope,
            use_counts=self.uses(),
        )
        trouble = (f"the index was not updated: {done.problem}",) if done.problem else ()
        return replace(found, notes=(*self.notes, *trouble, *found.notes))
