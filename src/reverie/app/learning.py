"""The memory as learning needs it: what is near, a safe way to save, a bench for forks, the inbox."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.app.inbox import belongs_to, decided, offer, open_inbox
from reverie.app.recall import chosen_meaning, open_ranker
from reverie.errors import ReverieError
from reverie.events import Announce, Event, TroubleNoted
from reverie.keeper.inbox import Forgotten, approve
from reverie.keeper.wishes import Declined, Remembered
from reverie.layers import extraction
from reverie.layers.extraction.values import (
    Add,
    Candidate,
    Delete,
    Known,
    Noop,
    Operation,
    Supersede,
    Update,
)
from reverie.memory import manifest, topic
from reverie.memory.manifest import is_index
from reverie.memory.proposals import Item, NotKept, Proposal, cited
from reverie.memory.proposals import Operation as OperationName
from reverie.memory.revisions import Author
from reverie.memory.scopes import split
from reverie.memory.topic import Topic
from reverie.session import transcripts
from reverie.session.learning import day_of
from reverie.session.records import Said
from reverie.stores.scratch_memory import Scratch

if TYPE_CHECKING:
    from datetime import date

    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.core.messages import Message
    from reverie.layers.extraction import ToInbox
    from reverie.ports import Clock
    from reverie.recall.ranker import IndexRanker
    from reverie.settings import Settings
    from reverie.stores.inbox import Inbox

# Enough neighbours to find what a sentence repeats or contradicts.
_NEAR = 8


@dataclass(frozen=True, slots=True)
class MemoryBench:
    """A copy of the memory; what differs from it afterwards is what a fork would save."""

    scratch: Scratch

    @property
    def folder(self) -> Path:
        return self.scratch.memory

    def written(self) -> list[tuple[Topic, Topic | None]]:
        found = []
        for name, data in self.scratch.read().files.items():
            before = self.scratch.opened.get(name)
            if data != before and not is_index(name):
                old = None if before is None else topic.parse(before, name)
                found.append((topic.parse(data, name), old))
        return found


@dataclass(frozen=True, slots=True)
class MemoryShelf:
    """One memory, written by extraction in the name of a session."""

    memory: OpenMemory
    ranker: IndexRanker
    inbox: Inbox
    settings: Settings
    clock: Clock
    session: str
    model: str
    announce: Announce

    @property
    def directory(self) -> Path:
        return self.memory.place.directory

    @property
    def directories(self) -> tuple[Path, ...]:
        return tuple(part.place.directory for part in self.memory.parts)

    def manifest(self) -> str:
        return manifest.render(entry for entry in self.memory.store.entries() if entry.listed)

    def near(self, candidates: Sequence[Candidate]) -> list[Known]:
        files = {
            hit.key
            for candidate in candidates
            for hit in self.ranker.search(candidate.text, limit=_NEAR).hits
        }
        topics = self.memory.topics
        # The team's are changed by a person alone, so that nothing of ours may replace them.
        entries = {e.file: e for e in topics.entries() if split(e.file)[0] != "team"}
        found = ((file, topics.read(file)) for file in sorted(files & entries.keys()))
        return [Known(entries[file], stored.topic.body) for file, stored in found if stored]

    def save(self, candidate: Candidate, said: date | None) -> str | None:
        """Through the keeper, who has the last word; what it declines is told."""
        proposal = self._proposal(candidate, said)
        if proposal is None:
            return None
        item = Item(proposal.id, proposal, self.clock.now())
        author = Author("extract", self.session, candidate.sources, self.model)
        # Whether an addition repeats or contradicts anything was decided already.
        known = proposal.operation == "add"
        try:
            memory, own = belongs_to(self.memory, item)
            done = decided(memory, approve(own, memory.keeper, author, even_if_known=known))
        except ReverieError as error:
            self._tell(str(error))
            return None
        match done:
            case Remembered(saved):
                return saved.file
            case Forgotten(file):
                return file
            case Declined():
                self._tell(done.reason)
                return None

    def propose(self, item: ToInbox, said: date | None) -> bool:
        """For a person to decide, unless they said that such proposals need nobody."""
        proposal = None if item.candidate is None else self._proposal(item.candidate, said)
        if proposal is None:
            return False
        waiting = replace(
            proposal, reason=item.reason, warning=item.warning, supported=item.supported
        )
        try:
            kept = offer(self.inbox, self.memory, self.settings, waiting)
        except ReverieError as error:
            self.announce(TroubleNoted("inbox", str(error)))
            return False
        if isinstance(kept, NotKept) and not kept.rejected:
            self.announce(TroubleNoted("inbox", kept.reason))
        return isinstance(kept, Item)

    @contextmanager
    def bench(self) -> Iterator[MemoryBench]:
        with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
            scratch = Scratch(Path(folder) / "work" / "bench", self.memory.store)
            scratch.open(scratch.snapshot())
            yield MemoryBench(scratch)

    def _proposal(self, candidate: Candidate, said: date | None) -> Proposal | None:
        operation, file = _named(candidate.operation)
        if operation is None:
            return None
        return Proposal(
            candidate.text,
            candidate.type,
            candidate.origin,
            reason="",
            operation=operation,
            file=file,
            name=candidate.name,
            description=candidate.description,
            sources=cited(self.session, candidate.sources),
            evidence=candidate.evidence,
            said=said.isoformat() if said else "",
        )

    def _tell(self, reason: str) -> None:
        self.announce(TroubleNoted("extraction", f"not saved: {reason}"))


def _named(operation: Operation) -> tuple[OperationName | None, str]:
    match operation:
        case Add():
            return "add", ""
        case Update(file):
            return "update", file
        case Supersede(file):
            return "supersede", file
        case Delete(file):
            return "delete", file
        case Noop():
            return None, ""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a past conversation gave: files that were saved (or texts that would be), and what waits."""

    saved: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()


def learn_from(app: App, transcript: Path, *, dry_run: bool) -> Learnt:
    """Look through a past conversation by rules alone; what was found before is known."""
    return learn(app, transcript.stem, spoken(transcript), dry_run=dry_run)


def spoken(transcript: Path) -> tuple[Message, ...]:
    """All messages of a conversation, whoever wrote it down."""
    records = transcripts.load(transcript).records
    return tuple(record.message for record in records if isinstance(record, Said))


def learn(
    app: App,
    session: str,
    new: Sequence[Message],
    earlier: Sequence[Message] = (),
    *,
    dry_run: bool = False,
) -> Learnt:
    """Look through messages by rules alone; `earlier` ones were looked through before."""
    found = extraction.find(new, earlier)
    if not found:
        return Learnt()
    messages = (*earlier, *new)
    memory = app.memory()
    heard: list[Event] = []
    with open_ranker(memory, app.clock, chosen_meaning(app)) as ranker:
        inbox = open_inbox(app, memory)
        shelf = MemoryShelf(
            memory, ranker, inbox, app.settings, app.clock, session, "", heard.append
        )
        planned = extraction.plan(found, messages, shelf.near(found))
        waiting = [item for item in planned.inbox if item.candidate is not None]
        texts = tuple(item.candidate.text for item in waiting if item.candidate is not None)
        if dry_run:
            return Learnt(tuple(one.text for one in planned.saves), texts)
        saved = [shelf.save(one, day_of(one, messages)) for one in planned.saves]
        kept = [shelf.propose(item, day_of(item.candidate, messages)) for item in waiting]
    return Learnt(
        tuple(file for file in saved if file is not None),
        tuple(text for text, waits in zip(texts, kept, strict=True) if waits),
        tuple(event.what for event in heard if isinstance(event, TroubleNoted)),
    )
