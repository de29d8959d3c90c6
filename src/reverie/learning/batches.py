"""Extraction at half price: what can wait is read by the provider in a batch, within a day.

`submit` sends what a plan would read as one batch; `collect` puts the answers through the same
checks as an ordinary reading. Dreams cannot be batched: each request depends on the last answer.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.request import Request, estimated_size
from reverie.core.usage import EXTRACT, Entry, Prices, Refused, Usage
from reverie.errors import (
    AccessDenied,
    InputError,
    ModelError,
    PromptTooLong,
    RequestRefused,
    ReverieError,
)
from reverie.events import no_listener
from reverie.files.locks import sole
from reverie.learning.extraction.prompts import batches as pieces_of
from reverie.learning.extraction.prompts import past_directive
from reverie.learning.past_sessions import Reader, ReadingPlan, ReadSession, read_sessions
from reverie.learning.pending import Batch, Pending, Piece, UnreadTurns
from reverie.learning.service import open_store, spoken
from reverie.learning.side_models import ModelChoice, agents_on
from reverie.models.batches import Answer, open_batches, refusal
from reverie.models.metered import CEILING_MARGIN

if TYPE_CHECKING:
    from reverie.core.messages import Message
    from reverie.models.batches import Batches
    from reverie.ports import Model
    from reverie.workspace import Workspace

# A batch that the provider does not list after this time was never submitted.
_LOST_SECONDS = 600.0
_BUSY = "another process looks after this project's batches; try again in a moment"
_NO_ANSWER = Answer(None, "the provider gave no answer")
# After these errors no batch exists; after others one may.
_REFUSALS = (InputError, AccessDenied, RequestRefused, PromptTooLong)


@dataclass(frozen=True, slots=True)
class Sent:
    """What was submitted (None: nothing), what the rules read meanwhile, and messages for the user."""

    batch: Batch | None
    read: tuple[ReadSession, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Collected:
    """What was learnt from answers, and messages for the user."""

    read: tuple[ReadSession, ...] = ()
    notes: tuple[str, ...] = ()


def why_not(app: Workspace, model: str) -> str:
    """Why sessions cannot be read in batches here; empty if they can."""
    if app.service is not None:
        return "batches are not offered where a service keeps the memory: it reserves money for one call"
    return refusal(app.settings, model)


@contextmanager
def _alone(app: Workspace) -> Iterator[Pending]:
    pending = Pending.of(app)
    with sole(pending.lock, _BUSY):
        yield pending


# --- submitting ---


def _every(piece: Sequence[Message]) -> bool:
    return True


async def submit(
    app: Workspace, plan: ReadingPlan, wanted: Callable[[Sequence[Message]], bool] = _every
) -> Sent:
    """Read the sessions by rules now, and submit what a model should read as one batch."""
    model = plan.choice.model
    if why := why_not(app, model):
        raise InputError(why)
    with _alone(app) as pending:
        by_rules = ModelChoice(why="a model reads them in a batch")
        open_ones = tuple(one for one in plan.open if one.name not in pending.sessions)
        plan = replace(plan, sessions=open_ones)
        read = [one async for one in read_sessions(app, replace(plan, choice=by_rules))]
        provider = open_batches(app.settings, model)
        try:
            batch, requests = await asyncio.to_thread(_prepared, app, plan, provider.prices, wanted)
            batch, notes = _reserved(app, pending, batch, provider.prices)
            if batch.pieces:
                kept = {piece.id: requests[piece.id] for piece in batch.pieces}
                batch = await _submitted(app, pending, provider, batch, kept)
        finally:
            await provider.aclose()
    return Sent(batch if batch.pieces else None, tuple(read), tuple(notes))


def _prepared(
    app: Workspace,
    plan: ReadingPlan,
    prices: Prices | None,
    wanted: Callable[[Sequence[Message]], bool],
) -> tuple[Batch, dict[str, Request]]:
    """The batch record to store, and its requests."""
    token, model = secrets.token_hex(8), plan.choice.model
    bare: Model = app.bare_model(model)
    agents = agents_on(app, lambda purpose: bare, "", app.project.sessions)
    pieces: list[Piece] = []
    requests: dict[str, Request] = {}
    with open_store(app, "", model, no_listener) as store:
        tell = partial(
            past_directive,
            directory=str(store.directory),
            manifest=store.manifest(),
            instructions=store.instructions().section,
        )
        for session in plan.open:
            for messages in filter(wanted, pieces_of(session.load()[1])):
                id_ = f"{token}-{len(pieces)}"
                requests[id_] = request = agents.opening(EXTRACT, tell(messages))
                most = _most(request, prices) if prices else None
                ends = messages[0].id, messages[-1].id
                pieces.append(Piece(id_, session.name, str(session.path), *ends, most))
    return Batch(token, model, app.clock.now(), tuple(pieces)), requests


def _most(request: Request, prices: Prices) -> float:
    size = int(estimated_size(request) * CEILING_MARGIN)
    return prices.ceiling(size, request.options.max_tokens)


def _reserved(
    app: Workspace, pending: Pending, batch: Batch, prices: Prices | None
) -> tuple[Batch, list[str]]:
    """Store the batch, then reserve its money; pieces that would exceed a cap are left out."""
    caps, notes = app.caps(EXTRACT), list[str]()
    if prices is None and caps.any and batch.pieces:
        raise InputError(
            f"the price of {batch.model} is not known, so a spend cap cannot be kept; "
            f'set prices."{batch.model}".input and .output (dollars per million tokens)'
        )
    pending.put(batch)
    cut: set[str] = set()
    for piece in batch.pieces if prices else ():
        if piece.session not in cut:
            account, most = _account(piece.session), piece.most or 0.0
            decision = app.ledger.reserve_batch(piece.id, EXTRACT, account, most, caps)
            if not isinstance(decision, Refused):
                continue
            notes.append(f"{piece.session}: not in the batch: {decision.reason}")
        # The rest of the session comes later, because its cursor cannot skip a piece.
        cut.add(piece.session)
        batch = batch.without(piece.id)
    pending.put(batch)
    return batch, notes


async def _submitted(
    app: Workspace, pending: Pending, provider: Batches, batch: Batch, requests: dict[str, Request]
) -> Batch:
    try:
        id_ = await provider.submit(batch.token, requests)
    except _REFUSALS:
        _release(app, pending, batch)
        raise
    except ModelError as error:
        raise ModelError(
            f"{error}; whether the batch was accepted is not known yet: "
            "the next `reverie extract` finds out, and sends nothing twice"
        ) from error
    return _accepted(app, pending, batch, id_)


def _accepted(app: Workspace, pending: Pending, batch: Batch, id_: str) -> Batch:
    batch = replace(batch, id=id_)
    pending.put(batch)
    # No later conversation should pay for them again.
    UnreadTurns.of(app).drop(batch.sessions)
    return batch


def _release(app: Workspace, pending: Pending, batch: Batch) -> None:
    """Release the reserved money and delete the batch; its sessions can be read again."""
    for piece in batch.pieces:
        app.ledger.settle_batch(piece.id, None)
    pending.put(replace(batch, pieces=()))


def _account(session: str) -> str:
    return f"extract-{session}"


# --- collecting ---


async def collect(app: Workspace) -> Collected:
    """Take the answers of batches that have ended; the others stay as they are."""
    if not Pending.of(app).load():
        return Collected()
    done = Collected()
    with _alone(app) as pending:
        pending.note_time(polled=app.clock.now())
        for batch in pending.load():
            collector: _Collector | None = None
            try:
                provider = open_batches(app.settings, batch.model)
                collector = _Collector(app, pending, provider, batch)
                await collector.run()
            except ReverieError as error:
                done = replace(done, notes=(*done.notes, f"the batch waits on: {error}"))
            finally:
                if collector is not None:
                    read, notes = collector.read, collector.notes
                    done = Collected((*done.read, *read), (*done.notes, *notes))
                    await collector.provider.aclose()
    return done


@dataclass(slots=True)
class _Collector:
    """Takes the answers of one batch; after each piece the batch is stored without it."""

    app: Workspace
    pending: Pending
    provider: Batches
    batch: Batch
    read: list[ReadSession] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Sessions of which a piece was not read: their cursor stays before it.
    _left: set[str] = field(default_factory=set)

    async def run(self) -> None:
        if not self.batch.id and not await self._find():
            return
        if not await self.provider.poll(self.batch.id):
            return
        answers = await self.provider.collect(self.batch.id)
        otherwise = answers.get("", _NO_ANSWER)
        for piece in self.batch.pieces:
            await self._take(piece, answers.get(piece.id, otherwise))
        # The provider's copy expires by itself.
        with suppress(ReverieError):
            await self.provider.delete(self.batch.id)

    async def _find(self) -> bool:
        """Whether an interrupted submission reached the provider."""
        batch = self.batch
        found = await self.provider.find(batch.token, len(batch.pieces), batch.at)
        if found.batch:
            self.batch = _accepted(self.app, self.pending, batch, found.batch)
            return True
        if found.sure and self.app.clock.now() - batch.at > _LOST_SECONDS:
            _release(self.app, self.pending, batch)
            self.notes.append("a batch was not submitted after all; its sessions can be read again")
        return False

    async def _take(self, piece: Piece, answer: Answer) -> None:
        account = _account(piece.session)
        reader = Reader(self.app, self._choice(), rules=False, answer=answer.reply)
        paid = reader.paid(account)
        self.app.ledger.settle_batch(piece.id, self._entry(piece, answer))
        if answer.reply is None:
            self.notes.append(f"{piece.session}: no answer from the batch: {answer.why}")
        if answer.cancelled or (answer.reply is None and piece.again):
            self._left.add(piece.session)
        else:
            if answer.reply is None:
                self._write(self.batch.with_again(piece.id))
            await self._read(piece, reader, paid)
        self._write(self.batch.without(piece.id))

    async def _read(self, piece: Piece, reader: Reader, paid: int) -> None:
        """Read a piece with its answer; without one, in the ordinary way at its full price."""
        try:
            messages = await asyncio.to_thread(spoken, Path(piece.path))
        except (ReverieError, OSError) as error:
            self.notes.append(f"{piece.session}: {error}")
            return
        places = {message.id: at for at, message in enumerate(messages)}
        if not {piece.first, piece.last} <= places.keys():
            self.notes.append(
                f"{piece.session}: the messages in the batch are no longer in the session"
            )
            return
        start, end = places[piece.first], places[piece.last] + 1
        mark = partial(reader.mark, piece.session)
        if piece.session in self._left:
            mark = partial(lambda cursor: None)
        account, both = _account(piece.session), (messages[:start], messages[start:end])
        learnt = await reader.learn(piece.session, account, both, mark)
        self.read.append(reader.outcome(piece.session, account, learnt, end - start, paid))

    def _choice(self) -> ModelChoice:
        return ModelChoice(self.batch.model, why="a batch", prices=self.provider.prices)

    def _entry(self, piece: Piece, answer: Answer) -> Entry | None:
        """The request's cost; a charge without an answer counts at its maximum."""
        if answer.reply is None and not answer.charged:
            return None
        prices, cost, usage = self.provider.prices, piece.most, Usage()
        if answer.reply is not None:
            usage = answer.reply.usage
            cost = prices.cost(usage) if prices else None
        at, account = self.app.clock.now(), _account(piece.session)
        return Entry(at, EXTRACT, account, self.provider.name, usage, cost, answer.charged)

    def _write(self, batch: Batch) -> None:
        self.batch = batch
        self.pending.put(batch)


async def cancel(app: Workspace) -> list[Batch]:
    """Ask the provider to cancel every batch; answers it already has are collected later."""
    asked: list[Batch] = []
    with _alone(app) as pending:
        for batch in pending.load():
            provider = open_batches(app.settings, batch.model)
            try:
                if batch.id and not await provider.poll(batch.id):
                    await provider.cancel(batch.id)
                    asked.append(batch)
            finally:
                await provider.aclose()
    return asked
