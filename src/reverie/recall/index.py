"""The recall index: refreshed from the files, asked in plain words, never in anybody's way.

Whatever happens to its file (deleted, damaged, full disk, another writer), a search returns what it
can and an update says why it did nothing; the files themselves are the truth.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reverie.recall import episodes, queries, topics
from reverie.recall.answers import answer
from reverie.recall.documents import (
    Collection,
    Episode,
    MemoryDoc,
    Refreshed,
    Results,
    Scope,
    Signature,
)
from reverie.recall.embed import Embedder
from reverie.recall.lexical import Counts
from reverie.recall.search import Question, Ranked, ranked
from reverie.recall.shadow import BUSY_SECONDS, Shadow, is_broken, next_stamp, read_meta

if TYPE_CHECKING:
    from reverie.recall.vectors import Matrix

log = logging.getLogger(__name__)

_WRITE_BATCH = 2_000
_T = TypeVar("_T")


class RecallIndex:
    """Memories and episodes, searchable by words, meaning, time and ties."""

    def __init__(self, shadow: Shadow, embedder: Embedder | None) -> None:
        self._shadow = shadow
        self._embedder = embedder
        self._matrices: dict[Collection, Matrix] = {}
        self._counts = Counts()
        self._followed: tuple[str | None, Mapping[str, Signature]] = (None, {})

    @classmethod
    def open(
        cls, path: Path, embedder: Embedder | None = None, busy_seconds: float = BUSY_SECONDS
    ) -> RecallIndex:
        """The index at a path; made when it is first needed. No embedder: words alone."""
        return cls(Shadow(path, busy_seconds), embedder)

    def close(self) -> None:
        with self._shadow.lock:
            self._shadow.close()

    # --- keeping up with the files ---

    def refresh(
        self, listing: Mapping[str, Signature], read: Callable[[str], MemoryDoc | None]
    ) -> Refreshed:
        """Follow a scan: read what changed, drop what is gone, leave the rest alone."""
        return self._updated(lambda: self._refresh(listing, read))

    def files(self) -> dict[str, str]:
        """Indexed files with the signature they were read under, as `topics.signature_text`."""
        return self._told(lambda: topics.known(self._shadow.connection()), {})

    def stale(self, listing: Mapping[str, Signature]) -> tuple[list[str], list[str]]:
        """Files that changed since they were indexed, and files that are gone."""
        nothing: tuple[list[str], list[str]] = ([], [])
        return self._told(lambda: self._stale(listing), nothing)

    def put(self, doc: MemoryDoc) -> Refreshed:
        """One memory that was just written."""
        return self.put_many((doc,))

    def put_many(self, docs: Iterable[MemoryDoc]) -> Refreshed:
        """Memories that were just written, in one transaction."""
        kept = list(docs)
        return self._updated(lambda: self._written(partial(topics.write, docs=kept)))

    def forget(self, file: str) -> Refreshed:
        """One memory that is gone, down to the last byte in the index file."""
        return self._updated(
            lambda: self._written(
                lambda c, s: Refreshed(removed=topics.remove(c, (file,), s)), purge=True
            )
        )

    def sessions(self) -> dict[str, str]:
        """Indexed sessions with the signature of their transcript, as `topics.signature_text`."""
        return self._told(lambda: episodes.known(self._shadow.connection()), {})

    def add_episodes(
        self, session: str, messages: Iterable[Episode], signature: Signature = (0, 0, 0)
    ) -> Refreshed:
        """Messages of a session; those already there are skipped."""
        kept = list(messages)
        return self._updated(
            lambda: self._written(lambda c, s: episodes.append(c, session, kept, signature, s))
        )

    def forget_session(self, session: str) -> Refreshed:
        return self._updated(
            lambda: self._written(
                lambda c, s: Refreshed(removed=episodes.remove(c, session, s)), purge=True
            )
        )

    def _stale(self, listing: Mapping[str, Signature]) -> tuple[list[str], list[str]]:
        connection = self._shadow.connection()
        stamp = read_meta(connection, "stamp")
        if self._followed == (stamp, listing):
            return [], []
        changed, gone = topics.changes(connection, listing)
        if not changed and not gone:
            # The next scan that looks the same is settled without asking the file.
            self._followed = (stamp, dict(listing))
        return changed, gone

    def _refresh(
        self, listing: Mapping[str, Signature], read: Callable[[str], MemoryDoc | None]
    ) -> Refreshed:
        changed, gone = self._stale(listing)
        total = Refreshed()
        for start in range(0, len(changed), _WRITE_BATCH):
            # Read outside the transaction: other writers wait for our disk, not for our parsing.
            docs = [doc for file in changed[start : start + _WRITE_BATCH] if (doc := read(file))]
            found = self._written(partial(topics.write, docs=docs))
            total = Refreshed(total.added + found.added, total.changed + found.changed)
        removed = 0
        if gone:
            removed = self._written(
                lambda c, s: Refreshed(removed=topics.remove(c, gone, s))
            ).removed
        return Refreshed(total.added, total.changed, removed)

    def _written(
        self, work: Callable[[sqlite3.Connection, int], Refreshed], *, purge: bool = False
    ) -> Refreshed:
        with self._shadow.writing() as connection:
            result = work(connection, next_stamp(connection))
            if purge:
                for table in ("memory_words", "episode_words"):
                    connection.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
        if purge:
            self._shadow.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._embed_pending()
        return result

    def _embed_pending(self) -> None:
        embedder = self._embedder
        if embedder is None:
            return
        from reverie.recall import vectors  # noqa: PLC0415 - numpy, only when vectors are used

        while True:
            with self._shadow.writing() as connection:
                vectors.prepare(connection, embedder)
                batch = vectors.pending(connection, _WRITE_BATCH)
                if not batch:
                    return
                vectors.embed(connection, embedder, batch)

    def _updated(self, work: Callable[[], Refreshed]) -> Refreshed:
        """A failing update is a reason, not an error: the next one tries again."""
        with self._shadow.lock:
            try:
                return self._healed(work)
            except (sqlite3.Error, OSError) as error:
                log.warning("the recall index was not updated: %s", error)
                return Refreshed(problem=str(error))

    def _told(self, work: Callable[[], _T], otherwise: _T) -> _T:
        """A question about the index itself; one that cannot be read has nothing to tell."""
        with self._shadow.lock:
            try:
                return self._healed(work)
            except (sqlite3.Error, OSError) as error:
                log.warning("the recall index could not be read: %s", error)
                return otherwise

    def _healed(self, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except sqlite3.DatabaseError as error:
            if not is_broken(error):
                raise
            self._matrices.clear()
            self._counts = Counts()
            self._shadow.discard(error)
        return work()

    # --- asking ---

    def search(
        self,
        question: str,
        *,
        now: float,
        limit: int = 10,
        collection: Scope = "memories",
        as_of: float | None = None,
        use_counts: Mapping[str, int] | None = None,
    ) -> Results:
        """The best memories or messages for a question, best first, each with its reasons."""
        with self._shadow.lock:
            try:
                return self._healed(
                    lambda: self._search(question, now, limit, collection, as_of, use_counts or {})
                )
            except (sqlite3.Error, OSError) as error:
                log.warning("the recall index could not be searched: %s", error)
                return Results(notes=(f"the index could not be read: {error}",))

    def _search(
        self,
        question: str,
        now: float,
        limit: int,
        scope: Scope,
        as_of: float | None,
        uses: Mapping[str, int],
    ) -> Results:
        query = queries.parse(question)
        vector = None
        if self._embedder is not None and query.text.strip():
            vector = self._embedder.encode([query.text], "question")[0]
        model = self._embedder.name if self._embedder is not None else ""
        connection = self._shadow.connection()
        chosen: tuple[Collection, ...] = ("memories", "episodes") if scope == "both" else (scope,)
        found: list[Ranked] = []
        connection.execute("BEGIN")
        try:
            counts = self._counts.follow(int(read_meta(connection, "stamp") or 0))
            asked = Question(query, now, as_of, vector, uses, model, counts)
            for collection in chosen:
                matrix = self._matrix(connection, collection)
                found.append(ranked(connection, collection, asked, matrix))
            return answer(connection, found, asked, limit)
        finally:
            connection.execute("ROLLBACK")

    def _matrix(self, connection: sqlite3.Connection, collection: Collection) -> Matrix | None:
        if self._embedder is None:
            return None
        from reverie.recall.vectors import Matrix  # noqa: PLC0415 - numpy, only when used

        matrix = self._matrices.get(collection)
        if matrix is None:
            matrix = Matrix(int(collection == "episodes"), self._embedder.dimensions)
            self._matrices[collection] = matrix
        matrix.follow(connection)
        return matrix
