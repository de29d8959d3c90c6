"""The rows of one project: its revisions, its contents by version, its current files; and its history read from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from reverie.memory.derived_history import DerivedHistory
from reverie.memory.format import manifest
from reverie.memory.format.manifest import content_words, is_index
from reverie.memory.format.revisions import Revision, parse_message, version
from reverie.memory.postgres.database import Connection


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """The keys that a project's rows have."""

    org: str
    space: str
    project: str
    name: str = ""
    # Whether it has too many memories to scan them all for one query.
    large: bool = False
    # Whether its space is a team's.
    shared: bool = False

    @property
    def place(self) -> tuple[str, str, str]:
        return self.org, self.space, self.project


# Writes what recall searches, in the transaction of the change: file and content, None if removed; and
# which of these files there were before.
Indexing = Callable[[Connection, ProjectRow, Mapping[str, bytes | None], Collection[str]], None]


def index_nothing(
    connection: Connection,
    project: ProjectRow,
    files: Mapping[str, bytes | None],
    known: Collection[str],
) -> None:
    """Do not update any search index."""


@dataclass(frozen=True, slots=True)
class NewRevision:
    """A revision to be written; `seq` is its number in the project."""

    id: str
    seq: int
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
    contents = {version(data): data for data in files.values() if data is not None}
    connection.execute(
        "INSERT INTO reverie.contents SELECT %s, %s, %s, c.version, c.data FROM "
        "unnest(%s::text[], %s::bytea[]) c(version, data) ON CONFLICT DO NOTHING",
        (*project.place, list(contents), list(contents.values())),
    )
    connection.execute(
        "UPDATE reverie.projects SET linear = linear AND head IS NOT DISTINCT FROM %s "
        "AND %s <= 1, seq = %s, head = %s WHERE project = %s",
        (
            made.parents[0] if made.parents else None,
            len(made.parents),
            made.seq,
            made.id,
            project.project,
        ),
    )
    connection.execute(
        "INSERT INTO reverie.revisions VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
        (*project.place, made.seq, made.id, list(made.parents), made.at, made.message),
    )
    versions = [None if data is None else version(data) for data in files.values()]
    connection.execute(
        "INSERT INTO reverie.changes SELECT %s, %s, %s, %s, c.file, c.version FROM "
        "unnest(%s::text[], %s::text[]) c(file, version)",
        (*project.place, made.seq, list(files), versions),
    )


def set_topics(
    connection: Connection,
    project: ProjectRow,
    seq: int,
    now: float,
    files: Mapping[str, bytes | None],
) -> None:
    """Make these the current files; `now` is when they changed, in the revision of this number."""
    gone = [name for name, data in files.items() if data is None]
    if gone:
        connection.execute(
            "DELETE FROM reverie.topics WHERE project = %s AND file = ANY (%s)",
            (project.project, gone),
        )
    rows = []
    for name, data in files.items():
        if data is not None:
            found = (version(data), len(data), seq, now, *_searchable(name, data, now))
            rows.append((*project.place, name, name.casefold(), *found))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reverie.topics (org, space, project, file, folded, version, size, seq, "
            "changed, head, content) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, "
            "array_to_tsvector(%s)) ON CONFLICT (project, file) DO UPDATE SET "
            "version = EXCLUDED.version, size = EXCLUDED.size, seq = EXCLUDED.seq, "
            "changed = EXCLUDED.changed, head = EXCLUDED.head, content = EXCLUDED.content",
            rows,
        )


def _searchable(name: str, data: bytes, now: float) -> tuple[bytes, list[str]]:
    """The first lines of a file, and the words by which similar memories are found."""
    head = manifest.head(data)
    if is_index(name):
        return head, []
    seen = manifest.entry(name, head, datetime.fromtimestamp(now, UTC))
    # A memory that is no longer current is similar to nothing.
    return head, similar_words(seen.description or seen.name) if seen.listed else []


def similar_words(text: str) -> list[str]:
    """The words by which similar texts are found; the text itself if it has none."""
    words = content_words(plain(text)) or (plain(text).strip(),)
    # PostgreSQL accepts neither an empty lexeme nor one longer than 2 KB.
    return [word for word in words if 0 < len(word.encode()) < 2_000]


