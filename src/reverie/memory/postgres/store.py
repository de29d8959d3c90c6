"""The memory of one project in PostgreSQL: the port `TopicStore`, each change one transaction.

A writer locks the project's row, so that writers of one memory take turns and those of others do not
wait. Every write names the version it is based on: a clean three-way merge or a refusal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

import psycopg

from reverie.errors import InputError
from reverie.memory.derived_history import revision_id
from reverie.memory.format import index as indexes
from reverie.memory.format import manifest
from reverie.memory.format import topic as topics
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import (
    INDEX_FILE,
    Changes,
    ManifestEntry,
    is_index,
    newest_first,
)
from reverie.memory.format.revisions import (
    Author,
    Change,
    Revision,
    parse_message,
    render_message,
    version,
)
from reverie.memory.postgres.database import Connection, Database, patiently
from reverie.memory.postgres.rows import (
    Indexing,
    NewRevision,
    PostgresHistory,
    ProjectRow,
    add_revision,
    index_nothing,
    set_topics,
    similar_words,
)
from reverie.memory.reading import Stored
from reverie.memory.store import check_size, resolved, unchanged
from reverie.ports import Clock

# The id and the number of the newest revision.
Head = tuple[str | None, int]
Cursor = psycopg.Cursor[dict[str, Any]]
# The name of an embedding model, and its vector for a text.
Meaning = Callable[[str], tuple[str, str] | None]

# Similar memories are the best by shared words and the best by meaning. Of 690 pairs of facts, old and
# new, in one store of 1,260, these find as many as the twenty best by words, or more.
_BY_WORDS = 5
_BY_MEANING = 4
_BY_WORDS_ALONE = 12


def no_meaning(text: str) -> None:
    """No embedding model is configured."""


class PostgresStore:
    """The memories of one project, as one key may see them."""

    def __init__(
        self,
        database: Database,
        token: str,
        project: ProjectRow,
        clock: Clock,
        indexing: Indexing = index_nothing,
        meaning: Meaning = no_meaning,
    ) -> None:
        self._database = database
        self._token = token
        self.project = project
        self._clock = clock
        self._indexing = indexing
        self._meaning = meaning
        self._local = threading.local()
        self.history = PostgresHistory(self)

    @property
    def id(self) -> str:
        return self.project.project

    def within(self, connection: Connection) -> PostgresStore:
        """The same store inside a transaction of this thread that is already open."""
        self._local.connection = connection
        return self

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A transaction; inside one, the same."""
        active: Connection | None = getattr(self._local, "connection", None)
        if active is not None:
            yield active
            return
        with self._entered() as connection:
            self._local.connection = connection
            try:
                yield connection
            finally:
                self._local.connection = None

    @contextmanager
    def _entered(self) -> Iterator[Connection]:
        """A new transaction with the identity that this store works for."""
        with self._database.entered(self._token) as (connection, _):
            yield connection

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Rows of a query whose first value is the project."""
        return self._asked(query, (self.project.project, *values))

    def _asked(
        self, query: str, values: Sequence[object] | Mapping[str, object]
    ) -> list[dict[str, Any]]:
        def work() -> list[dict[str, Any]]:
            with self.connection() as connection:
                return connection.execute(query.encode(), values).fetchall()

        return work() if self._inside else patiently(work)

    @property
    def _inside(self) -> bool:
        """Whether this thread is in a transaction, which can only be retried as a whole."""
        return getattr(self._local, "connection", None) is not None

    # --- reading ---

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first."""
        found = self.rows(
            "SELECT file, head, size, changed FROM reverie.topics WHERE project = %s "
            "ORDER BY changed DESC, file"
        )
        return newest_first(map(_entry, found))

    def listing(self) -> Mapping[str, tuple[int, int, int]]:
        found = self.rows("SELECT file, changed, size, seq FROM reverie.topics WHERE project = %s")
        return {
            row["file"]: (int(row["changed"] * 1e9), row["size"], row["seq"])
            for row in found
            if not is_index(row["file"])
        }

    @property
    def large(self) -> bool:
        """No query here reads all memories."""
        return True

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        """Current memories that share the rarest words of a text, and those with a similar meaning."""
        words = similar_words(text)
        # A large project has its vectors in an index that this does not ask.
        near = None if self.project.large else self._meaning(text)
        asked = {
            "project": self.project.project,
            "model": near and near[0],
            "vector": near and near[1],
            "worded": _BY_WORDS if near else _BY_WORDS_ALONE,
            "near": _BY_MEANING,
            **{f"t{n}": lexeme(word) for n, word in enumerate(words)},
        }
        return newest_first(map(_entry, self._asked(_alike_query(len(words)), asked)))

    def has(self, file: str) -> bool:
        query = "SELECT 1 FROM reverie.topics WHERE project = %s AND folded = %s"
        return bool(self.rows(query, file.casefold()))

    def some(self, files: Sequence[str], newest: int = 0) -> Sequence[ManifestEntry]:
        query = "SELECT file, head, size, changed FROM reverie.topics WHERE project = %s"
        chosen = self.rows(f"{query} AND file = ANY (%s)", list(files)) if files else []
        by_name = {row["file"]: row for row in chosen}
        recent = (
            self.rows(
                f"{query} AND file <> %s ORDER BY changed DESC, file LIMIT %s", INDEX_FILE, newest
            )
            if newest
            else []
        )
        rows = [*(by_name[file] for file in files if file in by_name), *recent]
        return [_entry(row) for row in {row["file"]: row for row in rows}.values()]

    def changes(self, since: str, most: int) -> Changes | None:
        """Memories changed after a revision number; `upto` is the number to continue from."""
        start = int(since) if since.isdecimal() else 0
        found = self.rows(
            "SELECT c.file, max(c.seq) AS at, t.changed, t.size, t.seq FROM reverie.changes c "
            "LEFT JOIN reverie.topics t ON t.project = c.project AND t.file = c.file "
            "WHERE c.project = %s AND c.seq > %s GROUP BY c.file, t.changed, t.size, t.seq "
            "ORDER BY at, c.file",
            start,
        )
        rows = [row for row in found if not is_index(row["file"])]
        changed = {
            row["file"]: (int(row["changed"] * 1e9), row["size"], row["seq"])
            for row in rows
            if row["seq"] is not None
        }
        gone = tuple(row["file"] for row in rows if row["seq"] is None)
        upto = max((row["at"] for row in found), default=start)
        return Changes(str(upto), changed, gone, more=False, afresh=not since)

    def read(self, file: str) -> Stored | None:
        data = self.current(file)
        return None if data is None else Stored(topics.parse(data, file), version(data))

    def current(self, file: str) -> bytes | None:
        found = self.rows(
            "SELECT c.data FROM reverie.topics t JOIN reverie.contents c "
            "ON c.project = t.project AND c.version = t.version WHERE t.project = %s AND t.file = %s",
            file,
        )
        return bytes(found[0]["data"]) if found else None

    def index(self) -> Index:
        return indexes.parse(self.current(INDEX_FILE) or b"")

    # --- writing ---

    def apply(
        self,
        changes: Sequence[Change],
        author: Author,
        summary: str,
        edit_index: Callable[[Index], Index] = unchanged,
    ) -> Revision | None:
        """Apply the changes and the edit of the index, all or none; None if nothing changed."""
        for change in changes:
            check_size(change)

        def work(
            connection: Connection, head: Head, before: Mapping[str, bytes]
        ) -> Revision | None:
            files = {
                change.file: resolved(change, before.get(change.file), self.history)
                for change in changes
            }
            old = before.get(INDEX_FILE, b"")
            index = indexes.render(edit_index(indexes.parse(old)))
            if index != old:
                files[INDEX_FILE] = index
            wanted = {name: data for name, data in files.items() if data != before.get(name)}
            return self._commit(connection, head, wanted, before, author, summary)

        return self._alone(work, [*(change.file for change in changes), INDEX_FILE])

    def restore(
        self, plan: Callable[[], Mapping[str, bytes | None]], author: Author, summary: str
    ) -> Revision | None:
        """Write the files of the plan, which is computed under the lock."""

        def work(connection: Connection, head: Head, _: Mapping[str, bytes]) -> Revision | None:
            files = dict(plan())
            before = _bytes_of(self._contents(connection, list(files)))
            wanted = {name: data for name, data in files.items() if data != before.get(name)}
            return self._commit(connection, head, wanted, before, author, summary)

        return self._alone(work)

    def _contents(self, connection: Connection, files: Sequence[str]) -> Cursor:
        """The current bytes of those files that there are."""
        return connection.execute(
            "SELECT t.file, c.data FROM reverie.topics t JOIN reverie.contents c ON "
            "c.project = t.project AND c.version = t.version "
            "WHERE t.project = %s AND t.file = ANY (%s)",
            (self.project.project, list(files)),
        )

    def _alone(
        self,
        work: Callable[[Connection, Head, Mapping[str, bytes]], Revision | None],
        files: Sequence[str] = (),
    ) -> Revision | None:
        """Do some work under the project's lock; it is given the newest revision and these files."""

        def attempt() -> Revision | None:
            with self.connection() as connection:
                # Both are sent at once; the second runs once the lock is held, and sees the state
                # then.
                with connection.pipeline():
                    lock = connection.execute(
                        "SELECT head, seq FROM reverie.projects WHERE project = %s FOR UPDATE",
                        (self.project.project,),
                    )
                    read = self._contents(connection, files) if files else None
                locked = lock.fetchone()
                if locked is None:
                    raise InputError("this key may read this memory, but not write to it")
                before = {} if read is None else _bytes_of(read)
                return work(connection, (locked["head"], locked["seq"]), before)

        return attempt() if self._inside else patiently(attempt)

    def _commit(
        self,
        connection: Connection,
        head: Head,
        wanted: Mapping[str, bytes | None],
        known: Collection[str],
        author: Author,
        summary: str,
    ) -> Revision | None:
        if not wanted:
            return None
        newest, seq = head
        at = float(max(0, int(self._clock.now())))
        message = render_message(summary, author)
        parents = (newest,) if newest else ()
        versions = {n: "" if data is None else version(data) for n, data in wanted.items()}
        id_ = revision_id(parents, at, message, versions)
        made = NewRevision(id_, seq + 1, parents, at, message)
        # Every statement is sent before the first is answered.
        with connection.pipeline():
            add_revision(connection, self.project, made, wanted)
            set_topics(connection, self.project, made.seq, self._clock.now(), wanted)
            self._indexing(connection, self.project, wanted, known)
        summary, author = parse_message(message)
        return Revision(made.id, at, author, summary, tuple(sorted(wanted)))

    # --- what only files need ---

    @property
    def skipped(self) -> tuple[()]:
        return ()

    def notice_hand_edits(self) -> None:
        """There are none: every change goes through a transaction."""

    def read_on(self) -> bool:
        return False

    def record_on(self) -> bool:
        return False

    @contextmanager
    def exclusively(self) -> Iterator[None]:
        with self.connection() as connection:
            connection.execute(
                "SELECT seq FROM reverie.projects WHERE project = %s FOR UPDATE",
                (self.project.project,),
            )
            yield


