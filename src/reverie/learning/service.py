"""Memory for learning: similar memories, saving through the keeper, copies for forks, the inbox."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.conversation import transcripts
from reverie.conversation.journal import TextFile
from reverie.conversation.records import Said
from reverie.errors import InputError, ReverieError, TranscriptError
from reverie.events import Announce, Event, TroubleNoted
from reverie.files.atomic import make_private
from reverie.learning import extraction
from reverie.learning.extraction.candidates import (
    Add,
    Candidate,
    Delete,
    Known,
    Noop,
    Operation,
    Supersede,
    Update,
)
from reverie.learning.extraction.fork import Settled, settle
from reverie.learning.extraction.reading import Utterance, utterances
from reverie.learning.runs import Run, note_run
from reverie.memory.changes.draft import Declined, Remembered
from reverie.memory.changes.undo import Forgotten, approve
from reverie.memory.directory import Scratch
from reverie.memory.format import instructions as learning_instructions
from reverie.memory.format import manifest, topic
from reverie.memory.format.instructions import FILE, LearningInstructions
from reverie.memory.format.manifest import is_index
from reverie.memory.format.proposals import Item, NotKept, Proposal, cited
from reverie.memory.format.proposals import Operation as OperationName
from reverie.memory.format.revisions import Author
from reverie.memory.format.taxonomy import split
from reverie.memory.format.topic import Topic
from reverie.recall.past_sessions import conversations
from reverie.recall.service import choose_embedder, open_ranker
from reverie.text.likeness import MOST_WEIGHED
from reverie.workspace.changes import belongs_to, decided, offer, open_inbox

if TYPE_CHECKING:
    from datetime import date

    from reverie.core.messages import Message, Origin
    from reverie.learning.extraction import ToInbox
    from reverie.memory.inbox import Inbox
    from reverie.memory.opening import OpenMemory
    from reverie.ports import Clock
    from reverie.recall.ranker import IndexRanker
    from reverie.settings import Settings
    from reverie.settings.projects import Project
    from reverie.workspace import Workspace

# In a sub-agent's conversation the user side is another agent, not the person.
_IN_AGENTS: Mapping[Origin, Origin] = {"user": "assistant", "reverie": "hook"}
# Enough similar memories to find what a sentence repeats or contradicts.
_NEAR = 8
# How many memories of a large directory a fork is shown, newest first.
MOST_LISTED = 200


def learning_files(settings: Settings, memory: OpenMemory) -> dict[str, Path]:
    """The person's learning.md files, for all projects and for this one; never in a repository."""
    state = memory.place.state.parent if memory.team else memory.place.state
    return {
        "your learning.md": settings.home / FILE,
        "learning.md of this project": state / FILE,
    }


def instructions_for(settings: Settings, memory: OpenMemory) -> LearningInstructions:
    """The person's instructions, those for all projects first."""
    found = learning_files(settings, memory).items()
    files = ((label, TextFile(path).read()) for label, path in found)
    return learning_instructions.parse((label, text) for label, text in files if text is not None)


def keep_out(settings: Settings, memory: OpenMemory, phrase: str) -> Path:
    """Add a phrase to the project's learning.md; text that contains it is not remembered from now on."""
    path = learning_files(settings, memory)["learning.md of this project"]
    file = TextFile(path)
    text = (file.read() or "").rstrip()
    fresh = learning_instructions.with_never(text, phrase)
    if phrase not in learning_instructions.parse([("", fresh)]).never:
        raise InputError(
            f"{phrase!r} is not a phrase that rules can look for; give a few plain words of it"
        )
    make_private(path.parent)
    file.write(fresh)
    return path


class SourceReader:
    """Looks up sources: a session (`id`), one message of it (`id#message`), a log entry (`logs/….md:3`)."""

    def __init__(self, project: Project, log: Iterable[Utterance] = ()) -> None:
        self._project = project
        self._log = {entry.id: entry for entry in log}
        self._paths: Mapping[str, Path] | None = None

    def __call__(self, source: str) -> Sequence[Utterance]:
        """What the person said at a source; () when it cannot be looked up."""
        if (entry := self._log.get(source)) is not None:
            return (entry,)
        if self._paths is None:
            # Only by name: a path could be any file that a model found or wrote.
            self._paths = conversations(self._project, {})
        session, _, message = source.partition("#")
        try:
            messages = spoken(self._paths[session])
        except (KeyError, TranscriptError):
            return ()
        found = [one for one in messages if message in ("", one.id)]
        return tuple(one for one in utterances(found) if one.voice == "user")