def plain(text: str) -> str:
    """A text that PostgreSQL can keep."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


class Rows(Protocol):
    """Runs queries for one project, whose id is the first value of each query."""

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]: ...

    @property
    def id(self) -> str: ...


class PostgresHistory(DerivedHistory):
    """Every revision of a project."""

    def __init__(self, store: Rows) -> None:
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
        found = self._store.rows(query, self._store.id, revision)
        return {row["file"]: row["version"] for row in found if row["version"] is not None}

    def content(self, wanted: str) -> bytes | None:
        found = self._store.rows(
            "SELECT data FROM reverie.contents WHERE project = %s AND version = %s", wanted
        )
        return bytes(found[0]["data"]) if found else None

    def rewrite(
        self, change: Callable[[str, bytes], bytes | None], message: Callable[[str], str]
    ) -> int:
        """Rewrite every revision's files and message, and return how many changed. Only under the lock.

        Ids stay, as they contain no words. Contents that no revision refers to are deleted.
        """
        rows = self._store.rows
        changed: set[int] = set()
        for row in rows(
            "SELECT c.file, c.version, t.data, c.seqs FROM (SELECT project, file, version, "
            "array_agg(seq) AS seqs FROM reverie.changes WHERE project = %s GROUP BY 1, 2, 3) c "
            "JOIN reverie.contents t USING (project, version)"
        ):
            old = bytes(row["data"])
            new = change(row["file"], old)
            if new != old:
                changed.update(row["seqs"])
                self._replace(row["file"], row["version"], new)
        for row in rows("SELECT seq, message FROM reverie.revisions WHERE project = %s"):
            text = message(row["message"])
            if text != row["message"]:
                changed.add(row["seq"])
                rows(_NEW_MESSAGE, row["seq"], text)
        rows(_DELETE_UNUSED)
        rows("UPDATE reverie.projects SET rewritten = seq WHERE project = %s RETURNING seq")
        return len(changed)

    def _replace(self, file: str, old: str, new: bytes | None) -> None:
        """Replace one version of a file in every revision that has it; None removes the file."""
        if new is None:
            self._store.rows(
                "DELETE FROM reverie.changes WHERE project = %s AND file = %s RETURNING seq", file
            )
            return
        self._store.rows(_NEW_CONTENT, version(new), new)
        self._store.rows(_NEW_VERSION, file, old, version(new))

    def parents(self, revision: str) -> tuple[str, ...]:
        found = self._store.rows(
            "SELECT parents FROM reverie.revisions WHERE project = %s AND id = %s", revision
        )
        return tuple(found[0]["parents"]) if found else ()


_FILES_AT = (
    "SELECT DISTINCT ON (file) file, version FROM reverie.changes WHERE project = %s AND seq <= "
    "(SELECT seq FROM reverie.revisions WHERE project = %s AND id = %s) ORDER BY file, seq DESC"
)
# Along first parents only: a merged history does not count.
_FILES_ALONG = (
    "WITH RECURSIVE line AS (SELECT r.project, r.seq, r.parents FROM reverie.revisions r "
    "WHERE r.project = %s AND r.project = %s AND r.id = %s UNION ALL SELECT r.project, r.seq, "
    "r.parents FROM line l JOIN reverie.revisions r ON r.project = l.project AND r.id = l.parents[1]) "
    "SELECT DISTINCT ON (c.file) c.file, c.version FROM line l JOIN reverie.changes c "
    "ON c.project = l.project AND c.seq = l.seq ORDER BY c.file, c.seq DESC"
)

_NEW_CONTENT = (
    "WITH place AS (SELECT org, space, project FROM reverie.projects WHERE project = %s) "
    "INSERT INTO reverie.contents SELECT org, space, project, %s, %s FROM place "
    "ON CONFLICT DO NOTHING RETURNING version"
)
_NEW_VERSION = (
    "WITH given AS (SELECT %s::uuid AS project, %s AS file, %s AS old, %s AS new) "
    "UPDATE reverie.changes c SET version = g.new FROM given g "
    "WHERE c.project = g.project AND c.file = g.file AND c.version = g.old RETURNING c.seq"
)
_NEW_MESSAGE = (
    "WITH given AS (SELECT %s::uuid AS project, %s::bigint AS seq, %s AS message) "
    "UPDATE reverie.revisions r SET message = g.message FROM given g "
    "WHERE r.project = g.project AND r.seq = g.seq RETURNING r.seq"
)
_DELETE_UNUSED = (
    "DELETE FROM reverie.contents t WHERE t.project = %s AND NOT EXISTS (SELECT FROM reverie.changes c "
    "WHERE c.project = t.project AND c.version = t.version) AND NOT EXISTS (SELECT FROM "
    "reverie.topics o WHERE o.project = t.project AND o.version = t.version) RETURNING version"
)


def revision_of(row: Mapping[str, Any]) -> Revision:
    summary, author = parse_message(row["message"])
    return Revision(row["id"], row["at"], author, summary, tuple(row["files"]))
