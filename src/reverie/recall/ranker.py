"""The hybrid index as the pipeline sees it: brought up to date from the files, then asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reverie.memory.manifest import ManifestEntry
from reverie.ports import Clock, TopicStore
from reverie.recall.documents import MemoryDoc, Refreshed, Results
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex
from reverie.recall.pipeline import SHORTLIST, Ranked


def no_uses() -> Mapping[str, int]:
    return {}


@dataclass(frozen=True, slots=True)
class IndexRanker:
    """Ranks the memories of one store."""

    index: RecallIndex
    store: TopicStore
    clock: Clock
    uses: Callable[[], Mapping[str, int]] = field(default=no_uses)

    def rank(self, question: str, entries: Sequence[ManifestEntry]) -> Sequence[Ranked]:
        wanted = {entry.file for entry in entries}
        found = self.search(question, limit=SHORTLIST + len(wanted) // 10)
        return [
            Ranked(hit.key, hit.score, sure=hit.score >= GOOD_MATCH)
            for hit in found.hits
            if hit.key in wanted
        ]

    def search(self, question: str, *, limit: int) -> Results:
        self.refresh()
        return self.index.search(
            question, now=self.clock.now(), limit=limit, use_counts=self.uses()
        )

    def refresh(self) -> Refreshed:
        """Follow the files; what did not change is not read again."""
        listing = self.store.listing()

        def document(file: str) -> MemoryDoc | None:
            stored = self.store.read(file)
            return None if stored is None else MemoryDoc.of(stored.topic, listing[file])

        return self.index.refresh(listing, document)
