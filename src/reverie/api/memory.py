"""`Memory` and `AsyncMemory`: the memory of one project as a library."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from dataclasses import replace as changed
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from reverie.api.entries import PERSON, Entries, Filters, fits, stored_memory
from reverie.api.forgetting import Forgetting
from reverie.api.location import Location, Overrides
from reverie.errors import InputError, NotRemembered
from reverie.memory.changes.draft import Declined, NewMemory, Outcome
from reverie.memory.changes.handles import Ambiguous, Missing, explained
from reverie.memory.opening import changes, with_revision
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.past_sessions import conversations
from reverie.recall.service import choose_embedder, index_episodes, open_ranker, recall_as_of
from reverie.workspace import Workspace
from reverie.workspace.changes import redo_last, undo, undo_last
from reverie.workspace.handles import Located, locate_or_gone, required

if TYPE_CHECKING:
    from os import PathLike

    from reverie.memory.format.manifest import ManifestEntry
    from reverie.memory.format.revisions import Revision
    from reverie.memory.format.taxonomy import MemoryScope, MemoryType, OwnScope
    from reverie.memory.format.topic import Scalar, Topic
    from reverie.memory.opening import OpenMemory
    from reverie.ports import Clock
    from reverie.recall.documents import Hit as Found
    from reverie.recall.documents import Results, Scope
    from reverie.recall.ranker import IndexRanker

# An agent's memory: this one, none (False), or that of its project (None).
Remembering: TypeAlias = "Memory | Literal[False] | None"

log = logging.getLogger(__name__)

# How many matches of a question are searched for those that pass the filters.
MOST_FILTERED = 500


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result: the memory in `file`, or, if `file` is empty, a message of `session`.

    `score` is the probability that it fits, `sure` whether recall would show it to an agent unasked,
    and `why` names the signals that found it.
    """

    file: str
    score: float
    text: str
    why: str
    sure: bool
    session: str = ""


