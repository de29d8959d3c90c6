"""A project's memory, for programs: remember, recall, read, forget, undo."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, TypeAlias

from reverie.app.forgetting import Forgetting
from reverie.app.library.opening import Overrides, Place
from reverie.app.recall import chosen_meaning, index_episodes, open_ranker, recall_as_of
from reverie.app.undo import redo_last, undo, undo_last
from reverie.errors import InputError
from reverie.keeper import handles
from reverie.keeper.wishes import Outcome, Wish
from reverie.memory.revisions import Author
from reverie.recall.fuse import GOOD_MATCH

if TYPE_CHECKING:
    from os import PathLike

    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.memory.manifest import ManifestEntry
    from reverie.memory.revisions import Revision
    from reverie.memory.taxonomy import MemoryType
    from reverie.memory.topic import Topic
    from reverie.ports import Clock
    from reverie.recall.documents import Hit as Found
    from reverie.recall.documents import Results, Scope
    from reverie.recall.ranker import IndexRanker

# What an agent remembers by: this memory, none, or (None) the memory of its project.
Remembering: TypeAlias = "Memory | Literal[False] | None"

log = logging.getLogger(__name__)

# Whoever calls the library stands for the person.
_PERSON = Author("user")


@dataclass(frozen=True, slots=True)
class Hit:
    """What was found: a memory in `file`, or (then `file` is empty) a message of `session`.

    `score` is the chance that it fits, `sure` whether an agent would be shown it unasked, and `why`
    says by which signals it was found.
    """

    file: str
    score: float
    text: str
    why: str
    sure: bool
    session: str = ""


class Memory:
    """The memory of one project: a folder of markdown files with a history.

    Everything is synchronous. Use it as a context manager, or call `close()`, to let go of the
    search index.
    """

    def __init__(self, place: Place) -> None:
        """Use `Memory.open()`."""
        self._app = place.open()
        # Where the program goes afterwards does not matter.
        self.place = replace(place, project=self._app.place)
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
    ) -> Memory:
        """The memory of the project that `project` (default: here) lies in.

        `home` is Reverie's own folder (default: `~/.reverie`). `settings` hold for this object
        alone: `{"recall.embedder": "none"}`. `clock` replaces the machine's time.
        """
        return cls(Place.of(project, home, settings, clock))

    @property
    def directory(self) -> Path:
        """Where the files are."""
        return self._memory.place.directory

    def remember(
        self,
        text: str,
        *,
        type: MemoryType | None = None,
        name: str | None = None,
        description: str | None = None,
        supersedes: str | None = None,
        even_if_known: bool = False,
    ) -> Outcome:
        """Save a fact; dates become absolute, secrets are taken out, what is missing is inferred.

        Gives `Remembered`, or `Declined` with the reason: it is known, or it is not memory.
        `supersedes` names the memory this replaces; both are kept.
        """
        old = None if supersedes is None else self._file(supersedes)
        wish = Wish(text, type, name, description, old, even_if_known=even_if_known)
        return self._memory.keeper.remember(wish, _PERSON)

    def recall(self, question: str, *, limit: int = 5, as_of: datetime | None = None) -> list[Hit]:
        """The memories that fit a question, best first; also as memory was at another time."""
        if as_of is None:
            return self._hits(self._index.search(question, limit=limit))
        meaning = chosen_meaning(self._app)
        past = recall_as_of(self._memory, question, as_of, limit, meaning)
        return self._hits(past, whole=False)

    def search(self, words: str, *, limit: int = 10, only: Scope = "both") -> list[Hit]:
        """Memories and past conversations, best first: words, "phrases", -without, type:feedback."""
        if only != "memories":
            index_episodes(self._index.index, {path.stem: path for path in self._app.journals()})
        return self._hits(self._index.search(words, limit=limit, scope=only))

    def read(self, file: str) -> Topic:
        """One memory, by its file name, its short id, or words of its title.

        Raises InputError when there is none, with names that are close, or when several fit.
        """
        return self._memory.keeper.require(self._file(file)).topic

    def __iter__(self) -> Iterator[ManifestEntry]:
        """Every memory, newest first: file, type, name, description."""
        return iter(self._memory.store.entries())

    def forget(self, file: str, *, everywhere: bool = False) -> None:
        """Remove a memory. History and transcripts keep it, unless it is to go from `everywhere`.

        Then every trace of it goes, for good; what belongs to other software is left alone.
        """
        if everywhere:
            Forgetting(self._app, self._memory, self.read(file).file).run(_PERSON)
        else:
            self._memory.keeper.forget(self._file(file), _PERSON)

    def history(self, file: str | None = None, *, limit: int | None = None) -> list[Revision]:
        """Every change, newest first: who, when, what; of one file, also when it is gone."""
        self._notice_hand_edits()
        name = None if file is None else self._file(file, gone=True)
        return list(islice(self._memory.history.log(name), limit))

    def undo(self, revision: str | None = None) -> Revision:
        """Take a change back, by default the last one that still stands; that is a change itself.

        Each further `undo()` goes one change back, and `redo()` brings back what was undone last.
        """
        self._notice_hand_edits()
        if revision is None:
            return undo_last(self._app, self._memory, _PERSON).made
        wanted = self._memory.history.revision(revision)
        return undo(self._app, self._memory, [wanted], _PERSON).made

    def redo(self) -> Revision:
        """Bring back what was undone last; what changed meanwhile stays."""
        self._notice_hand_edits()
        return redo_last(self._app, self._memory, _PERSON).made

    def close(self) -> None:
        """Let go of the search index; the next search opens it again."""
        self._ranker = None
        self._stack.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _notice_hand_edits(self) -> None:
        if self.directory.is_dir():
            self._memory.store.notice_hand_edits()

    def _file(self, wanted: str, *, gone: bool = False) -> str:
        """The file that is meant; a name that fits nothing stands for itself when it may be gone."""
        found = handles.resolve(wanted, self._memory.store.entries())
        match found:
            case handles.Found(file):
                return file
            case handles.Missing() if gone or self._readable(wanted):
                return wanted if wanted.endswith(".md") else f"{wanted}.md"
            case handles.Missing() | handles.Ambiguous():
                raise InputError(handles.explained(wanted, found))

    def _readable(self, name: str) -> bool:
        """A file that is no memory of its own, such as a daily log."""
        with suppress(InputError):
            return self._memory.store.read(name) is not None
        return False

    @property
    def _index(self) -> IndexRanker:
        if self._ranker is None:
            meaning = chosen_meaning(self._app)
            opened = open_ranker(self._memory, self._app.clock, meaning)
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
        stored = self._memory.store.read(found.key) if whole else None
        text = found.snippet if stored is None else stored.topic.body.strip()
        return Hit(found.key, found.score, text, found.why, sure)


def open_for(memory: Remembering, place: Place) -> tuple[App, OpenMemory | Literal[False] | None]:
    """The app of an agent or a context, and the memory it was given.

    It is opened once more: an agent reads in other threads than its caller.
    """
    if memory is None or memory is False:
        return place.open(), memory
    return place.beside(memory.place).open(), memory.place.open().memory()
