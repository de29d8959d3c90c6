"""The memory of one project in PostgreSQL: the port `TopicStore`, each change one transaction.

A writer locks the project's row, so that writers of one memory take turns and those of others do not
wait. Every write names the version it is based on: a clean three-way merge or a refusal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from reverie.errors import InputError
from reverie.memory.derived_history import DerivedHistory, revision_id
from reverie.memory.format import index as indexes
from reverie.memory.format import manifest
from reverie.memory.format import topic as topics
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import (
    INDEX_FILE,
    MOST_CANDIDATES,
    Changes,
    ManifestEntry,
    content_words,
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
from reverie.memory.reading import Stored
from reverie.memory.store import check_size, resolved, unchanged
from reverie.ports import Clock

# Writes what recall searches, in the transaction of the change: file and content, None if removed.
Indexing = Callable[[Connection, "ProjectRow", Mapping[str, bytes | None]], None]


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project: where its rows are."""

    org: str
    space: str
    project: str
    name: str = ""


def index_nothing(
    connection: Connection, project: ProjectRow, files: Mapping[str, bytes | None]
) -> None:
    """Leave search alone."""


class PostgresStore:
    """The memories of one project, as one key may see them."""

    def __init__(
        self,
        database: Database,
        token: str,
        project: ProjectRow,
        clock: Clock,
        indexing: Indexing = index_nothing,
    ) -> None:
        self._database = database
        self._token = token
        self.project = project
        self._clock = clock
        self._indexing = indexing
        self._local = threading.local()
        self.history = PostgresHistory(self)

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
        with self._database.entered(self._token) as (connection, _):
            self._local.connection = connection
            try:
                yield connection
            finally:
                self._local.connection = None

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """Rows of a query whose first value is the project."""

        def work() -> list[dict[str, Any]]:
            with self.connection() as connection:
                found = connection.execute(query.encode(), (self.project.project, *values))
                return found.fetchall()

        return work() if self._inside else patiently(work)

    @property
    def _inside(self) -> bool:
        """Whether this thread is in a transaction; what failed there is tried again as a whole."""
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
        """Nothing here reads all memories for one question."""
        return True

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        """Memories that share the rarest words of a text."""
        wanted = list(content_words(text) or (text.strip(),))
        project = self.project.project
        best = self.rows(_ALIKE, wanted, wanted, project, MOST_CANDIDATES)
        return newest_first(self.some([row["file"] for row in best]))

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

        def work(connection: Connection) -> Revision | None:
            files = {
                change.file: resolved(change, self.current(change.file), self.history)
                for change in changes
            }
            before = self.current(INDEX_FILE) or b""
            index = indexes.render(edit_index(indexes.parse(before)))
            if index != before:
                files[INDEX_FILE] = index
            return self._commit(connection, files, author, summary)

        return self._alone(work)

    def restore(
        self, plan: Callable[[], Mapping[str, bytes | None]], author: Author, summary: str
    ) -> Revision | None:
        """Write the files of the plan, which is computed under the lock."""
        return self._alone(lambda c: self._commit(c, dict(plan()), author, summary))

    def _alone(self, work: Callable[[Connection], Revision | None]) -> Revision | None:
        def attempt() -> Revision | None:
            with self.connection() as connection:
                locked = connection.execute(
                    "SELECT seq FROM reverie.projects WHERE project = %s FOR UPDATE",
                    (self.project.project,),
                ).fetchone()
                if locked is None:
                    raise InputError("this key may read this memory, but not write to it")
                return work(connection)

        return attempt() if self._inside else patiently(attempt)

    def _commit(
        self,
        connection: Connection,
        files: Mapping[str, bytes | None],
        author: Author,
        summary: str,
    ) -> Revision | None:
        wanted = {name: data for name, data in files.items() if data != self.current(name)}
        if not wanted:
            return None
        at = float(max(0, int(self._clock.now())))
        message = render_message(summary, author)
        head = connection.execute(
            "SELECT head FROM reverie.projects WHERE project = %s", (self.project.project,)
        ).fetchone()
        parents = (head["head"],) if head and head["head"] else ()
        versions = {n: "" if data is None else version(data) for n, data in wanted.items()}
        made = NewRevision(revision_id(parents, at, message, versions), parents, at, message)
        add_revision(connection, self.project, made, wanted)
        set_topics(connection, self.project, self._clock.now(), wanted)
        self._indexing(connection, self.project, wanted)
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


# The weight of a shared word is that of `rarity`: by how many of all memories have it.
_ALIKE = (
    "WITH hits AS MATERIALIZED (SELECT t.file, w.word FROM reverie.topics t, unnest(t.content) w(word) "
    "WHERE t.project = %s AND t.content && %s AND w.word = ANY (%s)), "
    "having_it AS (SELECT word, count(*) AS rows FROM hits GROUP BY word), "
    "total AS (SELECT count(*)::float AS rows FROM reverie.topics WHERE project = %s) "
    "SELECT h.file FROM hits h JOIN having_it n USING (word), total GROUP BY h.file "
    "ORDER BY sum(ln(1 + total.rows / n.rows)) DESC, h.file LIMIT %s"
)


def _entry(row: Mapping[str, Any]) -> ManifestEntry:
    head = bytes(row["head"])
    when = datetime.fromtimestamp(row["changed"], UTC)
    return manifest.entry(row["file"], head, when, whole=len(head) == row["size"])


@dataclass(frozen=True, slots=True)
class NewRevision:
    """A revision to be written."""

    id: str
    parents: tuple[str, ...]
    at: float
    message: str


