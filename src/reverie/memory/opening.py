"""Open memories, and read several as one: those of other scopes have a prefix in their names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import merge
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.memory.changes.draft import Declined, NewMemory, Outcome, Remembered
from reverie.memory.changes.judging import MOST_TOLD, Neighbours
from reverie.memory.changes.keeper import Keeper
from reverie.memory.format.manifest import Changes, ManifestEntry, newest_first
from reverie.memory.format.taxonomy import APART, MemoryScope, labelled, split
from reverie.memory.format.topic import Topic
from reverie.memory.history import GitHistory
from reverie.memory.instruction_files import read_instructions
from reverie.memory.locations import MemoryLocation
from reverie.memory.secrets.scrubber import ALLOWED, SecretScrubber
from reverie.memory.store import FileStore, nothing
from reverie.memory.uses import Kind, UseCounts
from reverie.ports import Stored, TopicReader
from reverie.text.likeness import MOST_WEIGHED

if TYPE_CHECKING:
    from reverie.memory.format.revisions import Author, Revision
    from reverie.ports import Clock


Signature = tuple[int, int, int]
# Separates the position in the project's changes from the digest of the other memories.
_SEPARATOR = "+"


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A stored memory under its label."""

    topic: Topic
    version: str


class ScopedTopics:
    """The memories of a project, the user and the team, read as one.

    It is read-only: a change goes to the memory that contains the file.
    """

    def __init__(self, own: TopicReader, others: Mapping[MemoryScope, TopicReader]) -> None:
        self._own = own
        self._others = others
        # The last merge and its parts: if they did not change, callers get the same objects.
        self._parts: tuple[tuple[ManifestEntry, ...], ...] = ()
        self._merged: tuple[ManifestEntry, ...] = ()
        self._renamed: dict[str, tuple[ManifestEntry, ManifestEntry]] = {}

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory of all scopes, newest first."""
        own = self._own.entries()
        found = {scope: part.entries() for scope, part in self._others.items()}
        if not any(found.values()):
            return own
        parts = (own, *found.values())
        if len(parts) != len(self._parts) or any(
            new is not old for new, old in zip(parts, self._parts, strict=True)
        ):
            renamed = [self._entry(scope, entry) for scope, part in found.items() for entry in part]
            self._merged = newest_first((*own, *renamed))
            self._parts = parts
        return self._merged

    def listing(self) -> Mapping[str, Signature]:
        """Every memory with its signature."""
        own = self._own.listing()
        others = {
            labelled(file, scope): signature
            for scope, part in self._others.items()
            for file, signature in part.listing().items()
        }
        return {**own, **others} if others else own

    @property
    def large(self) -> bool:
        """Whether the project has too many memories to read all of them in one call."""
        return self._own.large

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        """Memories of all scopes that share the rarest words of a text."""
        others = [
            self._entry(scope, entry)
            for scope, part in self._others.items()
            for entry in part.alike(text)
        ]
        return [*self._own.alike(text), *others]

    def has(self, file: str) -> bool:
        scope, name = split(file)
        part = self._own if scope == "project" else self._others.get(scope)
        return part is not None and part.has(name)

    def some(self, files: Sequence[str], newest: int = 0) -> Sequence[ManifestEntry]:
        """The entries of these files, and those of the project's newest."""
        named = [(file, *split(file)) for file in files]
        own = [name for _, scope, name in named if scope == "project"]
        wanted = {file for file, scope, _ in named if scope != "project"}
        others = [
            self._entry(scope, entry)
            for scope, part in self._others.items()
            for entry in part.entries()
            if wanted and labelled(entry.file, scope) in wanted
        ]
        return [*self._own.some(own, newest), *others]

    def changes(self, since: str, most: int) -> Changes | None:
        """Changes in the project's memory; all memories of other scopes if any of them changed."""
        before, _, seen = since.partition(_SEPARATOR)
        found = self._own.changes(before, most)
        if found is None:
            return None
        others = {
            labelled(file, scope): signature
            for scope, part in self._others.items()
            for file, signature in part.listing().items()
        }
        now = hashlib.sha256(repr(sorted(others.items())).encode()).hexdigest()[:16]
        changed = found.changed if now == seen else {**found.changed, **others}
        return replace(found, upto=f"{found.upto}{_SEPARATOR}{now}", changed=changed)

    def read(self, file: str) -> Stored | None:
        scope, name = split(file)
        if scope == "project":
            return self._own.read(name)
        part = self._others.get(scope)
        stored = None if part is None else part.read(name)
        if stored is None:
            return None
        return _Labelled(replace(stored.topic, file=file), stored.version)

    def _entry(self, scope: MemoryScope, entry: ManifestEntry) -> ManifestEntry:
        """An entry under its label; the same object as long as the file does not change."""
        file = labelled(entry.file, scope)
        known = self._renamed.get(file)
        if known is None or known[0] is not entry:
            known = self._renamed[file] = (entry, replace(entry, file=file))
        return known[1]