def _bytes_of(found: Cursor) -> dict[str, bytes]:
    return {row["file"]: bytes(row["data"]) for row in found}


def lexeme(word: str) -> str:
    """One word as a tsquery."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


@cache
def _alike_query(count: int) -> str:
    """One scan of the project. A shared word weighs as in `rarity`; of texts that share as much, the shorter one ranks higher."""
    numbers = range(count)
    found = "".join(f", t.content @@ %(t{n})s::tsquery AS b{n}" for n in numbers)
    rarity = "ln(1 + count(*) / greatest(count(*) FILTER (WHERE b{n}), 1)::float)"
    weights = "".join(f", {rarity.format(n=n)} AS w{n}" for n in numbers)
    shared = " OR ".join(["false", *(f"b{n}" for n in numbers)])
    score = " + ".join(["0.0::float", *(f"CASE WHEN b{n} THEN w{n} ELSE 0.0 END" for n in numbers)])
    return f"""
WITH seen AS MATERIALIZED (
    SELECT t.file, length(t.content) AS words{found} FROM reverie.topics t WHERE t.project = %(project)s
), weights AS MATERIALIZED (SELECT 0{weights} FROM seen
), worded AS (
    SELECT s.file FROM seen s, weights WHERE {shared}
    ORDER BY ({score}) / sqrt(sqrt(s.words + 1.0::float)) DESC, s.file LIMIT %(worded)s
), near AS (
    SELECT p.file FROM reverie.passages p WHERE p.project = %(project)s AND p.model = %(model)s
        AND p.standing @> '{{"superseded": false, "archived": false}}'
    ORDER BY p.embedding <=> %(vector)s::halfvec, p.id LIMIT %(near)s
)
SELECT t.file, t.head, t.size, t.changed FROM reverie.topics t WHERE t.project = %(project)s
    AND t.file = ANY (ARRAY(SELECT file FROM worded UNION SELECT file FROM near))
"""


def _entry(row: Mapping[str, Any]) -> ManifestEntry:
    return _read_entry(row["file"], bytes(row["head"]), row["size"], row["changed"])


@lru_cache(maxsize=4_096)
def _read_entry(file: str, head: bytes, size: int, changed: float) -> ManifestEntry:
    when = datetime.fromtimestamp(changed, UTC)
    return manifest.entry(file, head, when, whole=len(head) == size)