def add_revision(
    connection: Connection,
    project: ProjectRow,
    made: NewRevision,
    files: Mapping[str, bytes | None],
) -> None:
    """Write a revision and its contents, as the project's newest. Only under the lock."""
    place = (project.org, project.space, project.project)
    contents = {version(data): data for data in files.values() if data is not None}
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reverie.contents VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            [(*place, id_, data) for id_, data in contents.items()],
        )
        cursor.execute(
            "UPDATE reverie.projects SET linear = linear AND head IS NOT DISTINCT FROM %s "
            "AND %s <= 1, seq = seq + 1, head = %s WHERE project = %s RETURNING seq",
            (made.parents[0] if made.parents else None, len(made.parents), made.id, place[2]),
        )
        row = cursor.fetchone()
        seq = 0 if row is None else row["seq"]
        cursor.execute(
            "INSERT INTO reverie.revisions VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            (*place, seq, made.id, list(made.parents), made.at, made.message),
        )
        cursor.executemany(
            "INSERT INTO reverie.changes VALUES (%s, %s, %s, %s, %s, %s)",
            [(*place, seq, n, None if d is None else version(d)) for n, d in files.items()],
        )


def set_topics(
    connection: Connection, project: ProjectRow, now: float, files: Mapping[str, bytes | None]
) -> None:
    """Make these the current files; `now` is when they changed."""
    place = (project.org, project.space, project.project)
    rows = []
    for name, data in files.items():
        if data is not None:
            head = manifest.head(data)
            seen = manifest.entry(name, head, datetime.fromtimestamp(now, UTC))
            text = seen.description or seen.name
            content = [] if is_index(name) else list(content_words(text) or (text.strip(),))
            rows.append(
                (*place, name, name.casefold(), version(data), len(data), now, head, content)
            )
    with connection.cursor() as cursor:
        gone = [name for name, data in files.items() if data is None]
        if gone:
            cursor.execute(
                "DELETE FROM reverie.topics WHERE project = %s AND file = ANY (%s)",
                (place[2], gone),
            )
        cursor.executemany(
            "INSERT INTO reverie.topics (org, space, project, file, folded, version, size, seq, "
            "changed, head, content) SELECT %s, %s, %s::uuid, %s, %s, %s, %s, p.seq, %s, %s, %s "
            "FROM reverie.projects p WHERE p.project = %s ON CONFLICT (project, file) DO UPDATE SET "
            "version = EXCLUDED.version, size = EXCLUDED.size, seq = EXCLUDED.seq, "
            "changed = EXCLUDED.changed, head = EXCLUDED.head, content = EXCLUDED.content",
            [(*row, place[2]) for row in rows],
        )


class PostgresHistory(DerivedHistory):
    """Every revision of a project."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def log(self, file: str | None = None) -> Iterator[Revision]:
        only = (
            ""
            if file is None
            else "AND EXISTS (SELECT FROM reverie.changes x WHERE "
            "x.project = r.project AND x.seq = r.seq AND x.file = %s)"
        )
        found = self._store.rows(
            "SELECT r.id, r.at, r.message, array(SELECT c.file FROM reverie.changes c WHERE "
            "c.project = r.project AND c.seq = r.seq ORDER BY c.file) AS files "
            f"FROM reverie.revisions r WHERE r.project = %s {only} ORDER BY r.seq DESC",
            *(() if file is None else (file,)),
        )
        for row in found:
            yield revision_of(row)

    def files(self, revision: str | None = None) -> dict[str, str]:
        if revision is None:
            found = self._store.rows(
                "SELECT file, version FROM reverie.topics WHERE project = %s ORDER BY file"
            )
            return {row["file"]: row["version"] for row in found}
        linear = self._store.rows("SELECT linear FROM reverie.projects WHERE project = %s")
        query = _FILES_AT if linear and linear[0]["linear"] else _FILES_ALONG
        found = self._store.rows(query, self._store.project.project, revision)
        return {row["file"]: row["version"] for row in found if row["version"] is not None}

    def content(self, wanted: str) -> bytes | None:
        found = self._store.rows(
            "SELECT data FROM reverie.contents WHERE project = %s AND version = %s", wanted
        )
        return bytes(found[0]["data"]) if found else None

    def parents(self, revision: str) -> tuple[str, ...]:
        found = self._store.rows(
            "SELECT parents FROM reverie.revisions WHERE project = %s AND id = %s", revision
        )
        return tuple(found[0]["parents"]) if found else ()


_FILES_AT = (
    "SELECT DISTINCT ON (file) file, version FROM reverie.changes WHERE project = %s AND seq <= "
    "(SELECT seq FROM reverie.revisions WHERE project = %s AND id = %s) ORDER BY file, seq DESC"
)
# Along first parents: what a merged history held elsewhere does not count.
_FILES_ALONG = (
    "WITH RECURSIVE line AS (SELECT r.project, r.seq, r.parents FROM reverie.revisions r "
    "WHERE r.project = %s AND r.project = %s AND r.id = %s UNION ALL SELECT r.project, r.seq, "
    "r.parents FROM line l JOIN reverie.revisions r ON r.project = l.project AND r.id = l.parents[1]) "
    "SELECT DISTINCT ON (c.file) c.file, c.version FROM line l JOIN reverie.changes c "
    "ON c.project = l.project AND c.seq = l.seq ORDER BY c.file, c.seq DESC"
)


def revision_of(row: Mapping[str, Any]) -> Revision:
    summary, author = parse_message(row["message"])
    return Revision(row["id"], row["at"], author, summary, tuple(row["files"]))