@dataclass(frozen=True, slots=True)
class ScratchCopy:
    """A copy of the memory; its changed files are what a fork would save."""

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
class ExtractionStore:
    """A project's memory, to which extraction writes on behalf of a session."""

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

    def instructions(self) -> LearningInstructions:
        return instructions_for(self.settings, self.memory)

    def manifest(self) -> str:
        store = self.memory.store
        # A full list would fill the fork's window; it can search the directory.
        entries = store.some((), MOST_LISTED) if store.large else store.entries()
        return manifest.render(entry for entry in entries if entry.listed)

    def near(self, candidates: Sequence[Candidate]) -> list[Known]:
        files = {
            hit.key
            for candidate in candidates
            for hit in self.ranker.search(candidate.text, limit=_NEAR).hits
        }
        # The same may be said in other words: the newest are compared, too.
        files |= {entry.file for entry in self.memory.newest(MOST_WEIGHED)}
        topics = self.memory.topics
        # Only a person changes team memories, so extraction must not replace them.
        known = topics.some(sorted(files))
        entries = {entry.file: entry for entry in known if split(entry.file)[0] != "team"}
        found = ((file, topics.read(file)) for file in sorted(files & entries.keys()))
        return [Known(entries[file], stored.topic.body) for file, stored in found if stored]

    def save(self, candidate: Candidate, said_on: date | None) -> str | None:
        """Save through the keeper; announces what it declines."""
        proposal = proposal_of(candidate, self.session, said_on)
        if proposal is None:
            return None
        item = Item(proposal.id, proposal, self.clock.now())
        author = Author("extract", self.session, candidate.sources, self.model)
        # `decide` already checked whether an addition repeats or contradicts a memory.
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

    def propose(self, item: ToInbox, said_on: date | None) -> bool:
        """Put a proposal into the inbox, unless the person's settings decide it."""
        proposal = proposed_by(item, self.session, said_on)
        if proposal is None:
            return False
        try:
            kept = offer(self.inbox, self.memory, self.settings, proposal)
        except ReverieError as error:
            self.announce(TroubleNoted("inbox", str(error)))
            return False
        if isinstance(kept, NotKept) and not kept.rejected:
            self.announce(TroubleNoted("inbox", kept.reason))
        return isinstance(kept, Item)

    @contextmanager
    def scratch_copy(self) -> Iterator[ScratchCopy]:
        with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
            scratch = Scratch(Path(folder) / "work" / "bench", self.memory.store)
            scratch.open(scratch.snapshot())
            yield ScratchCopy(scratch)

    def _tell(self, reason: str) -> None:
        self.announce(TroubleNoted("extraction", f"not saved: {reason}"))


def proposal_of(candidate: Candidate, session: str, said_on: date | None) -> Proposal | None:
    """A candidate as a proposal; None if nothing would change."""
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
        sources=cited(session, candidate.sources),
        evidence=candidate.evidence,
        said=said_on.isoformat() if said_on else "",
        cues=candidate.cues,
    )


def proposed_by(item: ToInbox, session: str, said_on: date | None) -> Proposal | None:
    """The proposal that a person is to decide on, with the reason why."""
    proposal = None if item.candidate is None else proposal_of(item.candidate, session, said_on)
    if proposal is None:
        return None
    return replace(proposal, reason=item.reason, warning=item.warning, supported=item.supported)


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
    """The result of a conversation: saved files (or texts that would be saved), and what waits.

    `left` holds texts that the person's learning.md keeps out.
    """

    saved: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()


def spoken(transcript: Path) -> tuple[Message, ...]:
    """All messages of a transcript of any client.

    In a sub-agent's transcript the user side is the agent that started it, not the person.
    """
    loaded = transcripts.load(transcript)
    messages = [record.message for record in loaded.records if isinstance(record, Said)]
    if loaded.of_agent:
        messages = [replace(one, origin=_IN_AGENTS.get(one.origin, one.origin)) for one in messages]
    return tuple(messages)


@contextmanager
def open_store(
    app: Workspace, session: str, model: str, announce: Announce
) -> Iterator[ExtractionStore]:
    """Open this project's memory for extraction on behalf of a session."""
    memory = app.memory()
    with open_ranker(memory, app.clock, choose_embedder(app)) as ranker:
        yield ExtractionStore(
            memory,
            ranker,
            open_inbox(app, memory),
            app.settings,
            app.clock,
            session,
            model,
            announce,
        )


def learn(
    app: Workspace,
    session: str,
    new: Sequence[Message],
    earlier: Sequence[Message] = (),
    *,
    dry_run: bool = False,
) -> Learnt:
    """Extract from messages by rules alone; `earlier` messages were read before."""
    found = extraction.find(new, earlier)
    events: list[Event] = []
    done = Settled()
    try:
        if found:
            with open_store(app, session, "", events.append) as store:
                done = settle(store, found, (*earlier, *new), store.near(found), dry_run=dry_run)
    except (ReverieError, OSError) as error:
        if not dry_run:
            note_run(app, Run(app.clock.now(), session, len(found), trouble=str(error)))
        raise
    troubles = tuple(event.what for event in events if isinstance(event, TroubleNoted))
    if not dry_run:
        note_run(app, run_of(app.clock.now(), session, len(found), done, refused=len(troubles)))
    return Learnt(done.saved, done.waiting, done.left, troubles)


def run_of(at: float, session: str, found: int, done: Settled, *, refused: int = 0) -> Run:
    """A run for the log; `refused` counts what was declined and what the person keeps out."""
    return Run(at, session, found, len(done.saved), len(done.waiting), refused + len(done.left))
