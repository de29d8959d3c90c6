"""Reads past conversations for memories: a plan with its price, then one session at a time.

The cursor is stored after every piece of a session, so an interrupted run can be resumed. A session
that only the rules have read is read again by a model that is configured later.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.agent.processes import Background
from reverie.conversation import journal
from reverie.conversation.records import Extracted
from reverie.core.usage import EXTRACT
from reverie.core.window import text_tokens
from reverie.errors import ReverieError, TranscriptError
from reverie.events import Event, TroubleNoted
from reverie.files.atomic import read_json, write_json
from reverie.learning import extraction
from reverie.learning.extraction.fork import Settled, proposals, settle
from reverie.learning.extraction.prompts import batches, past_directive
from reverie.learning.pending import Pending, UnreadTurns
from reverie.learning.runs import note_run
from reverie.learning.service import Learnt, open_store, run_of, spoken
from reverie.learning.side_models import ModelChoice, choose_model, fresh_agents
from reverie.models.catalog import batch_prices
from reverie.recall.past_sessions import conversations

if TYPE_CHECKING:
    from reverie.agent.fork import SideAgents
    from reverie.core.messages import Message
    from reverie.core.request import Reply
    from reverie.learning.service import ExtractionStore
    from reverie.workspace import Workspace


_CURSORS = "extracted.json"
# Estimates: tokens of tools and system prompt, tokens of the answer, and how often the prompt is
# read again.
_AROUND_TOKENS = 3_000
_ANSWER_TOKENS = 1_200
_READ_AGAIN = 2

By = Literal["rules", "model"]


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last message that was read, and whether rules or a model read it."""

    up_to: str
    by: By


