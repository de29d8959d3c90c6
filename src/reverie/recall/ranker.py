"""The hybrid index as the pipeline sees it: brought up to date from the files, then asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reverie.events import Announce, TroubleNoted, unheard
from reverie.memory.manifest import ManifestEntry
from reverie.ports import Clock, TopicStore
from reverie.recall import queries
from reverie.recall.documents import MemoryDoc, Refreshed, Results, Scope
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex
from reverie.recall.pipeline import SHORTLIST, Ranked
from reverie.recall.queries import Query


def no_uses() -> Mapping[str, int]:
    return {}


@dataclass(frozen=True, slots=True)
class IndexRanker:
    """Ranks the memories of one store; `notes` are what is known of the model it was given."""

    index: RecallIndex
    store: TopicStore
    clock: Clock
    uses: Callable[[], Mapping[str, int]] = field(default=no_uses)
    notes: tuple[str, ...] = ()
    announce: Announce = unheard

    def rank(self, question: str, entries: Sequence[ManifestEntry]) -> Sequence[Ranked]:
        wanted = {entry.file for entry in entries}
        found = self.search(queries.plain(question), limit=SHORTLIST + len(wanted) // 10)
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
        found = self.index.search(
            question,
            now=self.clock.now(),
            limit=limit,
            collection=scope,
            use_counts=self.uses(),
        )
        trouble = (f"the index was not updated: {done.problem}",) if done.problem else ()
        return replace(found, notes=(*self.notes, *trouble, *found.notes))

    def refresh(self) -> Refreshed:
        """Follow the files; what did not change is not read again."""
        listing = self.store.listing()

        def document(file: str) -> MemoryDoc | None:
            stored = self.store.read(file)
            return None if stored is None else MemoryDoc.of(stored.topic, listing[file])

        return self.index.refresh(listing, document)
