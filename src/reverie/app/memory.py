"""A memory directory put together: where it is, its store, its history and the keeper over both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import merge
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import InputError
from reverie.keeper.keeper import Keeper
from reverie.keeper.wishes import Declined, Outcome, Remembered
from reverie.memory.scopes import APART, MemoryScope, labelled, split
from reverie.stores.files import FileStore, nothing
from reverie.stores.history import GitHistory
from reverie.stores.instructions import read_instructions
from reverie.stores.places import MemoryPlace
from reverie.stores.scopes import ScopedTopics
from reverie.stores.scrubber import ALLOWED, SecretScrubber
from reverie.stores.uses import Kind, UseCounts

if TYPE_CHECKING:
    from reverie.memory.revisions import Revision
    from reverie.ports import Clock, TopicReader


CATALOG = "manifest.sqlite"


@dataclass(frozen=True, slots=True)
class OpenMemory:
    """A memory directory, ready to be used."""

    place: MemoryPlace
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
    place: MemoryPlace,
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
