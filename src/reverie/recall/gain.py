"""What another embedding model would find in your own memories, by the same probes for each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.recall import queries
from reverie.recall.documents import MemoryDoc
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex
from reverie.text.words import query_words

if TYPE_CHECKING:
    from reverie.ports import Embedder

# A slow model reads about four thousand memories in a minute; this many are enough.
MOST = 400
_SHOWN = 5
# The most words of a memory in one probe: people ask by some of its words.
_ASKED = 3


@dataclass(frozen=True, slots=True)
class Probe:
    """A question, and the memory that answers it."""

    text: str
    file: str


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a model: the number of probes, and for how many the memory was first, found, shown."""

    model: str
    probes: int
    first: float
    five: float
    shown: float


def probes(docs: Sequence[MemoryDoc]) -> list[Probe]:
    """The cues of each memory, and a question from its less informative words."""
    made = []
    for doc in docs:
        made += [Probe(cue, doc.file) for cue in doc.cues]
        words = [word.word for word in query_words(f"{doc.name} {doc.description}")]
        # Long words are mostly rare ones, which a person who forgot the memory would not use.
        common = sorted(
            sorted(words, key=len)[: max(2, len(words) // 2)][-_ASKED:], key=words.index
        )
        if common:
            made.append(Probe(f"what do we know about {' '.join(common)}?", doc.file))
    return made


def compare(
    docs: Sequence[MemoryDoc],
    models: Mapping[str, Embedder | None],
    now: float,
    progress: Callable[[str], None] = lambda name: None,
) -> list[Found]:
    """What each model finds in the newest memories; cues serve as probes, so they are not indexed."""
    kept = sorted(docs, key=lambda doc: -(doc.created or 0.0))[:MOST]
    asked = probes(kept)
    plain = [replace(doc, cues=()) for doc in kept]
    found = []
    for name, embedder in models.items():
        progress(name)
        with tempfile.TemporaryDirectory() as folder:
            index = RecallIndex.open(Path(folder) / "index.sqlite", embedder)
            try:
                index.put_many(plain)
                while index.embed().left:
                    pass
                found.append(_found(name, index, asked, now))
            finally:
                index.close()
    return found


def _found(name: str, index: RecallIndex, asked: Sequence[Probe], now: float) -> Found:
    first = five = shown = 0
    for probe in asked:
        hits = index.search(queries.plain(probe.text), now=now, limit=_SHOWN).hits
        place = next((i for i, hit in enumerate(hits) if hit.key == probe.file), None)
        first += place == 0
        five += place is not None
        shown += place is not None and hits[place].score >= GOOD_MATCH
    count = max(len(asked), 1)
    return Found(name, len(asked), first / count, five / count, shown / count)
