"""Layer 5 in a session: after a turn, saves candidates to memory or proposes them in the inbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from reverie.agent.fork import SideAgents, Task
from reverie.agent.permissions import fenced
from reverie.agent.processes import Background
from reverie.agent.tools import FolderCopy
from reverie.context import NotDue
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import Extracted
from reverie.core.messages import Message
from reverie.core.usage import EXTRACT, Prices
from reverie.errors import ReverieError
from reverie.events import Announce, MemoriesSaved, TroubleNoted
from reverie.learning import extraction
from reverie.learning.extraction import (
    Candidate,
    Conditions,
    CopiedStore,
    Known,
    LearningStore,
    SettlingStore,
)
from reverie.learning.extraction.candidates import Add, Operation, Supersede, Update
from reverie.learning.extraction.prompts import (
    Offer,
    Spending,
    affordable,
    as_texts,
    cited,
    directive,
    occasion,
    offers,
    past_directive,
)
from reverie.learning.extraction.reading import Reader, in_a_thread
from reverie.learning.extraction.rules.sentences import sentences
from reverie.learning.pending import Unread, UnreadTurns
from reverie.memory.format.kinds import infer_type
from reverie.memory.format.topic import Topic
from reverie.text.dates import absolute_dates

NAME = EXTRACT

# One turn for all reads, one for all writes, and some to correct mistakes.
_MOST_TURNS = 5
# After this many turns that stated something, ask a model without waiting for a pause.
MOST_TURNS = 4


@dataclass(slots=True)
class Learning:
    """Extracts memories after a turn. One run at a time; turns that end meanwhile join it.

    The rules read every turn at once. Turns for a model are gathered until the person pauses for
    `pause` seconds, the session ends, or `MOST_TURNS` turns stated something, and until reading
    them costs at most `share` of what the session has cost since the last run. Turns left unread
    wait for the next session (`unread`).
    """

    conversation: Conversation
    store: LearningStore
    background: Background
    announce: Announce
    on: Callable[[str], bool]
    forks: SideAgents | None = None
    every: int = 1
    pause: float = 0.0
    share: float = 1.0
    unread: UnreadTurns | None = None
    # Agents that see only the new messages, and the prices of their model.
    apart: SideAgents | None = None
    apart_prices: Prices | None = None
    # Finds candidates in new messages; the second argument is the messages before them.
    read: Reader = in_a_thread
    # Logs a run: how many texts were found, their outcome, why it failed.
    note: Callable[[int, Settled, str], None] = lambda found, done, trouble: None
    _turns: int = 0
    _again: bool = False
    _trouble: str = ""
    _gathered: list[tuple[Message, ...]] = field(default_factory=list)
    # Gathered turns of earlier sessions; None before they were looked for.
    _carried: list[Unread] | None = None
    # What the conversation has cost since a model last read it.
    _spending: Spending = field(default_factory=Spending)
    # The last message that the rules have read, and all that they have.
    _read_up_to: str | None = None
    _seen: set[str] = field(default_factory=set)
    # Set when a turn ended during a run, and when the session ends.
    _turn_ended: asyncio.Event = field(default_factory=asyncio.Event)
    _ending: bool = False

    def after_turn(self) -> None:
        """Start extraction if it is due, after a reply without tool calls."""
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
            self._turns, self._ending = 0, False
            self.background.start(NAME, self._run(), stop=self._end)
        elif running and self._turns >= self.every:
            self._again = True
            self._turn_ended.set()

    def _end(self) -> None:
        """The session ends: read what was gathered."""
        self._ending = True
        self._turn_ended.set()

    async def _run(self) -> None:
        while True:
            self._again = False
            await self._learn()
            if self._gathered and await self._paused():
                if self._affordable():
                    await self._ask()
                elif self._ending:
                    self._leave_unread()
                else:
                    await self._next_turn()
            if not self._again and not (self._ending and self._gathered):
                return

    async def _next_turn(self) -> None:
        """Wait until another turn ends, or the session."""
        if not self._again and not self._ending:
            self._turn_ended.clear()
            await self._turn_ended.wait()

    async def _paused(self) -> bool:
        """Wait for a pause of the person; False when another turn ended before."""
        if self._again:
            return False
        ask_at_once = self._ending or self._enough
        if ask_at_once:
            return True
        self._turn_ended.clear()
        try:
            await asyncio.wait_for(self._turn_ended.wait(), self.pause)
        except TimeoutError:
            return True
        return self._ending and not self._again

    @property
    def _enough(self) -> bool:
        said = [m for turn in self._gathered for m in turn if m.origin == "user"]
        return len(said) >= MOST_TURNS

    async def _learn(self) -> None:
        """Save what the rules find in the new turns; gather the turns that state something."""
        new = self._new()
        if not new:
            return
        self._read_up_to = new[-1].id
        self._seen.update(message.id for message in new)
        await self._carry_over()
        if extraction.agent_wrote(new, *map(str, self.store.directories)):
            # The agent saved memories itself; extraction skips these turns.
            self._settle()
            self.note(0, Settled(), "")
            return
        visible = tuple(self.conversation.state.messages)
        found = await self.read(new, visible[: len(visible) - len(new)])
        done = await self._keep(found, visible)
        if self.forks is not None and occasion(new) is not None:
            self._gathered.append(new)
        self._settle()
        if found or not self._gathered:
            self.note(len(found), done, "")

    def _settle(self) -> None:
        """Move the journal's cursor unless turns still wait for a model, so that a crash loses none."""
        if not self._gathered and self._read_up_to is not None:
            self.conversation.record(Extracted(self._read_up_to))

    async def _carry_over(self) -> None:
        """Add the turns that earlier sessions left unread; only a separate agent can read those."""
        if self._carried is not None or self.unread is None or self.apart is None:
            return
        self.unread.drop([self.conversation.state.session])
        self._carried = await asyncio.to_thread(self.unread.load)
        self._gathered[:0] = [one.messages for one in self._carried]

    def _leave_unread(self) -> None:
        """Keep the turns of this session for the next one. The journal's cursor stays."""
        own = [message for turn in self._gathered[len(self._carried or ()) :] for message in turn]
        self._gathered.clear()
        if self.unread is None or not own:
            self._settle()
            return
        self.unread.add(self.conversation.state.session, own, self._spending.dollars)

    async def _ask(self) -> None:
        """Ask a model what to remember of the gathered turns, and save it."""
        new = tuple(message for turn in self._gathered for message in turn)
        self._gathered.clear()
        self._spending.dollars, self._trouble = 0.0, ""
        proposed = await self._proposals(new)
        if self.unread is not None and self._carried and not self._trouble:
            self.unread.drop(one.session for one in self._carried)
        self._carried = []
        shown = self.conversation.state.messages
        there = {message.id for message in shown}
        # A compaction may have taken some of them out of the conversation.
        visible = (*(message for message in new if message.id not in there), *shown)
        done = await self._keep(proposed, visible)
        self._settle()
        self.note(len(proposed), done, self._trouble)

    async def _keep(self, found: Sequence[Candidate], visible: Sequence[Message]) -> Settled:
        """Save what may be saved, and propose the rest to the person."""
        if not found:
            return Settled()
        known = await asyncio.to_thread(self.store.near, found)
        done = settle(self.store, found, visible, known)
        if done.saved or done.waiting:
            self.announce(MemoriesSaved(tuple(dict.fromkeys(done.saved)), len(done.waiting)))
        return done

    async def _proposals(self, new: Sequence[Message]) -> list[Candidate]:
        """What a side agent would save; nothing if it fails."""
        agents, apart = self._agents(new)
        if agents is None:
            return []
        try:
            return await proposals(agents, self.store, new, past=apart)
        except ReverieError as error:
            self._trouble = str(error)
            self.announce(TroubleNoted("extraction", f"{error}; only what the rules found is kept"))
            return []

    def _agents(self, new: Sequence[Message]) -> tuple[SideAgents | None, bool]:
        """The cheaper of a fork on the cached prefix and an agent that reads the new messages alone."""
        if self.apart is None or (not self._carried and not self._offer(new).apart_is_cheaper):
            return self.forks, False
        return self.apart, True

    def _offer(self, new: Sequence[Message]) -> Offer:
        """The prices of both; 0 where unknown."""
        prices, state = self.conversation.model.prices, self.conversation.state
        if prices is None or self.apart_prices is None:
            return Offer(0.0, 0.0)
        return offers(as_texts(new), state.tokens, prices, self.apart_prices)

    def _affordable(self) -> bool:
        """Whether a model may read the gathered turns now, by their price."""
        prices = self.conversation.model.prices
        if prices is None:
            return True
        carried = self._carried or ()
        spent = self._spending.follow(self.conversation.state.usages, prices)
        earlier = sum(one.spent for one in carried)
        offer = self._offer([message for turn in self._gathered for message in turn])
        price = offer.apart if carried else offer.price
        return affordable(price, spent, self.share, ending=self._ending, carried=earlier)

    def _new(self) -> tuple[Message, ...]:
        state = self.conversation.state
        read = self._read_up_to if self._gathered else state.extracted_up_to
        new = extraction.new_messages(state.messages, read or state.extracted_up_to)
        # A compaction may have taken the last one read out of the conversation.
        return tuple(message for message in new if message.id not in self._seen)


