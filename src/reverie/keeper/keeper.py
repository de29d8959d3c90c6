"""Remember, supersede, pin, forget: each is one transaction, and says what it did.

A "no" is a value with its reason (`Declined`), not an error: what was asked for is not memory, is
already known, or holds a secret that must not be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import TypeAlias

from reverie.errors import InputError
from reverie.keeper.draft import Draft, draft
from reverie.memory import exclusions, topic
from reverie.memory.dates import DateChange, absolute_dates
from reverie.memory.index import MOST_LINES, Index, Pointer, more_line
from reverie.memory.manifest import ManifestEntry
from reverie.memory.names import file_name
from reverie.memory.revisions import Author, Drop, Put, Revision
from reverie.memory.similar import nearest
from reverie.memory.taxonomy import MemoryType
from reverie.memory.topic import Topic
from reverie.ports import Clock, Scrubber, Stored, TopicStore


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory was saved. What was changed on the way is told, so that a person can object."""

    topic: Topic
    revision: Revision
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    superseded: str | None = None


@dataclass(frozen=True, slots=True)
class Declined:
    """Nothing was saved, and why; `existing` is the memory that already says it."""

    reason: str
    advice: str = ""
    existing: str | None = None


Outcome: TypeAlias = Remembered | Declined


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants remembered; everything but the text can be worked out."""

    text: str
    type: MemoryType | None = None
    name: str | None = None
    description: str | None = None
    supersedes: str | None = None
    source: tuple[str, ...] = ()
    origin: str = "user"
    even_if_known: bool = False
    allow_excluded: bool = False


class Keeper:
    """The one way to change a memory directory."""

    def __init__(
        self,
        store: TopicStore,
        clock: Clock,
        scrubber: Scrubber,
        *,
        instructions: Callable[[], Mapping[str, str]] = dict,
        shared: bool = False,
    ) -> None:
        self.store = store
        self._clock = clock
        self._scrubber = scrubber
        self._instructions = instructions
        self._shared = shared

    def remember(self, wish: Wish, author: Author) -> Outcome:
        """Save a memory and its pointer, unless it should not be or is already there."""
        refusal = None if wish.allow_excluded else self._excluded(wish.text)
        if refusal is not None:
            return refusal
        text, dates = absolute_dates(wish.text, self._today())
        scrubbed = self._scrubber.scrub(text)
        if scrubbed.kinds and self._shared:
            return _secret_in_team(scrubbed.kinds)
        made = draft(scrubbed.text, type_=wish.type, name=wish.name, description=wish.description)
        entries = self.store.entries()
        known = None if wish.even_if_known or wish.supersedes else _known(made, entries)
        if known is not None:
            return known
        fresh = self._topic(made, wish, entries)
        revision = self._save(fresh, wish, author)
        return Remembered(fresh, revision, dates, scrubbed.kinds, wish.supersedes)

    def change(self, stored: Stored, fresh: Topic, author: Author, summary: str) -> Revision | None:
        """Write a changed topic back, based on the version that was read."""
        scrubbed = self._scrubber.scrub(topic.render(fresh).decode("utf-8", "surrogateescape"))
        if scrubbed.kinds and self._shared:
            raise InputError(_secret_in_team(scrubbed.kinds).reason)
        data = scrubbed.text.encode("utf-8", "surrogateescape")
        put = Put(fresh.file, data, stored.version)
        return self.store.apply((put,), author, summary, lambda index: pointed(index, fresh))

    def pin(self, file: str, author: Author, *, pinned: bool = True) -> Revision | None:
        stored = self.require(file)
        verb = "pin" if pinned else "unpin"
        changed = stored.topic.with_(pinned=True if pinned else None)
        return self.change(stored, changed, author, f"{verb} {stored.topic.name}")

    def forget(self, file: str, author: Author) -> Revision | None:
        """Remove a memory and its pointer; history still has it."""
        stored = self.require(file)
        return self.store.apply(
            (Drop(file, stored.version),),
            author,
            f"forget {stored.topic.name}",
            lambda index: index.without(file),
        )

    def require(self, file: str) -> Stored:
        """A memory by its file name, or an error that names what is close to it."""
        name = file if file.endswith(".md") else f"{file}.md"
        stored = self.store.read(name)
        if stored is None:
            raise InputError(_missing(file, self.store.entries()))
        return stored

    def _excluded(self, text: str) -> Declined | None:
        if not text.strip():
            return Declined("there is nothing to remember", "say what, in a sentence")
        found = exclusions.check(text, self._instructions())
        return Declined(found.reason, found.advice) if found else None

    def _topic(self, made: Draft, wish: Wish, entries: tuple[ManifestEntry, ...]) -> Topic:
        now = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="seconds")
        return topic.new(
            made.name,
            made.description,
            made.type,
            made.body,
            file=file_name(f"{made.type} {made.name}", [entry.file for entry in entries]),
            created=now,
            origin=wish.origin,
            source=wish.source,
            supersedes=(wish.supersedes,) if wish.supersedes else (),
            valid_from=now if wish.supersedes else None,
        )

    def _save(self, fresh: Topic, wish: Wish, author: Author) -> Revision:
        put = Put(fresh.file, topic.render(fresh))
        if wish.supersedes is None:
            made = self.store.apply(
                (put,), author, f"remember {fresh.name}", lambda index: pointed(index, fresh)
            )
        else:
            made = self._supersede(self.require(wish.supersedes), fresh, put, author)
        if made is None:
            raise InputError(f"{fresh.file} is already there, word for word")
        return made

    def _supersede(self, old: Stored, fresh: Topic, put: Put, author: Author) -> Revision | None:
        """Both stay: the old one says by what and since when, and leaves the index."""
        closed = old.topic.with_(superseded_by=fresh.file, valid_until=fresh.valid_from)
        kept = Put(old.topic.file, topic.render(closed), old.version)
        return self.store.apply(
            (put, kept),
            author,
            f"{fresh.name} supersedes {old.topic.name}",
            lambda index: pointed(index.without(old.topic.file), fresh),
        )

    def _today(self) -> date:
        return datetime.fromtimestamp(self._clock.now()).astimezone().date()


def pointed(index: Index, memory: Topic) -> Index:
    """The index with a pointer to a memory; a full one counts it instead: recall will find it."""
    pointer = Pointer(memory.name, memory.file, memory.description)
    known = any(present.file == memory.file for present in index.pointers)
    if known or len(index.lines) < MOST_LINES - 1:
        grown = index.with_pointer(pointer)
        return grown if known or grown.fits else _counted(index)
    return _counted(index)


def _counted(index: Index) -> Index:
    kept = [line for line in index.lines if not Index((line,)).more]
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    return Index((*kept, more_line(index.more + 1)))


def _known(made: Draft, entries: tuple[ManifestEntry, ...]) -> Declined | None:
    """Is it there already? Two values of one thing are not the same fact."""
    current = [entry for entry in entries if not entry.superseded]
    texts = [(entry.file, entry.description or entry.name) for entry in current]
    match = nearest(made.description, texts)
    if match is None or match.likeness == "unrelated":
        return None
    found = next(entry for entry in current if entry.file == match.key)
    if match.likeness == "same":
        return Declined(
            f"{match.key} already says so: {found.description or found.name}",
            f"change it with `reverie edit {match.key}`, or save anyway with --even-if-known",
            match.key,
        )
    if match.likeness == "differs":
        return Declined(
            f"{match.key} says otherwise: {found.description or found.name}",
            f"replace it with --supersedes {match.key}, or keep both with --even-if-known",
            match.key,
        )
    return None


def _secret_in_team(kinds: tuple[str, ...]) -> Declined:
    return Declined(
        f"it holds a secret ({', '.join(kinds)}), and team memory is shared",
        "say where the secret is kept instead of what it is",
    )


def _missing(file: str, entries: tuple[ManifestEntry, ...]) -> str:
    names = [entry.file for entry in entries]
    close = get_close_matches(file, names, n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(close)}?" if close else "; `reverie list` shows them all"
    return f"no memory {file!r}{hint}"
