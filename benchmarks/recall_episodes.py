"""How long past conversations take to come into the index: 47 real Claude Code sessions, step by step.

python benchmarks/recall_episodes.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter

from report import data_folder, publish

from reverie.memory.secrets.scrubber import SecretScrubber
from reverie.models.embeddings.local import Missing, default_embedder
from reverie.recall.index import RecallIndex
from reverie.recall.past_sessions import EpisodeIndexer

COLUMNS = ("pass", "transcripts", "steps", "seconds", "longest step ms")


def main() -> None:
    embedder = default_embedder()
    if isinstance(embedder, Missing):
        sys.exit(f"missing: {embedder.reason}")
    paths = {path.name: path for path in (data_folder() / "claude_sessions").glob("*.jsonl.gz")}
    with tempfile.TemporaryDirectory() as folder:
        index = RecallIndex.open(Path(folder) / "index.sqlite", embedder)
        scrubber = SecretScrubber(Path(folder) / "allowed-secrets.json")
        indexer = EpisodeIndexer(index, lambda known: paths, scrubber)
        rows = [[name, len(paths), *timed(indexer)] for name in ("first", "nothing changed")]
        index.close()
    publish("recall_episodes", COLUMNS, rows)


def timed(indexer: EpisodeIndexer) -> tuple[int, float, float]:
    """Steps, seconds in all, and milliseconds of the longest step."""
    taken = []
    more = True
    while more:
        began = perf_counter()
        more = indexer.step() is not None
        taken.append(perf_counter() - began)
    return len(taken), sum(taken), max(taken) * 1000


if __name__ == "__main__":
    main()