@dataclass(frozen=True, slots=True)
class Settled:
    """The outcome: saved files, texts that wait, and texts that learning.md keeps out (`left`)."""

    saved: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def settle(
    store: SettlingStore,
    found: Sequence[Candidate],
    messages: Sequence[Message],
    known: Sequence[Known],
    *,
    dry_run: bool = False,
) -> Settled:
    """Check candidates by the person's instructions, trust and support, then save or propose them.

    A dry run returns the texts that would be saved, and saves nothing.
    """
    wanted = store.instructions()
    left = tuple(one.text for one in found if wanted.keeps_out(one.text))
    wished = [_dated(one, messages) for one in found if one.text not in left]
    planned = extraction.plan(wished, messages, known)
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


def _dated(candidate: Candidate, messages: Sequence[Message]) -> Candidate:
    """Compare with the days that memories name, so that "last week" matches the stored date."""
    day = day_of(candidate, messages)
    return replace(candidate, text=absolute_dates(candidate.text, day)[0]) if day else candidate


async def proposals(
    agents: SideAgents, store: CopiedStore, new: Sequence[Message], *, past: bool = False
) -> list[Candidate]:
    """What a side agent would save of these messages; of a `past` conversation it gets the full text."""
    instructions = store.instructions().section
    with store.scratch_copy() as scratch_copy:
        make = past_directive if past else directive
        prompt = make(new, str(store.directory), store.manifest(), instructions=instructions)
        workshop = FolderCopy(store.directory, scratch_copy.folder)
        may = fenced(scratch_copy.folder)
        task = Task(NAME, prompt, may, _MOST_TURNS, workshop=workshop, ends_with="MEMORY.md")
        await agents.run(task)
        return [proposed(topic, new, before) for topic, before in scratch_copy.written()]


