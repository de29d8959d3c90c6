"""When to show nothing: how often what recall shows is right, and how often strangers get an answer.

Memories are the facts that LoCoMo's authors noted for each conversation, with the turns they come
from; a memory is right for a question when it comes from a turn that answers it (other memories may
be useful, too, so true precision is higher). Each question is also put to somebody else's
memories, where nothing fits. Calibrated on conversations 1–4; test is 5–10.

    python benchmarks/recall_threshold.py
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from recall_data import Corpus, Turn, locomo, turn_ids
from recall_methods import Cached
from report import data_folder, publish

from reverie.models.embeddings.local import Missing, default_embedder, onnx_embedder
from reverie.ports import Embedder
from reverie.recall import queries
from reverie.recall.documents import MemoryDoc
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex

SHOWN = 5
THRESHOLDS = (0.0, 0.2, GOOD_MATCH, 0.4, 0.5)


@dataclass(frozen=True, slots=True)
class Shelf:
    """One conversation's notes as memories, and the turns each comes from."""

    corpus: Corpus
    index: RecallIndex
    sources: dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Shown:
    """What one question would have been shown; `own` when it was put to its own conversation."""

    dev: bool
    own: bool
    hits: tuple[tuple[float, bool], ...]


def main() -> None:
    rows = []
    models: dict[str, Embedder | None] = {"words alone": None}
    for name, found in (("default", default_embedder()), ("extra", onnx_embedder())):
        if isinstance(found, Missing):
            print(f"not run: {name} (missing: {found.reason})")
        else:
            models[name] = Cached(found)
    for name, embedder in models.items():
        with tempfile.TemporaryDirectory() as folder:
            shown = list(asked(shelves(Path(folder), embedder)))
        rows += [row(name, part, dev, t, shown) for part, dev in PARTS for t in THRESHOLDS]
    publish("recall_threshold", COLUMNS, rows)


PARTS = (("test", False), ("dev", True))
COLUMNS = (
    *("method", "part", "threshold", "precision", "precision of the first"),
    *("own questions answered", "strangers' questions answered", "right ones kept"),
)


def row(name: str, part: str, dev: bool, threshold: float, shown: Sequence[Shown]) -> list[Any]:
    these = [item for item in shown if item.dev == dev]
    own, strange = ([i for i in these if i.own == wanted] for wanted in (True, False))
    kept = [right for item in these for score, right in item.hits if score >= threshold]
    first = [item.hits[0][1] for item in these if item.hits and item.hits[0][0] >= threshold]
    everything = sum(right for item in these for _, right in item.hits)
    return [
        *(name, part, threshold, fmean(kept), fmean(first)),
        *(_answered(own, threshold), _answered(strange, threshold), sum(kept) / everything),
    ]


def _answered(shown: Sequence[Shown], threshold: float) -> float:
    return fmean(bool(item.hits) and item.hits[0][0] >= threshold for item in shown)


def asked(shelves: Sequence[Shelf]) -> Iterator[Shown]:
    """Every question to its own conversation, and to the next one of the same part."""
    for part in (True, False):
        these = [shelf for shelf in shelves if shelf.corpus.dev == part]
        for i, shelf in enumerate(these):
            stranger = these[(i + 1) % len(these)]
            for question in shelf.corpus.questions:
                if question.kind == "adversarial":
                    continue
                wanted = queries.plain(question.text)
                hits = shelf.index.search(wanted, now=question.now, limit=SHOWN).hits
                right = [(h.score, bool(shelf.sources[h.key] & question.gold)) for h in hits]
                yield Shown(dev=part, own=True, hits=tuple(right))
                hits = stranger.index.search(wanted, now=question.now, limit=SHOWN).hits
                yield Shown(dev=part, own=False, hits=tuple((hit.score, False) for hit in hits))


def shelves(folder: Path, embedder: Embedder | None) -> list[Shelf]:
    data = data_folder()
    known = notes(data)
    found = []
    for corpus in locomo(data):
        index = RecallIndex.open(folder / f"{corpus.name}.db", embedder)
        index.put_many([doc for doc, _ in known[corpus.name]])
        found.append(Shelf(corpus, index, {doc.file: turns for doc, turns in known[corpus.name]}))
    return found


def notes(data: Path) -> dict[str, list[tuple[MemoryDoc, frozenset[str]]]]:
    """Each conversation's notes as memories, with the turns they come from."""
    with gzip.open(data / "locomo" / "locomo10.json.gz") as file:
        raw = json.load(file)
    return {
        corpus.name: list(_notes(conversation["observation"], corpus.turns))
        for corpus, conversation in zip(locomo(data), raw, strict=True)
    }


def _notes(
    observed: dict[str, Any], turns: Sequence[Turn]
) -> Iterator[tuple[MemoryDoc, frozenset[str]]]:
    began = {turn.session: turn.at for turn in reversed(turns)}
    for key, by_speaker in observed.items():
        session = key.removesuffix("_observation")
        for speaker, facts in by_speaker.items():
            for i, (fact, cited, *_) in enumerate(facts):
                name = " ".join(fact.split()[:6])
                file = f"{session}-{speaker}-{i}.md"
                doc = MemoryDoc(file, (1, 1, 1), name, fact, created=began.get(session))
                yield doc, turn_ids([cited] if isinstance(cited, str) else cited)


if __name__ == "__main__":
    main()
