"""Prepares each request within the client's patience, and records its reply afterwards.

The work is done in a separate thread, so that streams continue meanwhile. If anything fails or
takes too long, the request is sent with earlier decisions and nothing new; if even that is
impossible, it is sent unchanged. The reason is logged, and `reverie doctor` shows it.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from collections import Counter, deque
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.api.shared_loop import begin, close_at_exit
from reverie.core.usage import Entry
from reverie.errors import InputError, ReverieError, SpendCapReached, WindowFull
from reverie.proxy import dialects, savings
from reverie.proxy.access import Refusal
from reverie.proxy.app import Call
from reverie.proxy.body import Bodies, Unreadable
from reverie.proxy.clients import (
    Client,
    ProxySwitches,
    client_model,
)
from reverie.proxy.conversation import Conversation
from reverie.proxy.dialects import Dialect, HeadFields
from reverie.proxy.prepared import Claim, Prepared, replayed
from reverie.proxy.questions import Question, Questions
from reverie.proxy.replies import ReplyReader, encoded
from reverie.proxy.sessions import Sessions
from reverie.proxy.turns import read_turns
from reverie.proxy.upstream import Headers, header
from reverie.recall.service import choose_embedder, open_ranker
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from reverie.core.request import Reply

log = logging.getLogger(__name__)

# How long a decision that began in time may take to finish.
_FINISH_SECONDS = 5.0
_SHOWN_TROUBLES = 20
CAP_STATUS = 402


@dataclass(slots=True)
class Troubles:
    """What went wrong, counted and shown by `reverie doctor`."""

    counts: Counter[str] = field(default_factory=Counter)
    latest: deque[str] = field(default_factory=lambda: deque(maxlen=_SHOWN_TROUBLES))

    def note(self, kind: str, reason: str) -> None:
        self.counts[kind] += 1
        self.latest.append(f"{kind}: {reason}"[:300])
        log.warning("%s: %s", kind, reason)


class ProxyEngine:
    """Everything behind the HTTP side."""

    def __init__(
        self,
        app: Workspace,
        switches: ProxySwitches,
        *,
        home: Path | None = None,
        overrides: tuple[str, ...] = (),
    ) -> None:
        self.app = app
        self.switches = switches
        self.troubles = Troubles()
        self.patience = app.settings.number("proxy.patience") / 1000
        self._sessions = Sessions(home, overrides, app, switches)
        self._questions = Questions(slim=switches.slim_tools and not switches.shadow)
        self._counts: Counter[str] = Counter()
        self._observing: set[Future[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        close_at_exit(self)

    # --- for the HTTP side ---

    def reads(self, call: Dialect) -> bool:
        return self.switches.any

    async def open(self, call: Call) -> _Exchange | Refusal:
        self._counts["requests"] += 1
        exchange = _Exchange(self, call, call.body)
        try:
            question = self._questions.read(call)
        except (Unreadable, InputError, ValueError) as error:
            # The provider may still understand it.
            self._counts["not read"] += 1
            log.info("a request is passed on unread: %s", error)
            return exchange
        except Exception as error:  # noqa: BLE001 - a client's request must go on whatever fails here
            self.troubles.note("not read", repr(error))
            return exchange
        if question is None:
            return exchange
        exchange.question = question
        if question.client.side or not question.turns:
            self._counts["beside a conversation"] += 1
        elif isinstance(refusal := await self._prepared(exchange, question), Refusal):
            return refusal
        if question.reworded and exchange.body is call.body:
            exchange.send(question.text())
        return exchange

    def status(self) -> dict[str, Any]:
        return {
            "project": str(self.app.project.root),
            "shadow": self.switches.shadow,
            "counts": dict(self._counts),
            "troubles": dict(self.troubles.counts),
            "latest": list(self.troubles.latest),
        }

    async def aclose(self) -> None:
        await asyncio.wrap_future(self.closing())

    def closing(self) -> Future[None]:
        return begin(self._close())

    def settled(self) -> None:
        """Wait until every received reply is recorded."""
        wait(tuple(self._observing))

    def warm_up(self) -> Future[None]:
        """Load what the first request would otherwise wait for."""
        return begin(self._warm_up())

    # --- one request ---

    async def _prepared(self, exchange: _Exchange, question: Question) -> _Exchange | Refusal:
        claim = Claim()
        deadline = time.monotonic() + self.patience
        work = begin(self._work(exchange, question, claim, deadline))
        waiting = asyncio.wrap_future(work)
        try:
            await asyncio.wait({waiting}, timeout=self.patience)
            if not waiting.done() and not claim.give_up():
                # It has begun to decide, so its decision must be sent.
                await asyncio.wait({waiting}, timeout=_FINISH_SECONDS)
            if not waiting.done():
                return self._late(exchange, question, claim)
            prepared = waiting.result()
        except SpendCapReached as error:
            return Refusal(CAP_STATUS, str(error))
        except (WindowFull, ReverieError, OSError) as error:
            self.troubles.note("failed", f"{type(error).__name__}: {error}")
            return self._again(exchange, question)
        except Exception as error:  # noqa: BLE001 - a client's request must go on whatever fails here
            self.troubles.note("failed", repr(error))
            return self._again(exchange, question)
        if prepared is None:
            return self._again(exchange, question)
        exchange.prepared = prepared
        self._counts["prepared"] += 1
        if not self.switches.shadow and prepared.text is not None:
            exchange.send(prepared.text)
        return exchange

    async def _work(
        self, exchange: _Exchange, question: Question, claim: Claim, deadline: float
    ) -> Prepared | None:
        """In the thread of the layers: find the conversation, and prepare its request."""
        app = self._sessions.app_of(question.folder)
        found = self._sessions.find(app, question.dialect, question.client, question.turns)
        exchange.conversation = found
        found.waiting += 1
        async with found.lock:
            left = deadline - time.monotonic()
            prepared = await found.prepare(
                question.body, question.turns, question.head, claim, left
            )
        for surplus in self._sessions.surplus():
            closing = asyncio.create_task(self._close_one(surplus))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        return prepared

    async def _close_one(self, conversation: Conversation) -> None:
        async with conversation.lock:
            if not conversation.waiting:
                await conversation.aclose()

    def _late(self, exchange: _Exchange, question: Question, claim: Claim) -> _Exchange:
        milliseconds = round(self.patience * 1000)
        self.troubles.note("late", f"nothing was decided within {milliseconds} ms")
        if not claim.give_up() and exchange.conversation is not None:
            # Its decision would not match what was sent.
            exchange.conversation.diverged = True
        return self._again(exchange, question)

    def _again(self, exchange: _Exchange, question: Question) -> _Exchange:
        """The request with earlier decisions, or unchanged if that is impossible."""
        self._counts["passed on"] += 1
        found = exchange.conversation
        if found is None or found.snapshot is None or found.diverged or self.switches.shadow:
            return exchange
        with suppress(Exception):
            text = replayed(
                question.dialect, question.body, found.snapshot, by_person=question.client.by_person
            )
            if text is not None:
                exchange.send(text)
        return exchange

    # --- after the reply ---

    def record(self, exchange: _Exchange, *, whole: bool) -> None:
        """Record the reply in the layers' thread; nothing waits for it."""
        if exchange.question is None:
            return
        work = begin(self._record(exchange, whole=whole))
        self._observing.add(work)
        work.add_done_callback(self._recorded)

    def _recorded(self, work: Future[None]) -> None:
        self._observing.discard(work)
        error = None if work.cancelled() else work.exception()
        if error is not None:
            self.troubles.note("not recorded", repr(error))

    async def _record(self, exchange: _Exchange, *, whole: bool) -> None:
        try:
            await self._take_reply(exchange, whole=whole)
        finally:
            if exchange.conversation is not None:
                exchange.conversation.waiting -= 1

    async def _take_reply(self, exchange: _Exchange, *, whole: bool) -> None:
        reply = exchange.reader.reply() if whole else None
        found, prepared = exchange.conversation, exchange.prepared
        if found is None or prepared is None:
            self._book(exchange, reply)
            question = exchange.question
            if found is not None and question is not None and reply is not None:
                async with found.lock:
                    await found.catch_up(question.turns, question.head, reply)
            return
        async with found.lock:
            if reply is None:
                found.broken_off(exchange.reader.partial_usage(), prepared)
                return
            found.observe(reply, prepared)
        if prepared.saving is not None:
            prices = client_model(found.app, found.dialect, prepared.saving.model).prices
            now = found.app.clock.now()
            shadow = self.switches.shadow
            savings.append(found.app.project, prepared.saving, prices, now, shadow=shadow)

    def _book(self, exchange: _Exchange, reply: Reply | None) -> None:
        """Record the cost of a request that belongs to no conversation of ours."""
        question = exchange.question
        if question is None:
            return
        usage = reply.usage if reply else exchange.reader.partial_usage()
        if usage is None:
            return
        app = self._sessions.app_of(question.folder)
        model = client_model(app, question.dialect, question.head.model)
        cost = model.prices.cost(usage) if model.prices else None
        name = question.client.name
        app.ledger.settle(
            "", Entry(app.clock.now(), "client", name, model.name, usage, cost, reply is None)
        )

    async def shorten(self, exchange: _Exchange, refused: bytes) -> str | None:
        """The body after a compaction; None if the request was refused for another reason."""
        found, prepared, question = exchange.conversation, exchange.prepared, exchange.question
        if found is None or prepared is None or question is None or self.switches.shadow:
            return None
        message = refused.decode("utf-8", "replace")

        async def work() -> Prepared | None:
            async with found.lock:
                return await found.shorten(question.body, question.turns, prepared, message)

        try:
            shorter = await asyncio.wrap_future(begin(work()))
        except Exception as error:  # noqa: BLE001 - the refusal itself is an answer
            self.troubles.note("not compacted", repr(error))
            return None
        if shorter is None:
            return None
        exchange.prepared = shorter
        return shorter.text

    # --- start and end ---

    async def _warm_up(self) -> None:
        """Rehearse a request in a scratch folder, and open the project's memory once."""
        try:
            with tempfile.TemporaryDirectory() as scratch:
                await self._rehearse(Path(scratch))
            if self.switches.memory and self.app.settings.memory_enabled:
                memory = self.app.memory()
                with open_ranker(memory, self.app.clock, choose_embedder(self.app)) as ranker:
                    ranker.search("memory", limit=1)
        except (ReverieError, OSError) as error:
            self.troubles.note("warming up", str(error))

    async def _rehearse(self, scratch: Path) -> None:
        app = Workspace.open(scratch, home=scratch / "home", overrides=self._sessions.overrides)
        dialect = dialects.ANTHROPIC
        body = Bodies().read('{"messages":[{"role":"user","content":"hello"}]}', "messages")
        turns = read_turns(dialect, body.elements, by_person=True)
        conversation = Conversation(app, "rehearsal", dialect, Client("none"), self.switches)
        head = HeadFields("claude-opus-4-8")
        await conversation.prepare(body, turns, head, Claim(), 1.0)
        await conversation.aclose()

    async def _close(self) -> None:
        pending = [asyncio.wrap_future(one) for one in tuple(self._observing)]
        if pending:
            await asyncio.wait(pending, timeout=_FINISH_SECONDS)
        for conversation in self._sessions.all():
            with suppress(Exception):
                async with conversation.lock:
                    await conversation.aclose()


@dataclass(slots=True)
class _Exchange:
    """One request in progress; by default sent exactly as received."""

    engine: ProxyEngine
    call: Call
    body: bytes
    question: Question | None = None
    conversation: Conversation | None = None
    prepared: Prepared | None = None
    reader: ReplyReader = field(init=False)

    def __post_init__(self) -> None:
        self.reader = ReplyReader(self.call.dialect)

    def send(self, text: str) -> None:
        """Send this text in place of the client's own."""
        encoding = header(self.call.headers, b"content-encoding").strip().lower()
        self.body = encoded(text.encode("utf-8"), encoding)

    def hear(self, status: int, headers: Headers) -> None:
        self.reader.hear(status, headers)

    def feed(self, chunk: bytes) -> None:
        self.reader.feed(chunk)

    async def again(self, status: int, body: bytes) -> bytes | None:
        text = await self.engine.shorten(self, body)
        if text is None:
            return None
        self.send(text)
        return self.body

    def end(self, *, whole: bool) -> None:
        self.engine.record(self, whole=whole)
