"""Search snapshots of a memory, for the recall probes of a dream."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.learning.dreaming import facts
from reverie.memory.format.manifest import is_index
from reverie.memory.format.revisions import version
from reverie.memory.scratch import Scratch
from reverie.recall import lexical as queries
from reverie.recall.documents import MemoryDoc, Signature
from reverie.recall.index import RecallIndex
from reverie.recall.service import EmbedderChoice

if TYPE_CHECKING:
    from reverie.learning.dreaming.probes import Search
    from reverie.ports import Clock, Embedder


class RecallProber:
    """Searches temporary indexes of snapshots, independent of the live index."""

    def __init__(
        self, scratch: Scratch, clock: Clock, folder: Path, embedder: Embedder | None
    ) -> None:
        self._scratch = scratch
        self._now = clock.now()
        self._folder = folder
        self._embedder = embedder
        self._files: Mapping[str, bytes] = {}
        self._open: list[RecallIndex] = []
        self._first: Search | None = None

    def before(self) -> Search:
        if self._first is None:
            self._files = self._scratch.opened
            self._first = self._searching(self._indexed(self._path("before"), self._files))
        return self._first

    def after(self, files: Mapping[str, bytes | None]) -> Search:
        self.before()
        path = self._path(f"after-{len(self._open)}")
        with (
            closing(sqlite3.connect(self._path("before"))) as old,
            closing(sqlite3.connect(path)) as new,
        ):
            old.backup(new)
        changed = {**self._files, **files}
        present = {name: data for name, data in changed.items() if data is not None}
        return self._searching(self._indexed(path, present))

    def close(self) -> None:
        for index in self._open:
            index.close()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sqlite"

    def _indexed(self, path: Path, files: Mapping[str, bytes]) -> RecallIndex:
        index = RecallIndex.open(path, self._embedder)
        self._open.append(index)
        listing = {name: _signature(data) for name, data in files.items() if not is_index(name)}
        index.refresh(
            listing, lambda name: MemoryDoc.of(facts.parsed(files[name], name), listing[name])
        )
        return index

    def _searching(self, index: RecallIndex) -> Search:
        def search(question: str, limit: int) -> Sequence[str]:
            found = index.search(queries.plain(question), now=self._now, limit=limit)
            return [hit.key for hit in found.hits]

        return search


@lru_cache(maxsize=16_384)
def _signature(data: bytes) -> Signature:
    return (0, len(data), int(version(data)[:15], 16))


@contextmanager
def open_prober(
    scratch: Scratch, clock: Clock, embedder_choice: EmbedderChoice
) -> Iterator[RecallProber]:
    """Open the prober of one dream; its indexes are deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        prober = RecallProber(scratch, clock, Path(folder), embedder_choice.embedder)
        try:
            yield prober
        finally:
            prober.close()
            embedder_choice.close()
