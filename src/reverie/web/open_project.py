"""The project's memory and index, kept open between requests.

One worker thread runs every page, so that two requests never share an open index or a half-read list.
"""

from __future__ import annotations

import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reverie.core.foreign_text import printable
from reverie.errors import ReverieError
from reverie.learning.runs import Alarm, alarm_of
from reverie.memory.changes.handles import short_ids
from reverie.memory.format import manifest
from reverie.memory.format.manifest import is_index, newest_first
from reverie.memory.format.revisions import Author
from reverie.recall.past_sessions import conversations
from reverie.recall.service import choose_embedder, open_ranker
from reverie.text.figures import counted, dollars, share, sparkline, tokens, when
from reverie.text.words import terms
from reverie.workspace.changes import Inbox, open_inbox
from reverie.workspace.handles import row_of

if TYPE_CHECKING:
    from starlette.datastructures import FormData, QueryParams

    from reverie.memory.format.manifest import ManifestEntry
    from reverie.memory.opening import OpenMemory
    from reverie.recall.ranker import IndexRanker
    from reverie.workspace import Workspace

# The author of every change made in the page.
PERSON = Author("user")
_MOST_NOTES = 200
_MOST_REVISIONS = 8
_MOST_CHANGES = 2_000


class Finding(Protocol):
    """One result of `reverie doctor`."""

    @property
    def state(self) -> str: ...
    @property
    def what(self) -> str: ...
    @property
    def advice(self) -> str: ...