CATALOG = "manifest.sqlite"


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """A memory directory with its store, history and keeper."""

    place: MemoryLocation
    store: FileStore
    keeper: Keeper
    history: GitHistory
    scrubber: SecretScrubber
    uses: UseCounts
    # The project's folder: sessions, notes and the inbox are there, wherever the memory is.
    beside: Path
    scope: MemoryScope = "project"
    # Memories that are recalled together with this one.
    others: tuple[OpenMemory, ...] = ()
    # This memory and the others, as recall reads them, under their labels.
    topics: TopicReader = field(init=False)

    def __post_init__(self) -> None:
        others = {other.scope: other.store for other in self.others}
        object.__setattr__(self, "topics", ScopedTopics(self.store, others))

    @property
    def team(self) -> bool:
        return self.scope == "team"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user: how old the copy is while the service that keeps this memory is away."""
        return self.store.notes

    @property
    def parts(self) -> tuple[OpenMemory, ...]:
        """This memory, and those that are recalled with it."""
        return (self, *self.others)

    def newest(self, most: int) -> list[ManifestEntry]:
        """The newest memories of each part, under their labels."""
        return [
            replace(entry, file=labelled(entry.file, part.scope))
            for part in self.parts
            for entry in part.store.some((), newest=most)
        ]

    @property
    def private(self) -> tuple[OpenMemory, ...]:
        """Those of the parts that are not shared with a team."""
        return tuple(part for part in self.parts if not part.team)

    def part(self, label: str) -> tuple[OpenMemory, str] | None:
        """The memory that contains a labelled file, and the file's name there."""
        scope, file = split(label)
        found = next((one for one in self.others if one.scope == scope), None)
        if scope == "project":
            return self, file
        return None if found is None else (found, file)

    def label(self, file: str) -> str:
        """A file's label: the name that commands and tools accept."""
        return labelled(file, self.scope)

    def path_of(self, label: str) -> Path:
        """The path of a memory, by its label."""
        found = self.part(label)
        memory, file = (self, label) if found is None else found
        return memory.place.directory / file

    def label_of(self, path: Path) -> str | None:
        """The label of the memory at a path; the team's directory may be inside this one."""
        for memory in reversed(self.parts):
            folder = memory.place.directory.resolve()
            if path.is_relative_to(folder):
                return memory.label(path.relative_to(folder).as_posix())
        return None

    def record_uses(self, labels: Iterable[str], kind: Kind, session: str = "") -> None:
        """Count uses in the memory that contains each file, so personal ones count in all projects."""
        by_scope: dict[MemoryScope, tuple[OpenMemory, list[str]]] = {}
        for memory, file in filter(None, map(self.part, labels)):
            by_scope.setdefault(memory.scope, (memory, []))[1].append(file)
        for memory, files in by_scope.values():
            memory.uses.record(files, kind, session)

    def use_counts(self, kind: Kind) -> Mapping[str, int]:
        """Uses by label, of all parts."""
        own = self.uses.counts(kind)
        others = {
            other.label(file): count
            for other in self.others
            for file, count in other.uses.counts(kind).items()
        }
        return {**own, **others} if others else own

    def labelled(self, outcome: Outcome) -> Outcome:
        """An outcome of this memory's keeper, with labels instead of file names."""
        if self.scope == "project":
            return outcome
        if isinstance(outcome, Remembered):
            topic = replace(outcome.topic, file=self.label(outcome.topic.file))
            superseded = outcome.superseded and self.label(outcome.superseded)
            near = tuple(replace(one, file=self.label(one.file)) for one in outcome.related)
            return replace(outcome, topic=topic, superseded=superseded, related=near)
        if isinstance(outcome, Declined) and outcome.existing:
            name = self.label(outcome.existing)
            return replace(
                outcome,
                reason=outcome.reason.replace(outcome.existing, name),
                advice=outcome.advice.replace(outcome.existing, name),
                existing=name,
            )
        return outcome

    def changes(self, file: str | None = None) -> Iterator[Revision]:
        """Every revision, newest first, including hand edits; files are given by their labels."""
        if self.place.directory.is_dir():
            self.store.notice_hand_edits()
        for revision in self.history.log(file):
            yield self.named(revision)

    def named(self, revision: Revision) -> Revision:
        """A revision with labels instead of file names."""
        return replace(revision, files=tuple(map(self.label, revision.files)))


