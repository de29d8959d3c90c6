"""THE QUERY LOOP: takes one prompt through every stage until the model asks for no more tools.

    prompt ─▶ recall ─▶ [1 tool results ▸ snip ▸ 2 microcompaction ▸ collapse ▸ 3/4 compaction] ─▶ model ─▶ tools ─┐
                          ▲────────────────────────────────────────────────────────────────────────────────────────┘
                                                      after the turn, in the background: 5 extraction, 6 dreaming

`Session._answer` is that picture and `Session.make_room` its brackets, one line a stage. Each stage is
implemented in its own module.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from reverie.agent.fork import OUT_OF_REQUESTS, Limits, ask, calls_of
from reverie.agent.processes import Background, Broadcast
from reverie.agent.toolbox import Toolbox
from reverie.context.session_notes.update import NoteTaker
from reverie.context.snip import Folding
from reverie.context.upkeep import Upkeep
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import HeadFrozen, MemoriesShown, TodosSet
from reverie.core.messages import Attachment, Block, Message, Text, ToolResult, ToolUse
from reverie.core.request import Reply
from reverie.core.transcript import INTERRUPTED, answers_to, open_tool_uses
from reverie.core.window import Window
from reverie.errors import ModelError, Overloaded, PromptTooLong, ReplyBroken
from reverie.events import Event, MemoriesSurfaced, TroubleNoted, TurnEnded
from reverie.learning.dreaming.dreamer import Dreaming
from reverie.learning.extraction.fork import Learning
from reverie.ports import Model
from reverie.recall.pipeline import RecallOutcome
from reverie.session.hooks import SessionHooks
from reverie.session.prefetch import Late, Prefetch, Recaller
from reverie.subagents.crew import Place

CONTINUE = "[Cut off by the output limit. Go on exactly where you stopped.]"
STOPPED = "[Interrupted by the user]"
REFUSED = "refused by a hook"
TOO_MANY = "[Not run: this turn has reached its limit of requests]"


def always() -> bool:
    return True


def no_model() -> tuple[Model, Window] | None:
    return None


@dataclass(slots=True)
class Session:
    """An agent with memory in one conversation; `reminders` are added between its messages."""

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
    # Its place among other agents, by which it hires them and gets letters.
    place: Place | None = None
    # The person's own hooks, whether their start event has run, and what it returned.
    hooks: SessionHooks | None = None
    _opened: bool = False
    _opening: tuple[Attachment, ...] = ()
    # Whether an interrupt also ends background work.
    stops_all: bool = False
    # Recalled for the last message, but after its last request; shown with the next message.
    _late_memories: RecallOutcome | None = None

    def run(self, prompt: str, *blocks: Block) -> AsyncGenerator[Event, None]:
        """Run a turn for a prompt and yield its events. Closing the stream interrupts the turn."""
        return self._turn((Text(prompt), *blocks))

    def run_mail(self) -> AsyncGenerator[Event, None]:
        """Run a turn without a prompt, for letters from other agents, if there are any."""
        return self._turn(())

    async def _turn(self, prompt: tuple[Block, ...]) -> AsyncGenerator[Event, None]:
        work = asyncio.create_task(self._guarded(prompt))
        try:
            async with aclosing(self.announce.during(work)) as events:
                async for event in events:
                    yield event
        finally:
            work.cancel()
            await _wait_until_done(work)

    async def aclose(self, seconds: float = 60.0) -> None:
        """Wait for background work for at most `seconds`."""
        await self.background.drain(seconds)

    async def _answer(self, prompt: tuple[Block, ...]) -> None:
        if (said := await self.hooked_prompt(prompt)) is None:
            return
        message = self._record_prompt(prompt, said)
        if message is None:
            return
        turn = _Turn(self.limits)
        with self.prefetch(message) as memories:
            await self._recall(memories)
            while True:
                await self.make_room()
                reply = await self._ask(turn)
                self._after_reply(reply)
                if not turn.goes_on(reply) and not await self._continued_by_hook(turn, reply):
                    break
                await self._run_tools(reply)
                self.show(memories.at_boundary())
            self._late_memories = memories.at_boundary()
        self.learn(reply)
        self.announce(TurnEnded(turn.why))

    async def make_room(self) -> None:
        """Make the conversation fit, cheapest stage first: each may make the next unnecessary."""
        self.upkeep.store_tool_results()
        self.folding.snip()
        self.upkeep.microcompact()
        await self.folding.collapse()
        await self.upkeep.compact()
        self.upkeep.refuse_when_full()

    def learn(self, reply: Reply) -> None:
        """Start extraction, and dreaming when it is due."""
        if calls_of(reply):
            return
        if self.learning is not None:
            self.learning.after_turn()
        if self.dreaming is not None:
            self.dreaming.after_turn()

    async def hooked_prompt(self, prompt: tuple[Block, ...]) -> tuple[Attachment, ...] | None:
        """What the person's hooks add to a prompt; None if one of them refuses it."""
        if self.hooks is None or not prompt:
            return ()
        if not self._opened:
            self._opened = True
            resumed = bool(self.conversation.state.messages)
            self._opening = (await self.hooks.started(resumed=resumed)).attachment()
        text = "\n".join(block.text for block in prompt if isinstance(block, Text))
        said = await self.hooks.prompted(text)
        if said.refusal is not None:
            self.announce(TroubleNoted("hooks", f"the prompt was refused: {said.refusal}"))
            self.announce(TurnEnded(REFUSED))
            return None
        opening, self._opening = self._opening, ()
        return (*opening, *said.attachment())

    async def _continued_by_hook(self, turn: _Turn, reply: Reply) -> bool:
        """Whether a stop hook continues the turn; the model is told the reason."""
        if self.hooks is None or turn.exhausted:
            return False
        if not (why := await self.hooks.stopped(reply.text)):
            return False
        self.conversation.say(Text(f"[Stop hook: {why}]"), origin="reverie")
        return True

    def _record_prompt(
        self, prompt: tuple[Block, ...], added: tuple[Attachment, ...]
    ) -> Message | None:
        """Journal the prompt before anything can fail; the message that this turn answers."""
        self._answer_open_calls(INTERRUPTED)
        message = self.conversation.say(*prompt) if prompt else None
        for one in added:
            self.conversation.say(one, origin="reverie")
        reminders = [self.conversation.say(one, origin="reverie") for one in self.reminders()]
        return message or next(iter(reminders), None)

    def prefetch(self, message: Message) -> Prefetch:
        """Start recall for a message; it runs beside the turn."""
        return Prefetch(
            self.recall,
            message,
            self.announce,
            enabled=self.recall_on(),
            late=self.late,
            tools=self.upkeep.recent_tools(),
        )

    async def recall_after_tools(
        self, calls: Sequence[ToolUse], results: Sequence[ToolResult]
    ) -> None:
        """Show the memories about files that tools touched, and about the errors of failed commands."""
        if self.recall is not None and self.recall_on():
            self.show(await self.recall.after_tools(calls, results))

    def show(self, found: RecallOutcome | None) -> None:
        """Append recalled memories after the message, so that the cached prefix is unchanged."""
        if found is None or found.attachment is None:
            return
        self.conversation.say(found.attachment, origin="reverie")
        size = len(found.attachment.text.encode("utf-8", "surrogatepass"))
        self.conversation.record(MemoriesShown(found.files, size))
        self.announce(MemoriesSurfaced(found.files, found.how))

    async def _recall(self, memories: Prefetch) -> None:
        """Show what the last turn recalled too late, then what this turn recalls in time."""
        late, self._late_memories = self._late_memories, None
        self.show(late)
        self.show(await memories.ready(self.limits.recall_seconds))

    def _after_reply(self, reply: Reply) -> None:
        """Count the memories that the reply uses, and update the session notes when due."""
        if self.recall is not None:
            self.recall.replied(reply.text)
        self.notes.start_when_due()

    async def _ask(self, turn: _Turn) -> Reply:
        """The model's reply; retries once after compacting, once unchanged, and with the fallback."""
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
                if not self._may_repeat(turn, error):
                    raise
            except Overloaded as error:
                if self._change_model(error):
                    continue
                # Before the reply it was asked for again and again already, with pauses.
                if not (error.in_reply and self._may_repeat(turn, error)):
                    raise

    def _may_repeat(self, turn: _Turn, error: ModelError) -> bool:
        """Ask once more in a turn after a reply that was not received to its end."""
        if turn.repeated:
            return False
        turn.repeated = True
        self.announce(TroubleNoted("model", f"{error}; asking again"))
        return True

    def _change_model(self, error: Overloaded) -> bool:
        """Switch to the fallback model, which has nothing cached."""
        found = self.change_to_fallback()
        if found is None:
            return False
        model, window = found
        self.announce(TroubleNoted("model", f"{error}; going on with {model.name}"))
        self.conversation.change_model(model)
        self.upkeep.window = self.folding.window = window
        self.conversation.record(HeadFrozen(self.upkeep.head()))
        return True

    async def _run_tools(self, reply: Reply) -> None:
        """Run the tools that the reply calls; ask for the rest of a reply that was cut off."""
        calls = calls_of(reply)
        if not calls:
            if reply.stop == "max_tokens":
                self.conversation.say(Text(CONTINUE), origin="reverie")
            return
        results = await self.toolbox.run(calls)
        self.conversation.say(*results, *self.reminders(), origin="tool")
        await self.recall_after_tools(calls, results)
        todos = tuple((todo.text, todo.status) for todo in self.toolbox.workplace.todos)
        if todos != self.conversation.state.todos:
            self.conversation.record(TodosSet(todos))

    async def _guarded(self, prompt: tuple[Block, ...]) -> None:
        """Answer, and leave a history that can be sent again however the turn ends."""
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
                self.place.identity.name, "the user interrupted everything"
            )

    def _answer_open_calls(self, reason: str) -> None:
        """Add results for calls without one: the real result if the tool ran, else the reason."""
        waiting = open_tool_uses(self.conversation.state.messages)
        if waiting:
            done = self.toolbox.done
            results = (done.get(r.tool_use_id, r) for r in answers_to(waiting, reason))
            self.conversation.say(*results, origin="reverie")


async def _wait_until_done(work: asyncio.Task[None]) -> None:
    """Wait until a task has ended, even when the waiting is cancelled several times."""
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
    """How much of its limits one turn has used."""

    limits: Limits
    requests: int = 0
    continuations: int = 0
    shortened: bool = False
    repeated: bool = False
    why: str = ""

    @property
    def exhausted(self) -> bool:
        return self.requests >= self.limits.requests

    def goes_on(self, reply: Reply) -> bool:
        """Whether the turn needs another request after this reply."""
        self.why = reply.stop
        if self.exhausted:
            self.why = OUT_OF_REQUESTS
            return False
        if reply.stop == "max_tokens" and not calls_of(reply):
            self.continuations += 1
            return self.continuations <= self.limits.continuations
        return bool(calls_of(reply)) or reply.stop == "paused"