def proposed(topic: Topic, messages: Sequence[Message], before: Topic | None = None) -> Candidate:
    """Read a file that the fork wrote, or changed from `before`, as a candidate with its new text."""
    fresh = _added(topic.body, before.body if before else "")
    text = " ".join(fresh) if before else topic.body.strip()
    return Candidate(
        text=text,
        type=topic.type or infer_type(text),
        sources=cited(topic.source, messages),
        origin="assistant",
        operation=_operation(topic, before),
        name=_changed(topic.name, before.name if before else ""),
        description=_changed(topic.description, before.description if before else ""),
        cues=tuple(cue for cue in topic.cues if before is None or cue not in before.cues),
    )


def _operation(topic: Topic, before: Topic | None) -> Operation:
    if before is not None:
        return Update(before.file)
    return Supersede(topic.supersedes[0]) if topic.supersedes else Add()


def _added(new: str, old: str) -> list[str]:
    known = set(sentences(old))
    return [sentence for sentence in sentences(new) if sentence not in known]


def _changed(new: str, old: str) -> str:
    return "" if new == old else new


def day_of(candidate: Candidate | None, messages: Sequence[Message]) -> date | None:
    """The day on which it was said, from which "tomorrow" counts."""
    sources = () if candidate is None else candidate.sources
    said_on = [message.at for message in messages if message.id in sources]
    return datetime.fromtimestamp(max(said_on), UTC).date() if said_on else None
