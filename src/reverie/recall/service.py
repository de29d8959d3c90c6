"""Opens recall as the settings say: the embedder, rankers, `search_memory`, recall and search."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from reverie.agent.tools import Access, Arguments, Tool, Workplace
from reverie.core.request import ToolSpec
from reverie.events import Announce, no_listener
from reverie.memory.format import topic as topics
from reverie.memory.format.manifest import is_index
from reverie.models.embeddings import hub
from reverie.models.embeddings.local import Missing, default_embedder
from reverie.recall.documents import Hit, MemoryDoc, Results, Scope
from reverie.recall.engine import ENGINES, INDEX, WORK
from reverie.recall.index import RecallIndex
from reverie.recall.ranker import IndexRanker
from reverie.settings import secret

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.ports import Clock, Embedder, Model, Scrubber, WordVectors
    from reverie.recall.pipeline import Recall
    from reverie.workspace import Workspace


NAME = "search_memory"
MOST = 20
USUAL = 8

# Searches the index: the question, where, and the most results.
Search: TypeAlias = Callable[[str, Scope, int], Results]

SPEC = ToolSpec.of(
    NAME,
    "Search what is remembered: saved notes (memories) and what was said in past conversations "
    "(episodes), by words and by meaning. Use it when the person refers to something from before, or "
    "when an earlier decision may matter. The query may be narrowed: type:feedback, after:2026-01, "
    'before:2026-03, session:ID, role:user, is:archived (hidden otherwise), "an exact phrase", -word. '
    "Each result names its file or session and its date; what is old may no longer hold.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to look for."},
            "scope": {
                "type": "string",
                "enum": ["memories", "episodes", "both"],
                "description": "Where to look; both when left out.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST,
                "description": f"How many results at most; {USUAL} when left out.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)


def search_memory(search: Search) -> Tool:
    """The tool over an index; it only reads."""

    async def run(arguments: Arguments, workplace: Workplace) -> str:
        query = str(arguments["query"])
        scope = cast("Scope", arguments.get("scope") or "both")
        limit = int(arguments.get("limit") or USUAL)
        return results_text(await asyncio.to_thread(search, query, scope, limit))

    return Tool(SPEC, run, _reads, _headline, clearable=True)


def results_text(found: Results) -> str:
    """Results as the model reads them: one line a hit, best first."""
    lines = [_line(hit) for hit in found.hits] or ["Nothing was found."]
    if found.approximate:
        lines.append("(Only a part could be looked at; narrow the query to see more.)")
    return "\n".join([*lines, *(f"({note})" for note in found.notes)])


def _line(hit: Hit) -> str:
    day = f"{datetime.fromtimestamp(hit.at, UTC):%Y-%m-%d}" if hit.at else "no date"
    if hit.collection == "memories":
        label = f", {hit.label}" if hit.label else ""
        return f"- memory {hit.key} ({day}{label}): {hit.snippet}"
    return f"- session {hit.session} ({day}, {hit.role}): {hit.snippet}"


def _reads(arguments: Arguments, workplace: Workplace) -> Access:
    return "read"


def _headline(arguments: Arguments) -> str:
    return f"{NAME} {arguments.get('query', '')}"


log = logging.getLogger(__name__)

OPENAI_KEY = "OPENAI_API_KEY"


def _nothing_to_close() -> None:
    """Local models have nothing to close."""


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """The embedding model of recall, or none, with notes for the user."""

    embedder: Embedder | None = None
    notes: tuple[str, ...] = ()
    close: Callable[[], None] = _nothing_to_close
    # The static model compares the words of the best messages, whichever model found them.
    words: WordVectors | None = None

    @classmethod
    def of(
        cls, embedder: Embedder, close: Callable[[], None] = _nothing_to_close
    ) -> EmbedderChoice:
        """A model, and the static one beside it if its packages are installed."""
        static = default_embedder()
        return cls(
            embedder, close=close, words=None if isinstance(static, Missing) else _shared(static)
        )


def installed_embedder() -> EmbedderChoice:
    """The default model; its packages may be missing."""
    found = default_embedder()
    if isinstance(found, Missing):
        log.info("recall goes by words alone; missing: %s", found.reason)
        return EmbedderChoice()
    shared = _shared(found)
    return EmbedderChoice(shared, words=shared)


# Models on disk by name: each is loaded once in a process.
_MODELS: dict[str, Embedder] = {}

OnDisk = TypeVar("OnDisk", bound="Embedder")


def _shared(found: OnDisk) -> OnDisk:
    return cast("OnDisk", _MODELS.setdefault(found.name, found))


def choose_embedder(
    app: Workspace, session: str = "", announce: Announce = no_listener
) -> EmbedderChoice:
    """The model in the settings; if it is unavailable, words only, with a note."""
    match app.settings["recall.embedder"]:
        case "none":
            return EmbedderChoice()
        case "extra":
            found = stronger_embedder(app)
            if isinstance(found, Missing):
                return EmbedderChoice(
                    notes=(f"by words alone; recall.embedder misses {found.reason}",)
                )
            return EmbedderChoice.of(_shared(found))
        case "endpoint":
            return _endpoint(app, session, announce)
        case _:
            return installed_embedder()


def stronger_embedder(app: Workspace) -> Embedder | Missing:
    """The stronger model, or what it lacks."""
    return hub.extra_embedder(extra_source(app))


def extra_source(app: Workspace) -> hub.Source:
    """The source of the stronger model, by the settings."""
    return hub.Source(
        cast("str | None", app.settings["recall.model"]),
        cast("Path | None", app.settings["recall.model_folder"]),
        app.settings.home / "models",
    )


def _endpoint(app: Workspace, session: str, announce: Announce) -> EmbedderChoice:
    from reverie.models.embeddings.endpoint import PRICES, RECALL, EndpointEmbedder, Meter

    settings = app.settings
    model = str(settings["recall.endpoint.model"])
    base_url = cast("str | None", settings["recall.endpoint.base_url"])
    # Do not send one address's key to another: elsewhere, a key must be named.
    variable = cast("str | None", settings["recall.endpoint.api_key_env"])
    key = secret(variable or (None if base_url else OPENAI_KEY))
    told = settings.price(model, "input")
    price = PRICES.get(model) if told is None and base_url is None else told
    meter = Meter(app.ledger, app.caps(RECALL), app.clock, session, price, announce)
    made = EndpointEmbedder(model, base_url=base_url, api_key=key, meter=meter)
    return EmbedderChoice.of(made, made.close)


@contextmanager
def open_ranker(
    memory: OpenMemory,
    clock: Clock,
    meaning: EmbedderChoice | None = None,
    announce: Announce = no_listener,
) -> Iterator[IndexRanker]:
    """A ranker on this process's engine for a memory.

    A model behind an endpoint is billed to one session, so its engine is not shared.
    """
    meaning = meaning or installed_embedder()
    keep = meaning.close is _nothing_to_close
    try:
        with ENGINES.lease(memory, meaning.embedder, meaning.words, keep=keep) as engine:
            made = engine.ranker(clock, meaning.notes, announce)
            yield replace(made, local=keep, caveats=lambda: memory.notes)
    finally:
        meaning.close()


def catch_up(memory: OpenMemory, ranker: IndexRanker) -> bool:
    """Index and record a portion of a large directory; True: there is more to do."""
    reading = memory.store.read_on()
    return ranker.catch_up() or reading or memory.store.record_on()


def recall_for(
    app: Workspace, memory: OpenMemory, ranker: IndexRanker, selector: Model | None, session: str
) -> Recall:
    """Recall for one session, by the settings; shown and used memories are counted."""
    from reverie.recall.pipeline import Recall, in_thread

    return Recall(
        ranker.store,
        ranker,
        app.clock,
        memory.path_of,
        app.project.root,
        selector,
        timeout=cast("float", app.settings["recall.timeout"]),
        announce=ranker.announce,
        count=partial(memory.record_uses, session=session),
        work=WORK.run if ranker.local else in_thread,
        caveats=lambda: memory.notes,
    )


def memory_tool(ranker: IndexRanker) -> Tool:
    """`search_memory` over the index of a session."""

    def search(question: str, scope: Scope, limit: int) -> Results:
        return ranker.search(question, limit=limit, scope=scope)

    return search_memory(search)


def recall_as_of(
    memory: OpenMemory,
    question: str,
    moment: datetime,
    limit: int,
    meaning: EmbedderChoice | None = None,
) -> Results:
    """Answer from memory as it was at a moment, with a temporary index of that state."""
    then = [(part, part.history.as_of(moment)) for part in memory.parts]
    known = [(part, revision.id) for part, revision in then if revision is not None]
    if not known:
        return Results(notes=(f"there was no memory yet on {moment:%Y-%m-%d}",))
    meaning = meaning or installed_embedder()
    with tempfile.TemporaryDirectory() as folder:
        index = RecallIndex.open(Path(folder) / INDEX, meaning.embedder)
        try:
            index.put_many(doc for part, revision in known for doc in _documents_of(part, revision))
            at = moment.timestamp()
            return index.search(question, now=at, limit=limit, as_of=at)
        finally:
            index.close()
            meaning.close()


def _documents_of(memory: OpenMemory, revision: str) -> Iterator[MemoryDoc]:
    for file in memory.history.files(revision):
        data = memory.history.read(file, revision)
        if data is not None and not is_index(file):
            yield MemoryDoc.of(topics.parse(data, memory.label(file)), (0, len(data), 0))


def index_episodes(
    index: RecallIndex,
    listing: Mapping[str, Path],
    scrubber: Scrubber,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Index all of these conversations now, and remove all others."""
    from reverie.recall.past_sessions import EpisodeIndexer

    indexer = EpisodeIndexer(index, lambda known: listing, scrubber)
    while (found := indexer.step()) is not None:
        if progress is not None and found.total:
            progress(found.done, found.total)