class Memory(Entries):
    """The memory of one project: a folder of markdown files with a history.

    Everything is synchronous (`AsyncMemory` is not), and may be used by several threads. Use it as a context manager, or call `close()`, to close the search
    index.
    """

    def __init__(self, place: Location) -> None:
        """Use `Memory.open()`."""
        self._app = place.open()
        # Absolute, so that the program may change its working directory.
        self.place = changed(place, project=self._app.working_folder)
        if self.project != self._app.working_folder:
            log.info(
                "%s is in the project %s; using its memory", self._app.working_folder, self.project
            )
        self._memory = self._app.memory()
        self._stack = ExitStack()
        self._ranker: IndexRanker | None = None

    @classmethod
    def open(
        cls,
        project: str | PathLike[str] | None = None,
        *,
        home: str | PathLike[str] | None = None,
        settings: Overrides | None = None,
        clock: Clock | None = None,
        user: str | None = None,
        key: str = "",
    ) -> Memory:
        """Open the memory of the project that contains the folder `project` (default: the current one).

        `project` may also be the address of a Reverie service, `https://host/project`, with its `key`:
        then the service keeps the memory, and a copy on this machine answers while it is away.

        `home` is Reverie's own folder (default: `~/.reverie`). `settings` apply to this object only:
        `{"recall.embedder": "none"}`. `clock` replaces the system's time. `user` is for services with
        several users: each has a separate memory in the project.
        """
        return cls(Location.of(project, home, settings, clock, user, key))

    @property
    def directory(self) -> Path:
        """The directory with the memory files of the project, or of this user."""
        return self._memory.place.directory

    @property
    def project(self) -> Path:
        """The root of the project; for a folder in a repository, the repository's root."""
        return self._app.project.root

    @property
    def user(self) -> str | None:
        """The user whose memory this is, in a service with several users."""
        return self._app.user

    def remember(  # noqa: PLR0913 - what can be said of a fact
        self,
        text: str,
        *,
        type: MemoryType | None = None,
        name: str | None = None,
        description: str | None = None,
        supersedes: str | None = None,
        replace: bool = False,
        even_if_known: bool = False,
        strict: bool = False,
        scope: OwnScope | None = None,
        cues: Sequence[str] = (),
        metadata: Mapping[str, Scalar] | None = None,
    ) -> Outcome:
        """Save a fact. Dates become absolute, secrets are removed, missing fields are inferred.

        Returns `Remembered`, with similar memories in `related`, or `Declined` with the reason: a memory
        already says the same, or the text is not worth remembering. With `strict`, raises `NotRemembered`
        instead. `supersedes` names the memory this one replaces, `replace` finds the one of which it is
        a newer value; the old memory is kept as well. `scope` is "project", or "person" for what holds in
        every project (its file is then `person/…`); inferred by default. `cues` are other words by which
        it will be asked for. `metadata` are values of your own, kept in the file's frontmatter, by which
        `list` and `recall` can filter.
        """
        new = NewMemory(
            text,
            type,
            name,
            description,
            None if supersedes is None else self._label(supersedes),
            even_if_known=even_if_known,
            replace=replace,
            scope=scope,
            cues=tuple(cues),
            metadata=metadata,
        )
        outcome = self._app.remember(new, PERSON)[1]
        if strict and isinstance(outcome, Declined):
            raise NotRemembered(outcome.reason, outcome.existing)
        return outcome

    def recall(
        self,
        question: str,
        *,
        limit: int = 5,
        as_of: datetime | None = None,
        filters: Filters | None = None,
    ) -> list[Hit]:
        """The memories that fit a question, best first; with `as_of`, from memory as it was then.

        `filters` are those of `list`.
        """
        if filters is not None:
            if as_of is not None:
                raise InputError("filters look at memory as it is; leave out as_of")
            found = self._hits(self._index.search(question, limit=MOST_FILTERED))
            return [hit for hit in found if self._fits(hit.file, filters)][:limit]
        if as_of is None:
            return self._hits(self._index.search(question, limit=limit))
        chosen = choose_embedder(self._app)
        past = recall_as_of(self._memory, question, as_of, limit, chosen)
        return self._hits(past, whole=False)

    def search(self, words: str, *, limit: int = 10, only: Scope = "both") -> list[Hit]:
        """Memories and past conversations, best first: words, "phrases", -without, type:feedback."""
        if only != "memories":
            index = self._index.index
            found = conversations(self._app.project, index.sessions(), user=self._app.user)
            index_episodes(index, found, self._app.scrubber)
        return self._hits(self._index.search(words, limit=limit, scope=only))

    def read(self, file: str) -> Topic:
        """One memory, by its file name, its short id, or words of its title.

        Raises InputError if there is none, with similar names, or if several match.
        """
        memory, name = required(self._app, file)
        topic = memory.keeper.require(name).topic
        return changed(topic, file=memory.label(topic.file))

    def __iter__(self) -> Iterator[ManifestEntry]:
        """Every memory that is recalled here, newest first: file, type, name, description."""
        return iter(self._memory.topics.entries())

    def forget(self, file: str, *, everywhere: bool = False) -> None:
        """Remove a memory. History and transcripts keep it, unless `everywhere` is set.

        Then every trace of it is removed for good, except in files of other software.
        """
        memory, name = required(self._app, file)
        if everywhere:
            Forgetting(self._app, memory, name).run(PERSON)
        else:
            memory.keeper.forget(name, PERSON)

    def history(self, file: str | None = None, *, limit: int | None = None) -> list[Revision]:
        """Every change, newest first: who, when, what. A removed file has a history, too."""
        if file is None:
            return list(islice(changes(self._memory.private), limit))
        found = locate_or_gone(self._app, file)
        match found:
            case Located(memory, name):
                return list(islice(memory.changes(name), limit))
            case Ambiguous():
                raise InputError(explained(file, found))
            case Missing():
                return []

    def undo(self, revision: str | None = None) -> Revision:
        """Undo a change, by default the last one that is not undone; undoing is a change itself.

        Each further `undo()` goes one change back, and `redo()` restores what was undone last.
        """
        private = self._up_to_date()
        if revision is None:
            return undo_last(self._app, private, PERSON).made
        memory, wanted = with_revision(private, revision)
        return undo(self._app, memory, [wanted], PERSON).made

    def redo(self) -> Revision:
        """Restore what was undone last; changes made since are kept."""
        return redo_last(self._app, self._up_to_date(), PERSON).made

    def move(self, file: str, scope: MemoryScope) -> str:
        """Move a memory to another scope, "project", "person" or "team"; returns its new name."""
        return self._app.move(self._label(file), scope, PERSON)

    def close(self) -> None:
        """Close the search index; the next search opens it again."""
        self._ranker = None
        self._stack.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Memory], tuple[Location]]:
        """Pickled as its location: another process opens it there."""
        return Memory, (self.place,)

    def _up_to_date(self) -> tuple[OpenMemory, ...]:
        """The person's own memories, after recording edits made by hand in their histories."""
        private = self._memory.private
        for memory in private:
            if memory.place.directory.is_dir():
                memory.store.notice_hand_edits()
        return private

    def _fits(self, file: str, filters: Filters) -> bool:
        stored = self._memory.topics.read(file)
        return stored is not None and fits(stored_memory(stored.topic), filters)

    def _label(self, wanted: str) -> str:
        """The full name of a memory given by file name, id or title."""
        memory, file = required(self._app, wanted)
        return memory.label(file)

    @property
    def _index(self) -> IndexRanker:
        if self._ranker is None:
            chosen = choose_embedder(self._app)
            opened = open_ranker(self._memory, self._app.clock, chosen)
            self._ranker = self._stack.enter_context(opened)
        return self._ranker

    def _hits(self, results: Results, *, whole: bool = True) -> list[Hit]:
        for note in results.notes:
            log.info("recall: %s", note)
        return [self._hit(found, whole=whole) for found in results.hits]

    def _hit(self, found: Found, *, whole: bool) -> Hit:
        sure = found.score >= GOOD_MATCH
        if found.collection == "episodes":
            return Hit("", found.score, found.snippet, found.why, sure, found.session)
        stored = self._memory.topics.read(found.key) if whole else None
        text = found.snippet if stored is None else stored.topic.body.strip()
        return Hit(found.key, found.score, text, found.why, sure)


