"""Layer 5 at work in a session: after a turn, what should last goes into memory, or to the inbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Protocol

from reverie.agent.background import Background
from reverie.agent.fork import SideAgents, Task
from reverie.agent.permissions import fenced
from reverie.agent.tools import FolderCopy
from reverie.context import NotDue
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import Extracted
from reverie.core.messages import Message
from reverie.core.usage import EXTRACT
from reverie.errors import ReverieError
from reverie.events import Announce, MemoriesSaved, TroubleNoted
from reverie.learning import extraction
from reverie.learning.extraction import Candidate, Conditions, Known, ToInbox
from reverie.learning.extraction.prompts import directive, past_directive
from reverie.learning.extraction.proposals import proposed
from reverie.memory.format.instructions import LearningInstructions
from reverie.memory.format.topic import Topic

NAME = EXTRACT

# All reads in one turn, all writes in the next, and room to mend mistakes.
_MOST_TURNS = 5


class MemoryCopy(Protocol):
    """A copy of the memory in which a fork writes what it would save."""

    @property
    def folder(self) -> Path: ...

    def written(self) -> Sequence[tuple[Topic, Topic | None]]:
        """Each memory the fork wrote or changed, and what it was before."""
        ...


class LearningStore(Protocol):
    """The memory, as far as learning needs it."""

    @property
    def directory(self) -> Path:
        """Where the project's memories are, of which a fork gets a copy."""
        ...

    @property
    def directories(self) -> Sequence[Path]:
        """Everywhere the agent itself may have saved."""
        ...

    def instructions(self) -> LearningInstructions:
        """What the person wants kept, and what never."""
        ...

    def manifest(self) -> str:
        """Every memory in a line, for the fork."""
        ...

    def near(self, candidates: Sequence[Candidate]) -> Sequence[Known]:
        """The memories that these may repeat or contradict."""
        ...

    def save(self, candidate: Candidate, said_on: date | None) -> str | None:
        """Write what was said that day; gives its file, or None when it is not saved after all."""
        ...

    def propose(self, item: ToInbox, said_on: date | None) -> bool:
        """Keep it for a person to decide; False when it does not wait after all."""
        ...

    def scratch_copy(self) -> AbstractContextManager[MemoryCopy]: ...


@dataclass(slots=True)
class Learning:
    """Reads what is new after a turn. One run at a time; turns that end meanwhile get one more."""

    conversation: Conversation
    store: LearningStore
    background: Background
    announce: Announce
    on: Callable[[str], bool]
    forks: SideAgents | None = None
    every: int = 1
    _turns: int = 0
    _again: bool = False

    def after_turn(self) -> None:
        """A turn ended with a reply that calls no tool."""
        self._turns += 1
        running = NAME in self.background.running
        verdict = extraction.due(
            Conditions(
                memory_on=True,
                extract_on=self.on("extract"),
                running=running,
                new_messages=len(self._new()),
                turns=self._turns,
                every=self.every,
            )
        )
        if not isinstance(verdict, NotDue):
            self._turns = 0
            self.background.start(NAME, self._run())
        elif running and self._turns >= self.every:
            self._again = True

    async def _run(self) -> None:
        while True:
            self._again = False
            await self._learn()
            if not self._again:
                return

    async def _learn(self) -> None:
        new = self._new()
        if not new:
            return
        if extraction.agent_wrote(new, *map(str, self.store.directories)):
            # The agent saved by itself; the two never write about the same turn.
            self.conversation.record(Extracted(new[-1].id))
            return
        visible = tuple(self.conversation.state.messages)
        earlier = visible[: len(visible) - len(new)]
        # What the person plainly asked for is saved first: a fork may be cancelled.
        await self._keep(extraction.find(new, earlier), visible)
        await self._keep(await self._proposals(new), visible)
        self.conversation.record(Extracted(new[-1].id))

    async def _keep(self, found: Sequence[Candidate], visible: Sequence[Message]) -> None:
        """Save what may be saved, and put the rest before a person."""
        if not found:
            return
        known = await asyncio.to_thread(self.store.near, found)
        done = settle(self.store, found, visible, known)
        if done.saved or done.waiting:
            self.announce(MemoriesSaved(tuple(dict.fromkeys(done.saved)), len(done.waiting)))

    async def _proposals(self, new: Sequence[Message]) -> list[Candidate]:
        """What a fork would save; when it fails, the rules have found what they could."""
        if self.forks is None:
            return []
        try:
            return await proposals(self.forks, self.store, new)
        except ReverieError as error:
            self.announce(TroubleNoted("extraction", f"{error}; only what the rules found is kept"))
            return []

    def _new(self) -> tuple[Message, ...]:
        state = self.conversation.state
        return extraction.new_messages(state.messages, state.extracted_up_to)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of candidates: files that were saved, texts that wait, and texts nobody wants kept."""

    saved: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def settle(
    store: LearningStore,
    found: Sequence[Candidate],
    messages: Sequence[Message],
    known: Sequence[Known],
    *,
    dry_run: bool = False,
) -> Settled:
    """The one way from candidates to memory: the person's instructions, trust, support, then the keeper.

    A dry run gives the texts that would be saved, and saves nothing.
    """
    wanted = store.instructions()
    left = tuple(one.text for one in found if wanted.keeps_out(one.text))
    planned = extraction.plan((one for one in found if one.text not in left), messages, known)
    waiting = [item for item in planned.inbox if item.candidate is not None]
    texts = [item.candidate.text for item in waiting if item.candidate is not None]
    if dry_run:
        return Settled(tuple(one.text for one in planned.saves), tuple(texts), left)
    saved = [store.save(one, day_of(one, messages)) for one in planned.saves]
    kept = [store.propose(item, day_of(item.candidate, messages)) for item in waiting]
    return Settled(
        tuple(file for file in saved if file is not None),
        tuple(text for text, waits in zip(texts, kept, strict=True) if waits),
        left,
    )


async def proposals(
    agents: SideAgents, store: LearningStore, new: Sequence[Message], *, past: bool = False
) -> list[Candidate]:
    """What a side agent would save of these messages; of a `past` conversation it is told all words."""
    instructions = store.instructions().section
    with store.scratch_copy() as scratch_copy:
        make = past_directive if past else directive
        prompt = make(new, str(store.directory), store.manifest(), instructions=instructions)
        workshop = FolderCopy(store.directory, scratch_copy.folder)
        may = fenced(scratch_copy.folder)
        await agents.run(Task(NAME, prompt, may, _MOST_TURNS, workshop=workshop))
        return [proposed(topic, new, before) for topic, before in scratch_copy.written()]


def day_of(candidate: Candidate | None, messages: Sequence[Message]) -> date | None:
    """When it was said: "tomorrow" counts from there."""
    sources = () if candidate is None else candidate.sources
    said_on = [message.at for message in messages if message.id in sources]
    return datetime.fromtimestamp(max(said_on), UTC).date() if said_on else None
