"""Several memories read as one: the project's under their own names, the others under a prefix."""

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

if TYPE_CHECKING:
    from reverie.memory.format.revisions import Author, Revision
    from reverie.ports import Clock


Signature = tuple[int, int, int]
# Between what the project's own catalog said last and what the others looked like.
_AND = "+"


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A stored memory under the name it has among the others."""

    topic: Topic
    version: str


class ScopedTopics:
    """The memories of a project, its person and its team, for whoever only reads.

    Nothing is written through it: a change goes to the one memory it belongs to.
    """

    def __init__(self, own: TopicReader, others: Mapping[MemoryScope, TopicReader]) -> None:
        self._own = own
        self._others = others
        # What was merged last, of which parts: who asks again gets the same objects.
        self._parts: tuple[tuple[ManifestEntry, ...], ...] = ()
        self._merged: tuple[ManifestEntry, ...] = ()
        self._renamed: dict[str, tuple[ManifestEntry, ManifestEntry]] = {}

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first, whoever it belongs to."""
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
        """Whether the project's own are so many that a call should ask for some of them."""
        return self._own.large

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        """Memories that share the rarest words of a text, of each part."""
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
        """The entries of these files, then those of the newest of the project."""
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
        """What changed in the project's own, and all of the others when anything of them did."""
        before, _, seen = since.partition(_AND)
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
        return replace(found, upto=f"{found.upto}{_AND}{now}", changed=changed)

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
        """An entry under its label; the same one for as long as the file does not change."""
        file = labelled(entry.file, scope)
        known = self._renamed.get(file)
        if known is None or known[0] is not entry:
            known = self._renamed[file] = (entry, replace(entry, file=file))
        return known[1]


CATALOG = "manifest.sqlite"


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """A memory directory, ready to be used."""

    place: MemoryLocation
    store: FileStore
    keeper: Keeper
    history: GitHistory
    scrubber: SecretScrubber
    uses: UseCounts
    # The project's own folder: sessions, their notes and the inbox stay there wherever memory is.
    beside: Path
    scope: MemoryScope = "project"
    # Memories that are recalled together with this one.
    others: tuple[OpenMemory, ...] = ()
    # All of them, as recall reads them; those of the others are named after their scope.
    topics: TopicReader = field(init=False)

    def __post_init__(self) -> None:
        others = {other.scope: other.store for other in self.others}
        object.__setattr__(self, "topics", ScopedTopics(self.store, others))

    @property
    def team(self) -> bool:
        return self.scope == "team"

    @property
    def parts(self) -> tuple[OpenMemory, ...]:
        """This memory, then those that are recalled with it."""
        return (self, *self.others)

    @property
    def private(self) -> tuple[OpenMemory, ...]:
        """Those of them that are one person's alone."""
        return tuple(part for part in self.parts if not part.team)

    def part(self, label: str) -> tuple[OpenMemory, str] | None:
        """The memory in which a file is found by its label, and the file's name there."""
        scope, file = split(label)
        found = next((one for one in self.others if one.scope == scope), None)
        if scope == "project":
            return self, file
        return None if found is None else (found, file)

    def label(self, file: str) -> str:
        """A file's name as every command and tool takes it."""
        return labelled(file, self.scope)

    def path_of(self, label: str) -> Path:
        """Where a memory that recall knows by a label lies."""
        found = self.part(label)
        memory, file = (self, label) if found is None else found
        return memory.place.directory / file

    def label_of(self, path: Path) -> str | None:
        """The label of the memory that lies at a path; the team's directory may lie in ours."""
        for memory in reversed(self.parts):
            folder = memory.place.directory.resolve()
            if path.is_relative_to(folder):
                return memory.label(path.relative_to(folder).as_posix())
        return None

    def record_uses(self, labels: Iterable[str], kind: Kind, session: str = "") -> None:
        """Count uses where each memory is kept: what helps in one project counts in all."""
        by_scope: dict[MemoryScope, tuple[OpenMemory, list[str]]] = {}
        for memory, file in filter(None, map(self.part, labels)):
            by_scope.setdefault(memory.scope, (memory, []))[1].append(file)
        for memory, files in by_scope.values():
            memory.uses.record(files, kind, session)

    def use_counts(self, kind: Kind) -> Mapping[str, int]:
        """Uses by label, of all that is recalled."""
        own = self.uses.counts(kind)
        others = {
            other.label(file): count
            for other in self.others
            for file, count in other.uses.counts(kind).items()
        }
        return {**own, **others} if others else own

    def told(self, outcome: Outcome) -> Outcome:
        """An outcome of this memory's keeper, in names that every command and tool takes."""
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
        """Every change, newest first, hand edits included; files are named by their labels."""
        if self.place.directory.is_dir():
            self.store.notice_hand_edits()
        for revision in self.history.log(file):
            yield self.named(revision)

    def named(self, revision: Revision) -> Revision:
        """A revision whose files are named by their labels."""
        return replace(revision, files=tuple(map(self.label, revision.files)))


def remember(memory: OpenMemory, seen: OpenMemory, wish: NewMemory, author: Author) -> Outcome:
    """Save a wish in one memory, unless it or another one that is seen with it says the same.

    What the team should know may well be in a person's own memory already.
    """
    near = Neighbours() if memory.team else _elsewhere(memory, seen, wish)
    if near.same is not None:
        return near.same
    outcome = memory.told(memory.keeper.remember(wish, author))
    if isinstance(outcome, Declined) or not near.related:
        return outcome
    return replace(outcome, related=(*outcome.related, *near.related)[:MOST_TOLD])


def _elsewhere(memory: OpenMemory, seen: OpenMemory, wish: NewMemory) -> Neighbours:
    """What memories of other scopes hold near to a wish, in names that every command takes."""
    if wish.supersedes is not None or wish.even_if_known or wish.replace:
        return Neighbours()
    found = [one for one in seen.topics.alike(wish.text) if split(one.file)[0] != memory.scope]

    def body_of(label: str) -> str:
        stored = seen.topics.read(label)
        return "" if stored is None else stored.topic.body

    return memory.keeper.near(wish, found, body_of) if found else Neighbours()


def changes(memories: Iterable[OpenMemory]) -> Iterator[Revision]:
    """Every change to several memories, newest first."""
    return merge(*(one.changes() for one in memories), key=lambda made: made.at, reverse=True)


def with_revision(memories: Sequence[OpenMemory], revision: str) -> tuple[OpenMemory, Revision]:
    """The memory in whose history a revision is."""
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
) -> OpenMemory:
    """Nothing is looked at before it is used: a directory that is not there costs nothing.

    `instructions` is the project whose instruction files need not be remembered.
    """
    # Two histories meet in a team's: theirs is not spread, and ours is compared with it.
    history = GitHistory(place.history, clock, flat=scope == "team")
    store = FileStore(
        place.directory,
        history,
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
    return OpenMemory(place, store, keeper, history, scrubber, uses, beside, scope, others)