def open_for(
    memory: Remembering, place: Location
) -> tuple[Workspace, OpenMemory | Literal[False] | None]:
    """The workspace of an agent or a context, and its memory.

    The memory is opened again, because an agent reads it in other threads than its caller.
    """
    if memory is None or memory is False:
        return place.open(), memory
    return place.beside(memory.place).open(), memory.place.open().memory()


P = ParamSpec("P")
T = TypeVar("T")


def _in_thread(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """The method as a coroutine in a thread, because file access would block the loop."""

    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(partial(method, self.sync, *args, **kwargs))

    # Not functools.wraps, which hides the changed signature from type checkers.
    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


class AsyncMemory:
    """`Memory` with coroutines: the same names, arguments and results, off the event loop.

    `sync` is the memory itself; pass that to `Context(memory=…)` or `Agent(memory=…)`.
    """

    def __init__(self, memory: Memory) -> None:
        """Use `await AsyncMemory.open()`, or wrap a memory that is open."""
        self.sync = memory

    @classmethod
    async def open(
        cls,
        project: str | PathLike[str] | None = None,
        *,
        home: str | PathLike[str] | None = None,
        settings: Overrides | None = None,
        clock: Clock | None = None,
        user: str | None = None,
        key: str = "",
    ) -> AsyncMemory:
        """As `Memory.open`."""
        place = Location.of(project, home, settings, clock, user, key)
        return cls(await asyncio.to_thread(Memory, place))

    @property
    def directory(self) -> Path:
        return self.sync.directory

    remember = _in_thread(Memory.remember)
    add = _in_thread(Memory.add)
    recall = _in_thread(Memory.recall)
    search = _in_thread(Memory.search)
    get = _in_thread(Memory.get)
    list = _in_thread(Memory.list)
    update = _in_thread(Memory.update)
    delete = _in_thread(Memory.delete)
    delete_all = _in_thread(Memory.delete_all)
    read = _in_thread(Memory.read)
    forget = _in_thread(Memory.forget)
    history = _in_thread(Memory.history)
    undo = _in_thread(Memory.undo)
    redo = _in_thread(Memory.redo)
    move = _in_thread(Memory.move)
    import_ = _in_thread(Memory.import_)
    export = _in_thread(Memory.export)
    aclose = _in_thread(Memory.close)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
