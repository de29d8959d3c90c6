"""Past conversations read for memory: the plan with its price, one session at a time, resumable.

After every piece of a session the cursor moves, on disk: whatever ends a run, the next one goes on
there. A session that the rules read is not done for a model, so that one configured later reads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reverie.agent.background import Background
from reverie.conversation import journal
from reverie.conversation.records import Extracted
from reverie.core.tokens import text_tokens
from reverie.core.usage import EXTRACT
from reverie.errors import ReverieError, TranscriptError
from reverie.events import Event, TroubleNoted
from reverie.files.json_files import read_json, write_json
from reverie.learning import extraction
from reverie.learning.extraction.fork import proposals, settle
from reverie.learning.extraction.prompts import batches, past_directive
from reverie.learning.service import Learnt, open_store, spoken
from reverie.learning.side_models import ModelChoice, fresh_agents, means_for
from reverie.recall.past_sessions import conversations

if TYPE_CHECKING:
    from reverie.agent.fork import SideAgents
    from reverie.core.messages import Message
    from reverie.learning.service import ExtractionStore
    from reverie.workspace import Workspace


_CURSORS = "extracted.json"
# What comes on top of a directive (tools, system prompt), what an agent answers, and how often its
# prompt is read again. An estimate, not a measurement.
_AROUND_TOKENS = 3_000
_ANSWER_TOKENS = 1_200
_READ_AGAIN = 2

By = Literal["rules", "model"]


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last message that was read, and by whom."""

    up_to: str
    by: By


@dataclass(frozen=True, slots=True)
class PastSession:
    """A conversation, and how much of it is still to be read: `count` messages after `up_to`.

    Of many large transcripts only one is in memory at a time: `load` reads it again.
    """

    name: str
    path: Path
    up_to: str | None = None
    count: int = 0
    # The estimated size of each piece a model would be sent.
    pieces: tuple[int, ...] = ()
    problem: str = ""

    def load(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """What was read before, and what is new."""
        messages = spoken(self.path)
        new = extraction.new_messages(messages, self.up_to)
        return messages[: len(messages) - len(new)], new


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """What would be read, by whom, and about what that costs; None: the price is not known."""

    sessions: tuple[PastSession, ...]
    means: ModelChoice
    cost: float | None = 0.0

    @property
    def open(self) -> tuple[PastSession, ...]:
        return tuple(session for session in self.sessions if session.count)

    @property
    def messages(self) -> int:
        return sum(session.count for session in self.sessions)


@dataclass(frozen=True, slots=True)
class ReadSession:
    """What one session gave, who read it, and what that cost."""

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
    """What is new in these conversations, or in all of this project's; `again`: read everything."""
    means = means_for(app, EXTRACT, use_model=use_model)
    found = conversations(app.project, {}) if chosen is None else chosen
    cursors = {} if again else _cursors(app)
    by: By = "model" if means.model else "rules"
    sessions = tuple(_past(name, path, cursors.get(name), by) for name, path in found.items())
    plan = ReadingPlan(sessions, means)
    return replace(plan, cost=_estimate(plan)) if means.model else plan


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
    """How far a fork of the conversation itself has read it; None when only rules did."""
    if not any(path.with_suffix("").glob(f"forks/{EXTRACT}-*.jsonl")):
        return None
    marks = [record for record in journal.load(path).records if isinstance(record, Extracted)]
    return marks[-1].up_to if marks else None


def _estimate(plan: ReadingPlan) -> float | None:
    """Every piece is sent once and read back from the cache until the agent is done."""
    prices = plan.means.prices
    if prices is None:
        return None
    sizes = [size + _AROUND_TOKENS for session in plan.open for size in session.pieces]
    rate = prices.cache_write_5m + _READ_AGAIN * prices.cache_read
    return sum(size * rate + _ANSWER_TOKENS * prices.output for size in sizes) / 1_000_000


# --- reading ---


async def read_sessions(app: Workspace, plan: ReadingPlan) -> AsyncIterator[ReadSession]:
    """One session after the other, each given when it is done; under the caps."""
    reader = _Reader(app, plan.means)
    for session in plan.open:
        yield await reader.read(session)


@dataclass(slots=True)
class _Reader:
    """Reads with the model as long as it can; from its first failure on, by rules alone."""

    app: Workspace
    means: ModelChoice
    _failed: str = ""
    _heard: list[Event] = field(default_factory=list)

    async def read(self, session: PastSession) -> ReadSession:
        self._heard.clear()
        account = f"extract-{session.name}"
        paid = len(self._costs(account))
        async with AsyncExitStack() as stack:
            store = stack.enter_context(
                open_store(self.app, session.name, self.means.model, self._heard.append)
            )
            agents = await self._agents(stack, account)
            learnt = await self._pieces(session, store, agents)
        troubles = (event.what for event in self._heard if isinstance(event, TroubleNoted))
        learnt = replace(learnt, troubles=tuple(troubles))
        costs = self._costs(account)[paid:]
        cost = None if None in costs else sum(cost or 0.0 for cost in costs)
        model = "" if self._failed else self.means.model
        return ReadSession(session.name, learnt, session.count, model, cost)

    async def _agents(self, stack: AsyncExitStack, account: str) -> SideAgents | None:
        if not self.means.model or self._failed:
            return None
        folder = self.app.project.sessions / account / "forks"
        opening = fresh_agents(self.app, self.means.model, account, folder, self._heard.append)
        try:
            return await stack.enter_async_context(opening)
        except ReverieError as error:
            self._fail(error)
            return None

    async def _pieces(
        self, session: PastSession, store: ExtractionStore, agents: SideAgents | None
    ) -> Learnt:
        learnt = Learnt()
        earlier, new = await asyncio.to_thread(session.load)
        for piece in batches(new):
            learnt = self._keep(learnt, store, extraction.find(piece, earlier), (*earlier, *piece))
            if agents is not None and not self._failed:
                try:
                    found = await proposals(agents, store, piece, past=True)
                    learnt = self._keep(learnt, store, found, (*earlier, *piece))
                except ReverieError as error:
                    self._fail(error)
            by: By = "model" if agents is not None and not self._failed else "rules"
            self._mark(session.name, Cursor(piece[-1].id, by))
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
        told = f"{self.means.model} is not asked any more, the rules read on: {error}"
        self._heard.append(TroubleNoted("extraction", told))

    def _mark(self, name: str, cursor: Cursor) -> None:
        """What a model has read stays read by it; what only rules read is read again by one."""
        known = _cursors(self.app)
        before = known.get(name)
        if cursor.by == "rules" and before is not None and before.by == "model":
            return
        known[name] = cursor
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
    """`step` does a piece of work, and gives None when there is no more."""

    step: Callable[[], object | None]
    background: Background
    _stopped: bool = False

    def start(self) -> None:
        self.background.start(NAME, self._run(), self._stop)

    def _stop(self) -> None:
        """End after the piece that is under way; what is missing is brought in next time."""
        self._stopped = True

    async def _run(self) -> None:
        while not self._stopped and await asyncio.to_thread(self.step) is not None:
            pass