Checks = Callable[["Workspace"], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request as a page sees it."""

    path: Mapping[str, str]
    query: QueryParams
    form: FormData
    csrf: str
    url: str
    method: str = "GET"

    def text(self, name: str, otherwise: str = "") -> str:
        """A field of the form."""
        value = self.form.get(name, otherwise)
        return value if isinstance(value, str) else otherwise

    def texts(self, name: str) -> list[str]:
        return [one for one in self.form.getlist(name) if isinstance(one, str)]

    def number(self, name: str, otherwise: int) -> int:
        """A number in the address; anything else counts as not given."""
        given = self.query.get(name, "")
        return int(given) if given.isdecimal() and len(given) < 10 else otherwise


@dataclass(slots=True)
class OpenProject:
    """The opened project, and the notes to show after the last changes."""

    app: Workspace
    checks: Checks
    stack: ExitStack = field(default_factory=ExitStack)
    _memory: OpenMemory | None = None
    _ranker: IndexRanker | None = None
    _notes: OrderedDict[str, Any] = field(default_factory=OrderedDict)
    _large: tuple[ManifestEntry, ...] = ()
    _upto: str = ""
    _ids: tuple[Sequence[ManifestEntry], dict[str, str]] | None = None
    _origins: dict[tuple[str, float], str] = field(default_factory=dict)
    _links: dict[tuple[str, float], tuple[str, ...]] = field(default_factory=dict)
    _at_revision: OrderedDict[str, list[ManifestEntry]] = field(default_factory=OrderedDict)

    @property
    def memory(self) -> OpenMemory:
        if self._memory is None:
            self._memory = self.app.memory()
        return self._memory

    @property
    def ranker(self) -> IndexRanker:
        """The index, opened once, because a search while typing must not open it again."""
        if self._ranker is None:
            ranker = open_ranker(self.memory, self.app.clock, choose_embedder(self.app))
            self._ranker = self.stack.enter_context(ranker)
        return self._ranker

    def warm_up(self) -> None:
        """Read the list and open the index; a failure shows on the page that needs them."""
        with suppress(ReverieError, OSError):
            self.entries()
            self.ranker.search("memory", limit=1)

    def close(self) -> None:
        self.stack.close()

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.app.clock.now(), UTC).astimezone()

    def part(self, label: str) -> tuple[OpenMemory, str]:
        """The memory that a label belongs to, and the file's name there."""
        return self.memory.part(label) or (self.memory, label)

    # --- notes shown after a change ---

    def keep_note(self, note: Any) -> str:
        """Keep a note for the next page; its key goes into the address, so that the page can be reloaded."""
        key = secrets.token_hex(6)
        self._notes[key] = note
        while len(self._notes) > _MOST_NOTES:
            self._notes.popitem(last=False)
        return key

    def note(self, key: str) -> Any:
        return self._notes.get(key)

    def waiting(self) -> int:
        """How many proposals wait in the inbox."""
        return self.inbox.count()

    @property
    def inbox(self) -> Inbox:
        return open_inbox(self.app, self.memory)

    def alarm(self) -> Alarm | None:
        return alarm_of(self.app)

    # --- memories ---

    def entries(self, as_of: datetime | None = None) -> Sequence[ManifestEntry]:
        """Every memory under its displayed name, newest first; also as they were at a time."""
        if as_of is None:
            return (
                self._entries_of_large()
                if self.memory.store.large
                else self.memory.topics.entries()
            )
        found: list[ManifestEntry] = []
        for part in self.memory.parts:
            revision = part.history.as_of(as_of)
            if revision is not None:
                found += self._entries_at(part, revision.id, revision.at)
        return found

    def _entries_of_large(self) -> Sequence[ManifestEntry]:
        """The entries of a large directory: all of them once, then only what changed."""
        topics = self.memory.topics
        seen = topics.changes(self._upto, _MOST_CHANGES)
        if seen is None:
            # Nothing was recorded yet: reading all of them does it.
            topics.entries()
            seen = topics.changes(self._upto, _MOST_CHANGES)
        if not self._large or seen is None or seen.more or seen.afresh:
            while seen is not None and seen.more:
                seen = topics.changes(seen.upto, _MOST_CHANGES)
            self._large = newest_first(topics.entries())
        elif seen.changed or seen.gone:
            fresh = {entry.file: entry for entry in topics.some(list(seen.changed))}
            left = {*seen.gone, *seen.changed}
            kept = [entry for entry in self._large if entry.file not in left]
            self._large = newest_first([*kept, *fresh.values()])
        self._upto = seen.upto if seen is not None else ""
        return self._large

    def rows(self, entries: Sequence[ManifestEntry]) -> list[dict[str, Any]]:
        """Memories as rows, with their short ids and version stamps."""
        ids, now = self._short_ids(self.entries()), self.now()
        return [
            {
                "id": ids.get(entry.file),
                "stamp": f"{entry.mtime.timestamp():.6f}",
                **row_of(self.part(entry.file)[0], entry, now, label=entry.file),
            }
            for entry in entries
        ]

    def _short_ids(self, entries: Sequence[ManifestEntry]) -> dict[str, str]:
        if self._ids is None or self._ids[0] is not entries:
            self._ids = (entries, short_ids(entry.file for entry in entries))
        return self._ids[1]

    def origin_of(self, entry: ManifestEntry) -> str:
        """The origin of a memory, from its file; read once per version of the file."""
        key = (entry.file, entry.mtime.timestamp())
        if key not in self._origins:
            stored = self.memory.topics.read(entry.file)
            self._origins[key] = (stored.topic.origin or "") if stored else ""
        return self._origins[key]

    def links_of(self, entry: ManifestEntry) -> tuple[str, ...]:
        """The memories that one links to; read once for each version of the file."""
        key = (entry.file, entry.mtime.timestamp())
        if key not in self._links:
            stored = self.memory.topics.read(entry.file)
            self._links[key] = stored.topic.linked if stored else ()
        return self._links[key]

    def _entries_at(self, part: OpenMemory, revision: str, at: float) -> list[ManifestEntry]:
        if revision not in self._at_revision:
            then = datetime.fromtimestamp(at, UTC)
            self._at_revision[revision] = [
                manifest.entry(part.label(file), data, then)
                for file in part.history.files(revision)
                if file.endswith(".md")
                and not is_index(file)
                and (data := part.history.read(file, revision)) is not None
            ]
            while len(self._at_revision) > _MOST_REVISIONS:
                self._at_revision.popitem(last=False)
        return self._at_revision[revision]

    # --- sessions ---

    def sessions(self) -> dict[str, Path]:
        """Every conversation of this project by its name: ours, hooked, proxied, other clients'."""
        return conversations(self.app.project, {}, user=self.app.user)

    @property
    def project_name(self) -> str:
        return self.app.project.root.name


VIEWS = {
    "memory": "Memory",
    "history": "History",
    "inbox": "Inbox",
    "dreams": "Dreams",
    "sessions": "Sessions",
    "spend": "Spend",
    "impact": "Impact",
    "health": "Health",
}

_WORD = re.compile(r"(\w+)")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a diff."""

    kind: str
    text: str


@cache
def _markdown() -> MarkdownIt:
    """Headings, lists, emphasis and code; links and images stay text."""
    made = MarkdownIt("commonmark", {"html": False})
    return made.disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])


def rendered(text: str) -> Markup:
    """A memory's text as HTML. The renderer escapes all text, and has no element with an address."""
    return Markup(_markdown().render(visible(text)))


def visible(text: str) -> str:
    """Text with invisible and control characters escaped, so that they can be seen."""
    return printable(text.replace("\r\n", "\n"))


def diff_lines(patch: str) -> Iterator[Line]:
    """The lines of a patch, without git's technical headers."""
    for line in patch.splitlines():
        if line.startswith(("index ", "--- ", "+++ ", "new file", "deleted file", "\\ No newline")):
            continue
        if line.startswith("diff --git"):
            yield Line("file", visible(line.rpartition(" b/")[2]))
        else:
            kinds = {"+": "added", "-": "removed", "@": "place"}
            yield Line(kinds.get(line[:1], "same"), visible(line))


def moment(at: float | datetime | None) -> str:
    if isinstance(at, datetime):
        at = at.timestamp()
    return when(at or 0)


@lru_cache(maxsize=8_192)
def _terms(word: str) -> frozenset[str]:
    return frozenset(terms(word))


def marked(text: str, question: str) -> Markup:
    """A text with the words of the question marked, in any of their forms."""
    wanted = set(terms(question))
    parts = _WORD.split(visible(text))
    return Markup().join(
        Markup("<mark>{}</mark>").format(part) if wanted & _terms(part) else escape(part)
        for part in parts
    )


def beyond(text: str, title: str) -> str:
    """A description, unless it only repeats the title."""
    plain, known = (" ".join(one.split()).casefold().rstrip(" .…!") for one in (text, title))
    return "" if plain == known else text


def address(path: str, **query: object) -> str:
    """The address of a page; empty values are left out."""
    given = {key: str(value) for key, value in query.items() if value not in (None, "", False)}
    return quote(path) + (f"?{urlencode(given)}" if given else "")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("reverie.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "visible": visible,
        "rendered": rendered,
        "moment": moment,
        "dollars": dollars,
        "tokens": tokens,
        "share": share,
        "sparkline": sparkline,
        "diff": diff_lines,
        "beyond": beyond,
        "marked": marked,
    }
    made.globals |= {"counted": counted, "address": address, "views": VIEWS}
    return made


def page(
    project: OpenProject, request: PageRequest, template: str, *, status: int = 200, **data: Any
) -> Response:
    """Render a page from a template, with the data that every page shows."""
    view = template.partition("/")[0].partition(".")[0]
    text = (
        _environment()
        .get_template(template)
        .render(
            view=view,
            project=project.project_name,
            csrf=request.csrf,
            here=request.url,
            note=project.note(request.query.get("note", "")),
            waiting=project.waiting(),
            alarm=project.alarm(),
            **data,
        )
    )
    return HTMLResponse(text, status)


def fragment(template: str, **data: Any) -> Response:
    """A piece of a page."""
    return HTMLResponse(_environment().get_template(template).render(**data))


def then(project: OpenProject, path: str, note: str = "", **query: object) -> Response:
    """Redirect to a page after a change, with a note on what was done."""
    key = project.keep_note(note) if note else ""
    return RedirectResponse(address(path, **query, note=key), status_code=303)
