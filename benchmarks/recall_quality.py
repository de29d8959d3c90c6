"""How often recall finds what answers a question: LoCoMo by turns, LongMemEval by sessions.

One row a method. Weights were chosen by dev (LoCoMo conversations 1–4, every other LongMemEval
question); the tables show dev and test. `recall_data.py` says how far test was really held out.
LoCoMo is scored twice: as published, and with the citations corrected that its audit found wrong.

    python benchmarks/recall_quality.py [--only WORD]…
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from statistics import fmean

from peers.drivers import peers
from recall_data import CATEGORIES, Asked, Corpus, locomo, longmemeval
from recall_methods import Bm25, Cached, EmbeddingAlone, Method, Ours
from report import data_folder, publish

from reverie.models.embeddings.local import Missing, default_embedder, onnx_embedder
from reverie.ports import Embedder

CUTS = (5, 10, 20)
Row = list[str | float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="run methods whose name contains this")
    parser.add_argument("--data", choices=["locomo", "longmemeval"], help="run on this alone")
    given = parser.parse_args()
    folder = data_folder()
    conversations = locomo(folder) if given.data != "longmemeval" else []
    haystacks = longmemeval(folder) if given.data != "locomo" else []
    turn_rows: list[Row] = []
    session_rows: list[Row] = []
    for name, method in methods():
        if given.only and not any(word in name for word in given.only):
            continue
        turn_rows += _locomo_rows(name, method, conversations) if conversations else []
        session_rows += _longmemeval_rows(name, method, haystacks) if haystacks else []
        print(f"… {name}", flush=True)
    part = "_partial" if given.only else ""
    if turn_rows:
        kinds = CATEGORIES.values()
        columns = ["method", "part", *(f"R@{k}" for k in CUTS), "R@10 audited", *kinds]
        publish(f"recall_quality_locomo{part}", columns, turn_rows)
    if session_rows:
        columns = ["method", "part", "any@5", "all@5", "all@10", "NDCG@10"]
        publish(f"recall_quality_longmemeval{part}", columns, session_rows)


def methods() -> Iterator[tuple[str, Method]]:
    """Every method that can run here; what cannot is said."""
    yield "BM25 alone", Bm25
    yield "ours, words alone", lambda corpus: Ours(corpus, None)
    for label, found in (("default", default_embedder()), ("extra", onnx_embedder())):
        if isinstance(found, Missing):
            print(f"not run: {label} (missing: {found.reason})")
            continue
        yield from _with(Cached(found), label)
    yield from peers()


def _with(embedder: Cached, label: str) -> Iterator[tuple[str, Method]]:
    yield f"{embedder.name} alone", lambda corpus: EmbeddingAlone(corpus, embedder)
    embedder.save()
    yield f"ours, {label} ({embedder.name})", lambda corpus: _ours(corpus, embedder)
    embedder.save()


def _ours(corpus: Corpus, embedder: Embedder) -> Ours:
    return Ours(corpus, embedder)


def _locomo_rows(name: str, method: Method, conversations: Sequence[Corpus]) -> list[Row]:
    scored: list[tuple[bool, Asked, list[str]]] = []
    for corpus in conversations:
        ranker = method(corpus)
        scored += [(corpus.dev, asked, ranker.turns(asked, 20)) for asked in corpus.questions]
    rows: list[Row] = []
    for part, dev in (("test", False), ("dev", True)):
        these = [(asked, found) for is_dev, asked, found in scored if is_dev == dev]
        recall = [fmean(share(a.gold, found[:k]) for a, found in these) for k in CUTS]
        audited = fmean(share(a.audited, found[:10]) for a, found in these)
        kinds = [
            fmean(share(a.gold, found[:10]) for a, found in these if a.kind == kind)
            for kind in CATEGORIES.values()
        ]
        rows.append([name, part, *recall, audited, *kinds])
    return rows


def _longmemeval_rows(name: str, method: Method, haystacks: Sequence[Corpus]) -> list[Row]:
    scored = []
    for corpus in haystacks:
        (asked,) = corpus.questions
        found = method(corpus).sessions(asked)
        whole = [asked.gold <= set(found[:k]) for k in (5, 10)]
        some = bool(asked.gold & set(found[:5]))
        scored.append((corpus.dev, some, *whole, ndcg(asked.gold, found[:10])))
    rows: list[Row] = []
    for part, dev in (("test", {False}), ("dev", {True}), ("all", {True, False})):
        these = [figures for is_dev, *figures in scored if is_dev in dev]
        rows.append(
            [name, part, *(fmean(map(float, column)) for column in zip(*these, strict=True))]
        )
    return rows


def share(gold: frozenset[str], found: Sequence[str]) -> float:
    """How much of what answers a question is among what was found."""
    return len(gold & set(found)) / len(gold)


def ndcg(gold: frozenset[str], found: Sequence[str]) -> float:
    gained = sum(1 / math.log2(i + 2) for i, name in enumerate(found) if name in gold)
    return gained / sum(1 / math.log2(i + 2) for i in range(min(len(gold), len(found))))


if __name__ == "__main__":
    main()
