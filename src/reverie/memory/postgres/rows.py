"""The rows of one project that a change writes: its revision, its contents, its current files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from reverie.memory.format import manifest
from reverie.memory.format.manifest import content_words, is_index
from reverie.memory.format.revisions import version
from reverie.memory.postgres.database import Connection


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """A project: where its rows are."""

    org: str
    space: str
    project: str
    name: str = ""
    # Whether it has too many memories to look at each of them for a question.
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
    """Leave search alone."""


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
    """The words of a text that similar ones share; the text itself where it has none."""
    words = content_words(plain(text)) or (plain(text).strip(),)
    # PostgreSQL holds neither an empty lexeme nor one of more than 2 KB.
    return [word for word in words if 0 < len(word.encode()) < 2_000]


def plain(text: str) -> str:
    """A text that PostgreSQL can keep."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")