def recall(
    workspace: Workspace, question: str, *, limit: int, as_of: datetime | None = None
) -> Results:
    """The memories that fit a question, best first, optionally as memory was at another time."""
    memory = workspace.memory()
    meaning = choose_embedder(workspace)
    if as_of is not None:
        return recall_as_of(memory, question, as_of, limit, meaning)
    with open_ranker(memory, workspace.clock, meaning) as ranker:
        return ranker.search(question, limit=limit)


def search(workspace: Workspace, question: str, *, limit: int, scope: Scope = "both") -> Results:
    """Memories and past conversations."""
    meaning = choose_embedder(workspace)
    with open_ranker(workspace.memory(), workspace.clock, meaning) as ranker:
        return ranker.search(question, limit=limit, scope=scope)


def index_past_sessions(
    workspace: Workspace, progress: Callable[[int, int], None] | None = None
) -> None:
    """Index past conversations, ours and Claude Code's; those already indexed are not read again."""
    from reverie.recall.past_sessions import conversations

    meaning = choose_embedder(workspace)
    with open_ranker(workspace.memory(), workspace.clock, meaning) as ranker:
        known = ranker.index.sessions()
        found = conversations(workspace.project, known, user=workspace.user)
        index_episodes(ranker.index, found, workspace.scrubber, progress)
