"""Applies layers 1, 2 and 4 to a conversation in turn and records what they decide."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from reverie.agent.fork import Forks, Task
from reverie.agent.toolbox import Toolbox
from reverie.context import NotDue, compaction, microcompaction, tool_results
from reverie.context.compaction import CompactionTools, FileReader, lean
from reverie.context.compaction.lean import LeanPolicy, Moment
from reverie.context.compaction.plan import Compaction, Failed, Mode, Situation, Trigger, Whole
from reverie.context.compaction.plan import due as compaction_due
from reverie.context.facts.calls import action_of, prints_files
from reverie.context.facts.outcomes import Todo
from reverie.context.microcompaction import (
    Clear,
    EditCache,
    Policy,
    RequestConditions,
    ToolResultLedger,
)
from reverie.context.session_notes.update import NoteTaker
from reverie.context.tool_results import PRINTING, Budget
from reverie.conversation.conversation import Conversation
from reverie.conversation.records import (
    CacheEdited,
    Compacted,
    CompactionFailed,
    HeadFrozen,
    Replaced,
    ToolResultsCleared,
)
from reverie.core.messages import Message, ToolUse
from reverie.core.request import Head
from reverie.core.window import Window
from reverie.errors import ReverieError, WindowFull
from reverie.events import Announce, LayerFired, TroubleNoted
from reverie.ports import BlobStore, Scrubber

COMPACT = "compact"
# After a compaction by price did not pay, try again once one with a result smaller by this many
# tokens would pay.
_SMALLER = 2_000


@dataclass(slots=True)
class Upkeep:
    """Keeps one conversation within its window. `head` renders the head again after a compaction."""

    conversation: Conversation
    toolbox: Toolbox
    window: Window
    blobs: BlobStore
    notes: NoteTaker
    on: Callable[[str], bool]
    announce: Announce
    head: Callable[[], Head]
    transcript: str = ""
    forks: Forks | None = None
    budget: Budget = field(default_factory=Budget)
    policy: Policy = field(default_factory=Policy)
    lean: LeanPolicy = field(default_factory=LeanPolicy)
    scrubber: Scrubber | None = None
    # Asked before a compaction, with its trigger and instructions; returns the instructions to use.
    before_compaction: Callable[[str, str], Awaitable[str]] | None = None
    _ledger: ToolResultLedger = field(init=False)
    # The tokens that the last compaction that did not pay would have left.
    _unpaid: int | None = None
    # What the first `_counted` requests have cost.
    _paid: float = 0.0
    _counted: int = 0

    def __post_init__(self) -> None:
        declared = (name for name, tool in self.toolbox.tools.items() if tool.clearable)
        self._ledger = ToolResultLedger(frozenset(declared))

    def store_tool_results(self) -> None:
        """Layer 1: store long results in files before they are first sent."""
        if not self.on("tool_result_storage"):
            return
        names = self._called()
        for message in self._unanswered():
            found = tool_results.due(message, names, self.conversation.state.replaced)
            planned = found if isinstance(found, NotDue) else tool_results.plan(found, self.budget)
            if not isinstance(planned, NotDue):
                done = tool_results.run(planned, self.blobs, self.announce, self.scrubber)
                self.conversation.record(*(Replaced(r.tool_use_id, r.text) for r in done))

    def microcompact(self) -> None:
        """Layer 2: clear old results where that pays."""
        state = self.conversation.state
        self._ledger.follow(state.messages, state.replaced, state.cleared)
        conditions = self._conditions()
        edited = {id_ for edit in state.cache_edits for id_ in edit.tool_use_ids}
        found = microcompaction.due(self._ledger, conditions, self._policy(), edited)
        change = found if isinstance(found, NotDue) else microcompaction.plan(found)
        match change:
            case Clear(texts, _, why):
                microcompaction.run(
                    change, conditions, self.conversation.expect_break, self.announce
                )
                self.conversation.record(ToolResultsCleared(texts, why))
            case EditCache(ids, after):
                microcompaction.run(
                    change, conditions, self.conversation.expect_break, self.announce
                )
                self.conversation.record(CacheEdited(ids, after))
            case NotDue():
                pass

    async def compact(self) -> None:
        """Layers 3 and 4: replace what no longer fits by a summary."""
        state = self.conversation.state
        verdict = compaction_due(
            state.tokens,
            self.window,
            state.compaction_failures,
            enabled=self.on("autocompact") and not self.on("collapse"),
        )
        if not isinstance(verdict, NotDue):
            await self.compact_now("automatic")
        elif self.on("compact_by_price") and not self.on("collapse"):
            await self._compact_by_price()

    async def _compact_by_price(self) -> None:
        """Layer 4 before the window is full: where keeping old messages costs more.

        Only the conversation decides, so that a resumed session sends the same bytes.
        """
        state, moment = self.conversation.state, self._moment()
        size = state.tokens - state.head_tokens
        if isinstance(lean.due(size, moment, self.lean), NotDue):
            return
        if self._unpaid is not None and isinstance(
            lean.worth_it(size, self._unpaid - _SMALLER, moment, self.lean), NotDue
        ):
            return
        situation = self._situation("price", "", Whole(), None)
        reader = FileReader(self._read_file)
        done = await asyncio.to_thread(lean.compact, situation, moment, self.lean, reader)
        if isinstance(done, Failed):
            self._unpaid = done.tokens
            return
        if self.before_compaction is not None:
            await self.before_compaction("automatic", "")
        self._compacted(done, situation.at)

    def _moment(self) -> Moment:
        conditions = self._conditions()
        lapsed = conditions.idle(self._ledger.replied_at) > conditions.life
        calls = self.conversation.state.calls
        return Moment(conditions.rates, lapsed, calls, conditions.spent, self._sizes())

    def _sizes(self) -> tuple[int, ...]:
        """The prompts since the last compaction, oldest first."""
        state = self.conversation.state
        since = state.compactions[-1].at if state.compactions else -math.inf
        mine = (used for used in reversed(state.usages) if used.purpose == "main")
        recent = takewhile(lambda used: used.at >= since, mine)
        return tuple(used.usage.prompt for used in recent)[::-1]

    def _spent(self) -> float | None:
        """What the conversation has cost so far, in dollars; None while prices are unknown."""
        prices, usages = self.conversation.model.prices, self.conversation.state.usages
        if prices is None:
            return None
        for used in usages[self._counted :]:
            self._paid += prices.cost(used.usage)
        self._counted = len(usages)
        return self._paid

    async def compact_because(self, refused: str, tokens: int | None, limit: int | None) -> None:
        """Compact after the provider refused a request as too long: our count or window was wrong."""
        if limit:
            self.window = Window(limit, "the provider's refusal")
        self.announce(TroubleNoted("window", refused))
        await self.compact_now("reactive", tokens=tokens)

    async def compact_now(
        self,
        trigger: Trigger = "manual",
        *,
        instructions: str = "",
        mode: Mode | None = None,
        tokens: int | None = None,
    ) -> Compaction | Failed:
        """Compact whether or not it is due, and record the outcome."""
        if self.before_compaction is not None:
            instructions = await self.before_compaction(trigger, instructions)
        situation = self._situation(trigger, instructions, mode or Whole(), tokens)
        done = await compaction.run(situation, self._tools())
        if isinstance(done, Failed):
            if trigger != "manual":
                self.conversation.record(CompactionFailed(done.reason))
            self.announce(TroubleNoted("compaction", done.reason))
        else:
            self._compacted(done, situation.at)
        return done

    def refuse_when_full(self) -> None:
        """Raise WindowFull instead of sending a request that the provider would refuse."""
        tokens = self.conversation.state.tokens
        if self.window.state(tokens) == "blocked":
            raise WindowFull(
                f"the conversation has {tokens:,} tokens and the window holds "
                f"{self.window.tokens:,} ({self.window.source}); compact it (/compact) or begin a new one"
            )

    def recent_tools(self) -> tuple[str, ...]:
        """The recently used tools, newest last."""
        names = (use.name for m in self.conversation.state.messages[-20:] for use in m.tool_uses)
        return tuple(dict.fromkeys(names))

    def _compacted(self, done: Compaction, at: float) -> None:
        self._unpaid = None
        self.conversation.expect_break(f"compaction: {done.why}")
        record = Compacted(
            start=done.start,
            kept_from=done.kept_from,
            trigger=done.trigger,
            tokens_before=done.tokens_before,
            at=at,
            kept_up_to=done.kept_up_to,
            how=done.how,
            last=done.last_compacted,
        )
        # The prefix is new anyway, so the head may be rendered with the memory of today.
        # A compaction by price keeps the head, which is still in the cache.
        renew = done.kept_up_to is None and done.trigger != "price"
        head = self._new_head() if renew else self.conversation.state.head
        renewed = (HeadFrozen(head),) if head and head != self.conversation.state.head else ()
        self.conversation.record(record, *renewed)
        self.announce(LayerFired("compaction", done.tokens_before, done.tokens_after, done.why))

    def _new_head(self) -> Head | None:
        """Render the head again; an unreadable file must not discard a summary that was paid for."""
        try:
            return self.head()
        except (ReverieError, OSError) as error:
            self.announce(TroubleNoted("compaction.head", f"{error}; the head stays as it was"))
            return self.conversation.state.head

    def _situation(
        self, trigger: Trigger, instructions: str, mode: Mode, tokens: int | None
    ) -> Situation:
        state = self.conversation.state
        return Situation(
            messages=tuple(state.shown),
            window=self.window,
            tokens=max(tokens or 0, state.tokens),
            at=self.conversation.now,
            trigger=trigger,
            overhead=state.head_tokens,
            mode=mode,
            transcript=self.transcript,
            instructions=instructions,
            # A record is made from the messages only.
            notes=None if trigger == "price" else self.notes.for_compaction(),
            todos=tuple(Todo(text, status) for text, status in state.todos) or None,
        )

    def _tools(self) -> CompactionTools:
        if self.forks is None:
            return CompactionTools(read_file=self._read_file, announce=self.announce)
        forks = self.forks

        async def ask(directive: str) -> str:
            return (await forks.run(Task(COMPACT, directive))).reply.text

        async def ask_apart(messages: tuple[Message, ...], directive: str) -> str:
            return (await forks.apart(COMPACT, messages, directive)).text

        return CompactionTools(ask, ask_apart, self._read_file, self.announce)

    def _read_file(self, path: str) -> str | None:
        file = self.toolbox.workplace.root / Path(path).expanduser()
        return file.read_text("utf-8", "replace") if file.is_file() else None

    def _policy(self) -> Policy:
        return replace(
            self.policy.fitting(self.window),
            time=self.on("microcompact_time"),
            cached=self.on("microcompact_cached"),
            batch=self.on("microcompact_batch"),
        )

    def _conditions(self) -> RequestConditions:
        state, model = self.conversation.state, self.conversation.model
        return RequestConditions(
            now=self.conversation.now,
            context=state.tokens,
            window=self.window,
            capabilities=model.capabilities,
            prices=model.prices,
            ttl=self.conversation.ttl,
            spent=self._spent(),
        )

    def _unanswered(self) -> list[Message]:
        """The user-side messages since the model's last reply."""
        found: list[Message] = []
        for message in reversed(self.conversation.state.messages):
            if message.role == "assistant":
                break
            found.append(message)
        return found[::-1]

    def _called(self) -> dict[str, str]:
        """The tools of the unsent results, by call id: the last reply called them.

        A command that prints files has its own limit: the text is in a file already, and was wanted
        at this length.
        """
        for message in reversed(self.conversation.state.messages):
            if message.role == "assistant":
                return {use.id: _tool_of(use) for use in message.tool_uses}
        return {}


def _tool_of(use: ToolUse) -> str:
    action = action_of(use)
    return PRINTING if action.kind == "run" and prints_files(action.target) else use.name
