"""THE QUERY LOOP. One message from a person, through every stage, until there is nothing to do.

    prompt ─▶ recall ─▶ [1 tool results ▸ snip ▸ 2 microcompaction ▸ collapse ▸ 3/4 compaction] ─▶ model ─▶ tools ─┐
                          ▲────────────────────────────────────────────────────────────────────────────────────────┘

`Session._answer` is that picture and `Session.make_room` its brackets, one line a stage. What a stage
does is in its own module.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from reverie.agent.background import Background, Broadcast
from reverie.agent.toolbox import Toolbox
from reverie.agent.turns import OUT_OF_REQUESTS, Limits, ask, calls_of
from reverie.context.folding import Folding
from reverie.context.session_notes.note_taking import NoteTaker
from reverie.context.upkeep import Upkeep
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import HeadFrozen, MemoriesShown, TodosSet
from reverie.core.messages import Attachment, Block, Message, Text, ToolUse
from reverie.core.request import Reply
from reverie.core.transcript import INTERRUPTED, answers_to, open_tool_uses
from reverie.core.window import Window
from reverie.errors import Overloaded, PromptTooLong, ReplyBroken
from reverie.events import Event, MemoriesSurfaced, TroubleNoted, TurnEnded
from reverie.learning.dreaming.in_session import Dreaming
from reverie.learning.extraction.fork import Learning
from reverie.ports import Model
from reverie.recall.pipeline import RecallOutcome
from reverie.session.prefetch import Late, Prefetch, Recaller
from reverie.subagents.crew import Place

CONTINUE = "[Cut off by the output limit. Go on exactly where you stopped.]"
STOPPED = "[Interrupted by the user]"
TOO_MANY = "[Not run: this turn has reached its limit of requests]"


def always() -> bool:
    return True


def no_model() -> tuple[Model, Window] | None:
    return None


@dataclass(slots=True)
class Session:
    """An agent with memory, in one conversation; `news` is what it must be told between messages."""

    conversation: Conversation
    toolbox: Toolbox
    upkeep: Upkeep
    folding: Folding
    notes: NoteTaker
    background: Background
    announce: Broadcast
    learning: Learning | None = None
    dreaming: Dreaming | None = None
    recall: Recaller | None = None
    recall_on: Callable[[], bool] = always
    late: Late = "inject"
    reminders: Callable[[], tuple[Attachment, ...]] = tuple
    change_to_fallback: Callable[[], tuple[Model, Window] | None] = no_model
    limits: Limits = field(default_factory=Limits)
    # Its place among other agents, by which it hires and hears from them.
    place: Place | None = None
    # An interrupt ends background work, too.
    stops_all: bool = False
    # Found for the last message after its turn had no boundary left.
    _late_memories: RecallOutcome | None = None

    def run(self, prompt: str, *blocks: Block) -> AsyncGenerator[Event, None]:
        """Say something, and hear everything that follows. Closing the stream interrupts the turn."""
        return self._turn((Text(prompt), *blocks))

    def attend(self) -> AsyncGenerator[Event, None]:
        """A turn for what others have to tell, if they do: nobody said anything."""
        return self._turn(())

    async def _turn(self, prompt: tuple[Block, ...]) -> AsyncGenerator[Event, None]:
        work = asyncio.create_task(self._guarded(prompt))
        try:
            async with aclosing(self.announce.during(work)) as events:
                async for event in events:
                    yield event
        finally:
            work.cancel()
            await _ended(work)

    async def aclose(self, seconds: float = 60.0) -> None:
        """Let background work finish, for so long."""
        await self.background.drain(seconds)

    async def _answer(self, prompt: tuple[Block, ...]) -> None:
        asked = self._hear(prompt)
        if asked is None:
            return
        self._show_late_memories()
        with self.prefetch(asked) as memories:
            self.show(await memories.ready(self.limits.recall_seconds))
            turn = _Turn(self.limits)
            while True:
                await self.make_room()
                reply = await self._ask(turn)
                self._count_what_helped(reply)
                self.notes.start_when_due()
                if not turn.goes_on(reply):
                    break
                await self._go_on(reply)
                self.show(memories.at_boundary())
            self._late_memories = memories.at_boundary()
        self.learn(reply)
        self.announce(TurnEnded(turn.why))

    async def make_room(self) -> None:
        """Everything before a request: each stage keeps the next, dearer one from its work."""
        self.upkeep.store_tool_results()
        self.folding.snip()
        self.upkeep.microcompact()
        await self.folding.collapse()
        await self.upkeep.compact()
        self.upkeep.refuse_when_full()

    def learn(self, reply: Reply) -> None:
        """What the turn taught goes into memory, and memory is put in order when it is time."""
        if calls_of(reply):
            return
        if self.learning is not None:
            self.learning.after_turn()
        if self.dreaming is not None:
            self.dreaming.after_turn()

    def _hear(self, prompt: tuple[Block, ...]) -> Message | None:
        """The person's words are written down before anything else can fail."""
        self._answer_open_calls(INTERRUPTED)
        asked = self.conversation.say(*prompt) if prompt else None
        told = [self.conversation.say(news, origin="reverie") for news in self.reminders()]
        return asked or next(iter(told), None)

    def prefetch(self, asked: Message) -> Prefetch:
        """Look for the memories that fit a message, beside everything else."""
        return Prefetch(
            self.recall,
            asked,
            self.announce,
            enabled=self.recall_on(),
            late=self.late,
            tools=self.upkeep.recent_tools(),
        )

    def show(self, found: RecallOutcome | None) -> None:
        """Memories stand behind the message they belong to; the prefix before it stays as it was."""
        if found is None or found.attachment is None:
            return
        self.conversation.say(found.attachment, origin="reverie")
        size = len(found.attachment.text.encode("utf-8", "surrogatepass"))
        self.conversation.record(MemoriesShown(found.files, size))
        self.announce(MemoriesSurfaced(found.files, found.how))

    def _show_late_memories(self) -> None:
        late, self._late_memories = self._late_memories, None
        self.show(late)

    def _count_what_helped(self, reply: Reply) -> None:
        if self.recall is not None:
            self.recall.replied(reply.text)

    async def _ask(self, turn: _Turn) -> Reply:
        """The model's reply. What a provider refuses is mended once: shorter, again, or elsewhere."""
        while True:
            try:
                turn.requests += 1
                return await ask(self.conversation, self.announce)
            except PromptTooLong as error:
                if turn.shortened:
                    raise
                turn.shortened = True
                await self.upkeep.compact_because(str(error), error.tokens, error.limit)
                self.folding.window = self.upkeep.window
            except ReplyBroken as error:
                if turn.repeated:
                    raise
                turn.repeated = True
                self.announce(TroubleNoted("model", f"{error}; asking again"))
            except Overloaded as error:
                if not self._change_model(error):
                    raise

    def _change_model(self, error: Overloaded) -> bool:
        """Go on with the fallback model; the cache belongs to the other one."""
        found = self.change_to_fallback()
        if found is None:
            return False
        model, window = found
        self.announce(TroubleNoted("model", f"{error}; going on with {model.name}"))
        self.conversation.change_model(model)
        self.upkeep.window = self.folding.window = window
        self.conversation.record(HeadFrozen(self.upkeep.head()))
        return True

    async def _go_on(self, reply: Reply) -> None:
        """Run what was asked for; a reply that was cut off is asked to go on."""
        calls = calls_of(reply)
        if calls:
            await self._run_tools(calls)
        elif reply.stop == "max_tokens":
            self.conversation.say(Text(CONTINUE), origin="reverie")

    async def _run_tools(self, calls: tuple[ToolUse, ...]) -> None:
        results = await self.toolbox.run(calls)
        self.conversation.say(*results, *self.reminders(), origin="tool")
        todos = tuple((todo.text, todo.status) for todo in self.toolbox.workplace.todos)
        if todos != self.conversation.state.todos:
            self.conversation.record(TodosSet(todos))

    async def _guarded(self, prompt: tuple[Block, ...]) -> None:
        """However a turn ends, its history can be sent again."""
        try:
            await self._answer(prompt)
            self._answer_open_calls(TOO_MANY)
        except asyncio.CancelledError:
            self._answer_open_calls(INTERRUPTED)
            self.conversation.say(Text(STOPPED), origin="reverie")
            if self.stops_all:
                await self._stop_all()
            raise
        except BaseException:
            self._answer_open_calls(INTERRUPTED)
            raise

    async def _stop_all(self) -> None:
        await self.background.cancel()
        if self.place is not None:
            await self.place.crew.stop_children_of(
                self.place.seat.name, "the user interrupted everything"
            )

    def _answer_open_calls(self, reason: str) -> None:
        """What was done before an interrupt is told as it is; the rest gets the reason."""
        waiting = open_tool_uses(self.conversation.state.messages)
        if waiting:
            done = self.toolbox.done
            found = (done.get(r.tool_use_id, r) for r in answers_to(waiting, reason))
            self.conversation.say(*found, origin="reverie")


async def _ended(work: asyncio.Task[None]) -> None:
    """Wait until it has unwound, however often somebody interrupts the waiting."""
    interrupted = False
    while not work.done():
        try:
            await asyncio.wait({work})
        except asyncio.CancelledError:
            interrupted = True
    if interrupted:
        raise asyncio.CancelledError


@dataclass(slots=True)
class _Turn:
    """What one turn has used up."""

    limits: Limits
    requests: int = 0
    continuations: int = 0
    shortened: bool = False
    repeated: bool = False
    why: str = ""

    def goes_on(self, reply: Reply) -> bool:
        """Is there more to do after this reply?"""
        self.why = reply.stop
        if self.requests >= self.limits.requests:
            self.why = OUT_OF_REQUESTS
            return False
        if reply.stop == "max_tokens" and not calls_of(reply):
            self.continuations += 1
            return self.continuations <= self.limits.continuations
        return bool(calls_of(reply)) or reply.stop == "paused"