def remember(memory: OpenMemory, seen: OpenMemory, new: NewMemory, author: Author) -> Outcome:
    """Save a new memory, unless this memory or another one recalled with it says the same.

    A team's memory may repeat what is in a user's own memory.
    """
    near = Neighbours() if memory.team else _elsewhere(memory, seen, new)
    if near.same is not None:
        return near.same
    outcome = memory.labelled(memory.keeper.remember(new, author))
    if isinstance(outcome, Declined) or not near.related:
        return outcome
    return replace(outcome, related=(*outcome.related, *near.related)[:MOST_TOLD])


def _elsewhere(memory: OpenMemory, seen: OpenMemory, new: NewMemory) -> Neighbours:
    """Memories of other scopes that are similar to a new one, by their labels."""
    if new.supersedes is not None or new.even_if_known or new.replace:
        return Neighbours()
    found = [one for one in seen.topics.alike(new.text) if split(one.file)[0] != memory.scope]
    if len(found) < MOST_WEIGHED:
        # The same may be said in other words: the newest are compared, too.
        newest = seen.newest(MOST_WEIGHED - len(found))
        found += [one for one in newest if split(one.file)[0] != memory.scope]
        found = list({one.file: one for one in found}.values())

    def body_of(label: str) -> str:
        stored = seen.topics.read(label)
        return "" if stored is None else stored.topic.body

    return memory.keeper.near(new, found, body_of) if found else Neighbours()


def changes(memories: Iterable[OpenMemory]) -> Iterator[Revision]:
    """Every revision of several memories, newest first."""
    return merge(*(one.changes() for one in memories), key=lambda made: made.at, reverse=True)


def with_revision(memories: Sequence[OpenMemory], revision: str) -> tuple[OpenMemory, Revision]:
    """The memory whose history contains a revision, and the revision."""
    problems = []
    for memory in memories:
        try:
            return memory, memory.history.revision(revision)
        except InputError as error:
            problems.append(error)
    raise problems[0]


def open_memory(  # noqa: PLR0913 - what a memory is made of
    place: MemoryLocation,
    clock: Clock,
    *,
    beside: Path,
    scope: MemoryScope = "project",
    instructions: Path | None = None,
    before_write: Callable[[], None] = nothing,
    others: tuple[OpenMemory, ...] = (),
    store: FileStore | None = None,
) -> OpenMemory:
    """Open a memory; nothing is read before it is used, and the directory need not exist.

    `instructions` is the project whose instruction files need not be remembered again; `store` is
    given for a memory that a service keeps.
    """
    if store is None:
        # A team's history is compared with a remote one, whose trees are not spread.
        store = FileStore(
            place.directory,
            GitHistory(place.history, clock, flat=scope == "team"),
            apart=APART,
            before_write=before_write,
            catalog=place.state / CATALOG,
        )
    scrubber = SecretScrubber(place.state / ALLOWED)
    keeper = Keeper(
        store,
        clock,
        scrubber,
        instructions=dict if instructions is None else partial(read_instructions, instructions),
        shared=scope == "team",
    )
    uses = UseCounts(place.state, clock)
    return OpenMemory(place, store, keeper, store.history, scrubber, uses, beside, scope, others)