@dataclass(frozen=True, slots=True)
class PastSession:
    """A conversation with `count` unread messages after `up_to`.

    Messages are not kept, so that only one of many large transcripts is in memory at a time; `load`
    reads them.
    """

    name: str
    path: Path
    up_to: str | None = None
    count: int = 0
    # The estimated size in tokens of each piece for a model.
    pieces: tuple[int, ...] = ()
    problem: str = ""

    def load(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """The messages read before, and the new ones."""
        messages = spoken(self.path)
        new = extraction.new_messages(messages, self.up_to)
        return messages[: len(messages) - len(new)], new


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """What to read, with which model, and the estimated cost (None: price unknown)."""

    sessions: tuple[PastSession, ...]
    choice: ModelChoice
    cost: float | None = 0.0

    @property
    def open(self) -> tuple[PastSession, ...]:
        return tuple(session for session in self.sessions if session.count)

    @property
    def messages(self) -> int:
        return sum(session.count for session in self.sessions)


@dataclass(frozen=True, slots=True)
class ReadSession:
    """The result of one session, the model that read it, and the cost."""

    name: str
    learnt: Learnt
    messages: int
    model: str = ""
    cost: float | None = 0.0


def plan_reading(
    app: Workspace,
    chosen: Mapping[str, Path] | None = None,
    *,
    use_model: bool = True,
    again: bool = False,
) -> ReadingPlan:
    """Plan to read what is new in these conversations, or in all of the project's.

    `again` reads everything.
    """
    choice = choose_model(app, EXTRACT, use_model=use_model)
    found = conversations(app.project, {}) if chosen is None else chosen
    cursors = {} if again else _cursors(app)
    by: By = "model" if choice.model else "rules"
    in_a_batch = Pending.of(app).sessions if choice.model else frozenset()
    sessions = tuple(
        PastSession(name, path, problem="it waits in a batch: reverie extract --status")
        if name in in_a_batch
        else _past(name, path, cursors.get(name), by)
        for name, path in found.items()
    )
    plan = ReadingPlan(sessions, choice)
    return replace(plan, cost=_estimate(plan)) if choice.model else plan


def _past(name: str, path: Path, cursor: Cursor | None, by: By) -> PastSession:
    try:
        up_to = _read_live(path) if by == "model" and cursor is None else None
        if cursor is not None and (by == "rules" or cursor.by == "model"):
            up_to = cursor.up_to
        _, new = PastSession(name, path, up_to).load()
    except TranscriptError as error:
        return PastSession(name, path, problem=str(error))
    sizes = (text_tokens(past_directive(piece, "", "")) for piece in batches(new))
    return PastSession(name, path, up_to, len(new), tuple(sizes) if by == "model" else ())


def _read_live(path: Path) -> str | None:
    """The last message that a fork of the conversation has read; None when only rules did."""
    if not any(path.with_suffix("").glob(f"forks/{EXTRACT}-*.jsonl")):
        return None
    marks = [record for record in journal.load(path).records if isinstance(record, Extracted)]
    return marks[-1].up_to if marks else None


def _estimate(plan: ReadingPlan) -> float | None:
    """The estimated cost: every piece is sent once and then read from the cache."""
    prices = plan.choice.prices
    if prices is None:
        return None
    sizes = [size + _AROUND_TOKENS for session in plan.open for size in session.pieces]
    rate = prices.cache_write_5m + _READ_AGAIN * prices.cache_read
    return sum(size * rate + _ANSWER_TOKENS * prices.output for size in sizes) / 1_000_000


def batch_estimate(plan: ReadingPlan) -> float | None:
    """The estimated cost as a batch: every piece is sent once, without a cache."""
    prices = batch_prices(plan.choice.prices)
    if prices is None:
        return None
    sizes = [size + _AROUND_TOKENS for session in plan.open for size in session.pieces]
    return sum(size * prices.input + _ANSWER_TOKENS * prices.output for size in sizes) / 1_000_000


# --- reading ---


async def read_sessions(app: Workspace, plan: ReadingPlan) -> AsyncIterator[ReadSession]:
    """Read one session after the other, within the spend caps, and yield each result."""
    reader = Reader(app, plan.choice)
    for session in plan.open:
        yield await reader.read(session)


async def learn_with_model(app: Workspace, messages: Sequence[Message]) -> Learnt:
    """Learn from messages that a program gives: by the rules, then with the model for learning.

    Without a model, or when it fails, the rules alone decide; the reason is among the troubles.
    """
    reader = Reader(app, choose_model(app, EXTRACT))
    learnt = await reader.learn("", "extract-added", ((), messages), lambda cursor: None)
    refused = len(learnt.troubles)
    done = Settled(learnt.saved, learnt.waiting, learnt.left)
    found = len(done.saved) + len(done.waiting) + len(done.left)
    note_run(app, run_of(app.clock.now(), "", found, done, refused=refused))
    return learnt


@dataclass(slots=True)
class Reader:
    """Reads with the model until its first failure, then by rules only.

    `answer` is the model's reply from a batch, for messages that the rules have already read.
    """

    app: Workspace
    choice: ModelChoice
    rules: bool = True
    answer: Reply | None = None
    _failed: str = ""
    _events: list[Event] = field(default_factory=list)

    async def read(self, session: PastSession) -> ReadSession:
        account = f"extract-{session.name}"
        paid = self.paid(account)
        messages = await asyncio.to_thread(session.load)
        mark = partial(self.mark, session.name)
        learnt = await self.learn(session.name, account, messages, mark)
        return self.outcome(session.name, account, learnt, session.count, paid)

    def outcome(
        self, session: str, account: str, learnt: Learnt, messages: int, paid: int
    ) -> ReadSession:
        """What was learnt, and its cost beyond the first `paid` calls of the account."""
        costs = self._costs(account)[paid:]
        cost = None if None in costs else sum(cost or 0.0 for cost in costs)
        model = "" if self._failed else self.choice.model
        return ReadSession(session, learnt, messages, model, cost)

    def paid(self, account: str) -> int:
        """How many calls of this account are in the ledger."""
        return len(self._costs(account))

    async def learn(
        self,
        session: str,
        account: str,
        messages: tuple[Sequence[Message], Sequence[Message]],
        mark: Callable[[Cursor], None],
    ) -> Learnt:
        """Learn from new messages, given after earlier ones; `mark` stores the progress."""
        self._events.clear()
        async with AsyncExitStack() as stack:
            store = stack.enter_context(
                open_store(self.app, session, self.choice.model, self._events.append)
            )
            agents = await self._agents(stack, account)
            learnt = await self._pieces(messages, store, agents, mark)
        troubles = (event.what for event in self._events if isinstance(event, TroubleNoted))
        return replace(learnt, troubles=tuple(troubles))

    async def _agents(self, stack: AsyncExitStack, account: str) -> SideAgents | None:
        if not self.choice.model or self._failed:
            return None
        folder = self.app.project.sessions / account / "forks"
        model, tell = self.choice.model, self._events.append
        opening = fresh_agents(self.app, model, account, folder, tell, self.answer)
        try:
            return await stack.enter_async_context(opening)
        except ReverieError as error:
            self._fail(error)
            return None

    async def _pieces(
        self,
        messages: tuple[Sequence[Message], Sequence[Message]],
        store: ExtractionStore,
        agents: SideAgents | None,
        mark: Callable[[Cursor], None],
    ) -> Learnt:
        learnt = Learnt()
        earlier, new = messages
        for piece in batches(new):
            by_rules = extraction.find(piece, earlier) if self.rules else ()
            learnt = self._keep(learnt, store, by_rules, (*earlier, *piece))
            if agents is not None and not self._failed:
                try:
                    found = await proposals(agents, store, piece, past=True)
                    learnt = self._keep(learnt, store, found, (*earlier, *piece))
                except ReverieError as error:
                    self._fail(error)
            by: By = "model" if agents is not None and not self._failed else "rules"
            mark(Cursor(piece[-1].id, by))
            earlier = (*earlier, *piece)
        return learnt

    def _keep(
        self,
        learnt: Learnt,
        store: ExtractionStore,
        found: Sequence[extraction.Candidate],
        messages: Sequence[Message],
    ) -> Learnt:
        if not found:
            return learnt
        done = settle(store, found, messages, store.near(found))
        return Learnt(
            tuple(dict.fromkeys((*learnt.saved, *done.saved))),
            (*learnt.waiting, *done.waiting),
            tuple(dict.fromkeys((*learnt.left, *done.left))),
        )

    def _fail(self, error: ReverieError) -> None:
        self._failed = str(error)
        note = f"{self.choice.model} is not asked any more, the rules read on: {error}"
        self._events.append(TroubleNoted("extraction", note))

    def mark(self, name: str, cursor: Cursor) -> None:
        """Store the cursor; the rules never overwrite the cursor of a model."""
        known = _cursors(self.app)
        before = known.get(name)
        if cursor.by == "rules" and before is not None and before.by == "model":
            return
        known[name] = cursor
        if cursor.by == "model":
            UnreadTurns.of(self.app).drop([name])
        data = {key: {"up_to": one.up_to, "by": one.by} for key, one in known.items()}
        write_json(self.app.memory_location.state / _CURSORS, data)

    def _costs(self, account: str) -> list[float | None]:
        return [entry.cost for entry in self.app.ledger.entries() if entry.session == account]


def _cursors(app: Workspace) -> dict[str, Cursor]:
    data = read_json(app.memory_location.state / _CURSORS)
    if not isinstance(data, dict):
        return {}
    return {
        str(name): Cursor(str(one.get("up_to")), "model" if one.get("by") == "model" else "rules")
        for name, one in data.items()
        if isinstance(one, dict)
    }


NAME = "past sessions"


@dataclass(slots=True)
class PastIndexing:
    """Indexes past sessions in the background; `step` does a piece of work, None when done."""

    step: Callable[[], object | None]
    background: Background
    _stopped: bool = False

    def start(self) -> None:
        self.background.start(NAME, self._run(), self._stop)

    def _stop(self) -> None:
        """Stop after the current piece; the rest is indexed next time."""
        self._stopped = True

    async def _run(self) -> None:
        while not self._stopped and await asyncio.to_thread(self.step) is not None:
            pass
