"""The recall index: refreshed from the files, and searched in plain words; its failures never stop a session.

Whatever happens to its file (deleted, damaged, full disk, another writer), a search returns what it
can, and an update says why it did nothing. The memory files are authoritative.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from reverie.errors import ReverieError
from reverie.memory.format.manifest import Changes
from reverie.recall import episodes, queries, spelling, topics
from reverie.recall.answers import answer
from reverie.recall.candidates import Part, Question, pool
from reverie.recall.documents import (
    Collection,
    Embedded,
    Episode,
    MemoryDoc,
    Refreshed,
    Results,
    Scope,
    Signature,
)
from reverie.recall.lexical import TABLES, Counts, Lookup
from reverie.recall.queries import Query
from reverie.recall.search import Ranked, ranked
from reverie.recall.shadow import BUSY_SECONDS, Shadow, is_broken, next_stamp, read_meta, write_meta

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reverie.ports import Embedder, TextKind, WordVectors
    from reverie.recall.vectors import Matrix

log = logging.getLogger(__name__)

_WRITE_BATCH = 2_000
# How many portions of vectors an update computes itself; the rest waits for `embed`.
_PORTIONS = 4
_T = TypeVar("_T")
FOLLOWED = "followed"
# Set when removed files may be unknown, until all files have been compared.
UNSURE = "unsure"


class RecallIndex:
    """Memories and episodes, searchable by words, meaning, time and ties."""

    def __init__(
        self, shadow: Shadow, embedder: Embedder | None, words: WordVectors | None = None
    ) -> None:
        self._shadow = shadow
        self._embedder = embedder
        self._words = words
        self._dimensions: int | None = None
        self._matrices: dict[Collection, Matrix] = {}
        self._counts = Counts()
        self._followed: tuple[str | None, Mapping[str, Signature]] = (None, {})

    @classmethod
    def open(
        cls,
        path: Path,
        embedder: Embedder | None = None,
        busy_seconds: float = BUSY_SECONDS,
        words: WordVectors | None = None,
    ) -> RecallIndex:
        """Open the index at a path; it is created when first needed. Without an embedder, it uses words only.

        With the vectors of `words`, the best messages are compared word by word.
        """
        return cls(Shadow(path, busy_seconds), embedder, words)

    @property
    def folder(self) -> Path:
        """The folder of the index and of the files beside it."""
        return self._shadow.path.parent

    def close(self) -> None:
        with self._shadow.lock:
            self._shadow.close()

    # --- keeping up with the files ---

    def refresh(
        self, listing: Mapping[str, Signature], read: Callable[[str], MemoryDoc | None]
    ) -> Refreshed:
        """Follow a scan: read changed files and drop removed ones."""
        return self._updated(lambda: self._refresh(listing, read))

    def followed(self) -> str:
        """The position up to which the changes of a large directory are indexed."""
        return self._read(lambda: read_meta(self._shadow.connection(), FOLLOWED) or "", "")

    def follow(self, changes: Changes, read: Callable[[str], MemoryDoc | None]) -> Refreshed:
        """Index changes, and record the new position in the same transaction."""
        docs = [doc for file in changes.changed if (doc := read(file)) is not None]
        there = {doc.file for doc in docs}
        gone = [*changes.gone, *(file for file in changes.changed if file not in there)]

        def work(connection: sqlite3.Connection, stamp: int) -> Refreshed:
            found = topics.write(connection, stamp, docs)
            write_meta(connection, FOLLOWED, changes.upto)
            if changes.afresh:
                write_meta(connection, UNSURE, "1")
            return replace(found, removed=topics.remove(connection, gone, stamp))

        if not docs and not gone and changes.upto == self.followed():
            return Refreshed()
        return self._updated(lambda: self._written(work), portions=1)

    def forget_others(self, files: Callable[[], Iterable[str]]) -> Refreshed:
        """Remove files that no longer exist, where the changes alone could not show that."""
        if not self._read(lambda: read_meta(self._shadow.connection(), UNSURE), None):
            return Refreshed()
        there = set(files())
        gone = [file for file in self.files() if file not in there]

        def work(connection: sqlite3.Connection, stamp: int) -> Refreshed:
            connection.execute("DELETE FROM meta WHERE key = ?", (UNSURE,))
            return Refreshed(removed=topics.remove(connection, gone, stamp))

        return self._updated(lambda: self._written(work))

    def missing(self, files: Sequence[str]) -> set[str]:
        """Those of some files that are not in the index."""
        return self._read(lambda: topics.missing(self._shadow.connection(), files), set(files))

    def files(self) -> dict[str, str]:
        """Indexed files with the signature they were read under, as `topics.signature_text`."""
        return self._read(lambda: topics.known(self._shadow.connection()), {})

    def put_many(self, docs: Iterable[MemoryDoc]) -> Refreshed:
        """Index memories that were just written, in one transaction."""
        kept = list(docs)
        return self._updated(lambda: self._written(partial(topics.write, docs=kept)))

    def forget(self, file: str) -> Refreshed:
        """Remove one memory, down to the last byte in the index file."""
        return self._updated(
            lambda: self._written(
                lambda c, s: Refreshed(removed=topics.remove(c, (file,), s)), purge=True
            )
        )

    def sessions(self) -> dict[str, str]:
        """Indexed sessions with the signature of their transcript, as `topics.signature_text`."""
        return self._read(lambda: episodes.known(self._shadow.connection()), {})

    def add_episodes(
        self, session: str, messages: Iterable[Episode], signature: Signature = (0, 0, 0)
    ) -> Refreshed:
        """Add messages of a session, skipping those already indexed."""
        kept = list(messages)
        return self._updated(
            lambda: self._written(lambda c, s: episodes.append(c, session, kept, signature, s)),
            portions=1,
        )

    def departs(self, session: str, messages: Iterable[Episode]) -> bool:
        """Whether messages read from a transcript were since removed from it or changed."""
        kept = list(messages)
        return self._read(
            lambda: episodes.departs(self._shadow.connection(), session, kept), otherwise=False
        )

    def forget_sessions(self, *sessions: str) -> Refreshed:
        """Remove sessions, down to the last byte in the index file."""
        return self._updated(
            lambda: self._written(
                lambda c, s: Refreshed(removed=episodes.remove(c, sessions, s)), purge=True
            )
        )

    def embed(self, portions: int = 1) -> Embedded:
        """Compute the vectors of this many portions of passages; nothing waits for this."""
        if self._embedder is None:
            return Embedded()
        from reverie.recall.vectors import embed_portion

        done = Embedded()
        for _ in range(portions):
            try:
                found = embed_portion(self._shadow, self._embedder, self._dimensions)
            except (ReverieError, sqlite3.Error, OSError) as error:
                log.warning("vectors were not made: %s", error)
                return Embedded(done.made, done.left, str(error))
            done = Embedded(done.made + found.made, found.left)
            if not found.left:
                break
        return done

    def vectors(self) -> Embedded:
        """How many passages have a vector of this model, and how many are waiting."""
        if self._embedder is None:
            return Embedded()
        from reverie.recall.vectors import counted

        name = self._embedder.name
        return self._read(lambda: counted(self._shadow.connection(), name), Embedded())

    def _stale(self, listing: Mapping[str, Signature]) -> tuple[list[str], list[str]]:
        connection = self._shadow.connection()
        stamp = read_meta(connection, "stamp")
        if self._followed == (stamp, listing):
            return [], []
        changed, gone = topics.changes(connection, listing)
        if not changed and not gone:
            # An identical next scan is recognised without reading the file.
            self._followed = (stamp, dict(listing))
        return changed, gone

    def _refresh(
        self, listing: Mapping[str, Signature], read: Callable[[str], MemoryDoc | None]
    ) -> Refreshed:
        changed, gone = self._stale(listing)
        total = Refreshed()
        for start in range(0, len(changed), _WRITE_BATCH):
            # Read outside the transaction, so that other writers do not wait for our parsing.
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
        return result

    def _updated(self, work: Callable[[], Refreshed], portions: int = _PORTIONS) -> Refreshed:
        """Run an update; a failure is returned as a reason, as the next update tries again."""
        with self._shadow.lock:
            try:
                done = self._repaired(work)
            except (sqlite3.Error, OSError) as error:
                log.warning("the recall index was not updated: %s", error)
                return Refreshed(problem=str(error))
        self.embed(portions)
        return done

    def _read(self, work: Callable[[], _T], otherwise: _T) -> _T:
        """Read the index's own state; `otherwise` if it cannot be read."""
        with self._shadow.lock:
            try:
                return self._repaired(work)
            except (sqlite3.Error, OSError) as error:
                log.warning("the recall index could not be read: %s", error)
                return otherwise

    def _repaired(self, work: Callable[[], _T]) -> _T:
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
        question: str | Query,
        *,
        now: float,
        limit: int = 10,
        collection: Scope = "memories",
        as_of: float | None = None,
        use_counts: Mapping[str, int] | None = None,
    ) -> Results:
        """The best memories or messages for a question, best first, each with its reasons.

        Text is read as `queries.read` does; `queries.plain` makes a question of any other text.
        """
        query = queries.read(question) if isinstance(question, str) else question
        if collection != "episodes":
            query = self._corrected(query)
        # Outside the lock: a model may be slow.
        split = queries.parts(query.text) if collection != "episodes" else ()
        texts = tuple(dict.fromkeys((query.text, *split)))
        rows, notes = self._vectors(texts, collection)
        vectors = dict(zip(texts, rows, strict=False))
        model = self._embedder.name if self._embedder is not None else ""
        asked = Question(
            query,
            now,
            as_of,
            vectors[query.text],
            use_counts or {},
            model,
            pool=pool(collection, limit),
            parts=tuple(Part(text, vectors[text]) for text in split) if len(split) > 1 else (),
            words=self._words,
            to_messages=rows[-1],
        )
        chosen: tuple[Collection, ...] = (
            ("memories", "episodes") if collection == "both" else (collection,)
        )
        with self._shadow.lock:
            try:
                found = self._repaired(lambda: self._search(asked, chosen, limit))
            except (sqlite3.Error, OSError) as error:
                log.warning("the recall index could not be searched: %s", error)
                return Results(notes=(*notes, f"the index could not be read: {error}"))
        return replace(found, notes=(*notes, *found.notes))

    def _corrected(self, query: Query) -> Query:
        """A question with typing errors corrected towards the words of the memories."""

        def work() -> str:
            connection = self._shadow.connection()
            counts = self._counts.follow(int(read_meta(connection, "stamp") or 0))
            return spelling.corrected(query.text, Lookup(connection, TABLES["memories"], counts))

        return replace(query, text=self._read(work, query.text))

    def _search(self, question: Question, collections: Sequence[Collection], limit: int) -> Results:
        connection = self._shadow.connection()
        found: list[Ranked] = []
        connection.execute("BEGIN")
        try:
            counts = self._counts.follow(int(read_meta(connection, "stamp") or 0))
            asked = replace(question, counts=counts)
            for collection in collections:
                matrix = self._matrix(connection, collection)
                to_messages = replace(asked, vector=asked.to_messages)
                put = asked if collection == "memories" else to_messages
                found.append(ranked(connection, collection, put, matrix))
            return replace(
                answer(connection, found, asked, limit), notes=self._replacing_note(connection)
            )
        finally:
            connection.execute("ROLLBACK")

    def _replacing_note(self, connection: sqlite3.Connection) -> tuple[str, ...]:
        """A note while another model's vectors are being replaced."""
        if self._embedder is None or self._dimensions is None:
            return ()
        from reverie.recall.vectors import replacing

        note = replacing(connection, self._embedder.name)
        return (note,) if note else ()

    def _vectors(
        self, texts: Sequence[str], scope: Scope
    ) -> tuple[Sequence[NDArray[np.float32] | None], tuple[str, ...]]:
        """A vector for each text of a question, and last the one that messages are compared with.

        Without them, a note on why only words are used.
        """
        none = [None] * (len(texts) + 1)
        if self._embedder is None or not texts[0].strip():
            return none, ()
        from reverie.recall.vectors import encoded

        try:
            kind: TextKind = "question to messages" if scope == "episodes" else "question"
            rows = list(encoded(self._embedder, texts, kind))
            rows.append(rows[0])
            if self._embedder.apart and scope == "both":
                rows[-1] = encoded(self._embedder, texts[:1], "question to messages")[0]
        except ReverieError as error:
            return none, (f"by words alone: {error}",)
        self._dimensions = len(rows[0]) or None
        return rows if len(rows[0]) else none, ()

    def _matrix(self, connection: sqlite3.Connection, collection: Collection) -> Matrix | None:
        """The vectors to compare with; None if those in the file are another model's."""
        if self._embedder is None or self._dimensions is None:
            return None
        from reverie.recall.vectors import Matrix, outdated

        if outdated(connection, self._embedder.name, self._dimensions):
            return None
        matrix = self._matrices.setdefault(collection, Matrix(int(collection == "episodes")))
        matrix.follow(connection)
        return matrix
