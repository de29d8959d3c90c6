"""Recall put together: the shadow index of a memory, brought up to date and asked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import TranscriptError
from reverie.memory import topic as topics
from reverie.memory.manifest import is_index
from reverie.recall.documents import Episode, MemoryDoc, Results, Scope
from reverie.recall.index import RecallIndex
from reverie.recall.installed_models import default_embedder
from reverie.recall.ranker import IndexRanker
from reverie.session import transcripts
from reverie.session.records import Record, Said
from reverie.stores.uses import UseCounts

if TYPE_CHECKING:
    from reverie.app.memory import OpenMemory
    from reverie.ports import Clock

INDEX = "index.sqlite"

Progress = Callable[[int, int], None]


@contextmanager
def open_ranker(
    memory: OpenMemory, clock: Clock, *, semantic: bool = True
) -> Iterator[IndexRanker]:
    """The ranker over a memory's shadow index; the index is closed afterwards."""
    embedder = default_embedder() if semantic else None
    index = RecallIndex.open(memory.place.state / INDEX, embedder)
    try:
        yield IndexRanker(index, memory.store, clock, UseCounts(memory.place.state, clock).counts)
    finally:
        index.close()


def recall_as_of(memory: OpenMemory, question: str, moment: datetime, limit: int) -> Results:
    """Answer from memory as it was: an index of that revision, made for this one question."""
    revision = memory.history.as_of(moment)
    if revision is None:
        return Results(notes=(f"there was no memory yet on {moment:%Y-%m-%d}",))
    with tempfile.TemporaryDirectory() as folder:
        index = RecallIndex.open(Path(folder) / INDEX, default_embedder())
        try:
            index.put_many(_documents_of(memory, revision.id))
            at = moment.timestamp()
            return index.search(question, now=at, limit=limit, as_of=at)
        finally:
            index.close()


def _documents_of(memory: OpenMemory, revision: str) -> Iterator[MemoryDoc]:
    for file in memory.history.files(revision):
        data = memory.history.read(file, revision)
        if data is not None and not is_index(file):
            yield MemoryDoc.of(topics.parse(data, file), (0, len(data), 0))


def index_episodes(index: RecallIndex, paths: Iterable[Path], progress: Progress | None) -> None:
    """Messages of past conversations; a transcript that did not change is not read again."""
    known = index.sessions()
    pending = [path for path in paths if known.get(path.stem) != _mark(path)]
    for done, path in enumerate(pending, 1):
        # An empty or broken transcript has no episodes; it is looked at again when it changes.
        with suppress(TranscriptError):
            messages = list(_episodes(transcripts.load(path).records))
            index.add_episodes(path.stem, messages, _signature(path))
        if progress is not None:
            progress(done, len(pending))


def _episodes(records: Iterable[Record]) -> Iterator[Episode]:
    for record in records:
        if isinstance(record, Said) and record.message.text:
            message = record.message
            yield Episode(message.id, message.role, message.at, message.text)


def _signature(path: Path) -> tuple[int, int, int]:
    seen = path.stat()
    return (seen.st_mtime_ns, seen.st_size, seen.st_ino)


def _mark(path: Path) -> str:
    from reverie.recall.topics import signature_text

    return signature_text(_signature(path))


def search(ranker: IndexRanker, question: str, *, limit: int, scope: Scope, now: float) -> Results:
    if scope != "episodes":
        ranker.refresh()
    return ranker.index.search(question, now=now, limit=limit, collection=scope)
