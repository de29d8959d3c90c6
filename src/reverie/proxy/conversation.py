"""One proxied conversation: the client's history goes in, the body to send comes out.

It is a session like that of the library's `Context`, with the same layers, journal and ledger. A
layer's decision is in the journal before it is sent, and every later request repeats it. So the
provider's cache stays valid, although the client never sees the decision.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from reverie.context.microcompaction import Policy
from reverie.conversation import journal
from reverie.conversation.conversation import Assembled
from reverie.conversation.journal import Journal
from reverie.conversation.records import HeadFrozen, Opened, Used
from reverie.core.messages import Message
from reverie.core.request import Head, Options, Reply
from reverie.core.usage import MAIN, Entry, Usage
from reverie.errors import InputError
from reverie.events import CacheBroke, Event, LayerFired, TroubleNoted
from reverie.learning.extraction import reading
from reverie.memory.format.attachment import INTRO
from reverie.models.failures import too_long
from reverie.proxy import marks
from reverie.proxy.clients import Client, ProxySwitches, client_model
from reverie.proxy.costs import SessionCosts
from reverie.proxy.prepared import Claim, Prepared, Snapshot
from reverie.proxy.savings import Saving
from reverie.proxy.turns import (
    Outgoing,
    Sent,
    Turn,
    is_unchanged,
    outgoing,
    shared_turns,
)
from reverie.session.build import open_session
from reverie.session.options import ExternalLoop, SessionOptions
from reverie.session.own_loop import OwnLoop, known_messages

if TYPE_CHECKING:
    from pathlib import Path

    from reverie.proxy.body import Body
    from reverie.proxy.dialects import Dialect, HeadFields
    from reverie.recall.pipeline import RecallOutcome
    from reverie.workspace import Workspace

log = logging.getLogger(__name__)

# Time that recall may not use, so that some of the client's patience is left for the layers.
_LAYERS_SECONDS = 0.02
# If at most a reply and a prompt were taken back, it is the same conversation, else a branch.
_TAKEN_BACK = 3


@dataclass(slots=True)
class Conversation:
    """A conversation under its session's name; it is opened with its first request."""

    app: Workspace
    name: str
    dialect: Dialect
    client: Client
    switches: ProxySwitches
    snapshot: Snapshot | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # Set when the sent bytes differ from the recorded ones.
    diverged: bool = False
    _loop: OwnLoop | None = None
    _head: HeadFields | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _known: list[str] | None = None
    _costs: SessionCosts | None = None
    _ticket: int = 0
    # Requests whose reply is not recorded yet; it is not closed meanwhile.
    waiting: int = 0

    # --- what it knows ---

    @property
    def is_open(self) -> bool:
        return self._loop is not None

    @property
    def path(self) -> Path:
        return self.app.project.journal(self.name)

    def known(self) -> list[str]:
        """Digests of the client's messages so far, from the journal if it is not open."""
        if self._loop is not None:
            return [one.mark for one in self._loop.known]
        if self._known is None:
            records = journal.load(self.path).records if self.path.exists() else ()
            self._known = [one.mark for one in known_messages(records)]
        return self._known

    def continues(self, turns: Sequence[Turn]) -> bool:
        """Whether these turns continue from here, instead of branching off earlier."""
        known = self.known()
        return shared_turns(known, turns) >= min(len(turns), max(1, len(known) - _TAKEN_BACK))

    def branch(self, name: str) -> Conversation:
        """A conversation that shares everything so far, under another name."""
        records = journal.load(self.path).records
        other = replace(
            self, name=name, snapshot=None, lock=asyncio.Lock(), _loop=None, _head=None,
            _stack=AsyncExitStack(), _known=None, _costs=None,
        )  # fmt: skip
        kept = [record for record in records if not isinstance(record, Used)]
        renamed = (replace(r, session=name) if isinstance(r, Opened) else r for r in kept)
        with Journal(other.path, self.app.scrubber) as copy:
            copy.append(*renamed)
        return other

    # --- a request ---

    async def prepare(
        self, body: Body, turns: Sequence[Turn], head: HeadFields, claim: Claim, seconds: float
    ) -> Prepared | None:
        """The body to send; None if the client's patience ended before anything was decided."""
        loop = await self._opened(head)
        messages = [turn.message for turn in turns]
        await self._import(loop, turns, messages)
        found = await self._recall(loop, body, turns, seconds)
        if not claim.take():
            return None
        self._renew_head(loop, head)
        known = [one.mark for one in loop.known]
        loop.add_new(shared_turns(known, turns), messages)
        loop.session.show(found)
        self._limit_clearing(loop)
        await loop.next_request()
        return self._written(loop, body, turns)

    async def shorten(
        self, body: Body, turns: Sequence[Turn], prepared: Prepared, message: str
    ) -> Prepared | None:
        """The body after a compaction, when the provider refused the last one as too long."""
        sizes = too_long(message)
        loop = self._loop
        if sizes is None or loop is None or prepared.ticket != self._ticket or not self.compacts:
            return None
        await loop.session.upkeep.compact_because(message, *sizes)
        loop.session.folding.window = loop.session.upkeep.window
        await loop.next_request()
        return self._written(loop, body, turns)

    def observe(self, reply: Reply, prepared: Prepared) -> None:
        """Record the reply; for a request that a later one has overtaken, only its cost."""
        loop = self._loop
        if loop is None or prepared.ticket != self._ticket:
            self._book(reply, prepared)
            return
        self._ticket += 1
        loop.observe(reply)
        if loop.session.recall is not None:
            loop.session.recall.replied(reply.text)

    async def catch_up(self, turns: Sequence[Turn], head: HeadFields, reply: Reply) -> None:
        """Record a request that was sent without new decisions, and its reply.

        Does nothing if the client has sent another request meanwhile.
        """
        loop = await self._opened(head)
        if self.diverged or shared_turns(self.known(), turns) < len(loop.known):
            return
        messages = [turn.message for turn in turns]
        if reply.blocks:
            messages.append(Message("", "assistant", reply.blocks))
        await self._take_in(loop, turns, messages, len(messages))
        loop.session.notes.start_when_due()
        loop.session.learn(reply)

    def broken_off(self, usage: Usage | None, prepared: Prepared) -> None:
        """Record the least that a broken-off reply has cost."""
        if usage is not None:
            empty = Reply("", prepared.asked.request.model, (), "end", usage)
            self._book(empty, prepared)

    async def aclose(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()
            await loop.session.aclose()
        await self._stack.aclose()
        self._stack = AsyncExitStack()
        self._known = self._costs = self._head = None

    @property
    def compacts(self) -> bool:
        """Whether layer 4 is ours, because the client does not compact by itself."""
        return self.switches.compaction and not self.client.compacts

    # --- opening ---

    async def _opened(self, head: HeadFields) -> OwnLoop:
        if self._loop is not None:
            return self._loop
        records = journal.load(self.path).records if self.path.exists() else ()
        model = client_model(self.app, self.dialect, head.model)
        options = SessionOptions(
            ready=model,
            session=self.name,
            resume=self.path if records else None,
            memory=None if self.switches.memory or self.switches.learning else False,
            external_loop=ExternalLoop(head.system, Options(), reworded=True, tools=head.tools),
        )
        session = await self._stack.enter_async_context(open_session(self.app, options))
        self._stack.enter_context(session.announce.subscribed(self._hear))
        session.upkeep.on = session.folding.on = session.notes.on = self._on
        if not self._on("compact_by_price"):
            # The sizes of a profile apply to compaction by price.
            session.upkeep.policy = Policy()
        # There is no model of ours to ask, and the client sends every head.
        session.upkeep.forks = session.folding.forks = None
        session.upkeep.head = lambda: self._frozen(session.conversation.state.head)
        if not self.switches.learning:
            session.learning = session.dreaming = None
        elif session.learning is not None:
            # An imported history takes seconds to read, in which no other request could be prepared.
            session.learning.read = reading.apart
        if not self.switches.memory:
            session.recall = None
        meter = self.app.metered(model, session=self.name, announce=session.announce)
        self._loop = OwnLoop(session, meter, known_messages(records), sent_as_is=True)
        self._head = head
        self._costs = SessionCosts(model, self.switches.safe)
        return self._loop

    @staticmethod
    def _frozen(head: Head | None) -> Head:
        if head is None:
            raise InputError("the conversation has no head yet")
        return head

    def _on(self, name: str) -> bool:
        """Whether a layer is on and can run here."""
        layers = self.switches.layers and self.dialect.has_results
        runs = {
            "tool_result_storage": layers and self.client.reads_files,
            "microcompact_time": layers,
            "microcompact_batch": layers,
            # Clients that compact by themselves do so when the window is full, not by price.
            "compact_by_price": layers and self.switches.compaction,
            "autocompact": self.compacts,
            "notes_compaction": self.compacts,
            "session_notes": self.switches.layers,
        }
        # Cache edits, snip and collapse need a model or tools of ours.
        return runs.get(name, False) and self.app.switches.on(name)

    def _limit_clearing(self, loop: OwnLoop) -> None:
        budget = None if self._costs is None else self._costs.budget
        if budget is not None:
            upkeep = loop.session.upkeep
            upkeep.policy = replace(upkeep.policy, budget=budget)
            upkeep.lean = replace(upkeep.lean, budget=budget)

    def _hear(self, event: Event) -> None:
        match event:
            case LayerFired(layer, before, after, why):
                log.info("%s: %s, %d → %d tokens: %s", self.name, layer, before, after, why)
            case CacheBroke(_, _, verdict):
                log.info("%s: the cache was missed: %s", self.name, verdict)
            case TroubleNoted(where, what):
                log.warning("%s: %s: %s", self.name, where, what)
            case _:
                pass

    # --- one request, step by step ---

    async def _import(
        self, loop: OwnLoop, turns: Sequence[Turn], messages: Sequence[Message]
    ) -> None:
        """Import the client's messages up to its last reply, which were sent before in any case."""
        end = max((i + 1 for i, t in enumerate(turns) if t.message.role == "assistant"), default=0)
        await self._take_in(loop, turns, messages, end)

    async def _take_in(
        self, loop: OwnLoop, turns: Sequence[Turn], messages: Sequence[Message], end: int
    ) -> None:
        """Add the messages up to `end`, letting other conversations run in between."""
        for place in range(shared_turns([one.mark for one in loop.known], turns), end):
            loop.add_new(place, messages[: place + 1])
            await asyncio.sleep(0)

    async def _recall(
        self, loop: OwnLoop, body: Body, turns: Sequence[Turn], seconds: float
    ) -> RecallOutcome | None:
        """Memories for a new message of the person's, unless a hook has added them already."""
        last = turns[-1]
        known = len(loop.known)
        if last.message.origin != "user" or shared_turns(self.known(), turns) >= len(turns):
            return None
        fresh = min(turn.first for turn in turns[min(known, len(turns) - 1) :])
        if any(INTRO in element.raw for element in body.elements[fresh:]):
            return None
        with loop.session.prefetch(last.message) as memories:
            return await memories.ready(max(0.0, seconds - _LAYERS_SECONDS))

    def _renew_head(self, loop: OwnLoop, head: HeadFields) -> None:
        """Record a new head when the client changed its system prompt, tools or model."""
        if head is self._head or head == self._head:
            return
        self._head = head
        conversation = loop.session.conversation
        frozen = self._frozen(conversation.state.head)
        if frozen.model != head.model:
            model = client_model(self.app, self.dialect, head.model)
            metered = self.app.metered(model, session=self.name, announce=loop.session.announce)
            conversation.change_model(metered)
            loop.meter = metered
            self._costs = SessionCosts(model, self.switches.safe)
        new = replace(frozen, model=head.model, system=head.system, tools=head.tools)
        if new != frozen:
            conversation.expect_break("the client changed its system prompt, tools or model")
            conversation.record(HeadFrozen(new))

    def _written(self, loop: OwnLoop, body: Body, turns: Sequence[Turn]) -> Prepared:
        """The assembled request in the client's own format."""
        asked = loop.asked
        places = {one.id: i for i, one in enumerate(loop.known)}
        sent = tuple(Sent(m, places.get(m.id)) for m in asked.request.messages)
        state = loop.session.conversation.state
        changed = frozenset(state.replaced) | frozenset(state.cleared)
        elements = outgoing(self.dialect, body.elements, turns, sent, changed)
        self.snapshot = Snapshot(sent, tuple(one.mark for one in loop.known), changed)
        self._ticket += 1
        text, saving = self._marked(body, turns, sent, elements, asked)
        return Prepared(text, asked, self._ticket, saving)

    def _marked(
        self,
        body: Body,
        turns: Sequence[Turn],
        sent: Sequence[Sent],
        elements: list[Outgoing],
        asked: Assembled,
    ) -> tuple[str | None, Saving | None]:
        """The body with the cheaper marks, and its cost next to that of the client's own request."""
        costs, now = self._costs, self._now()
        if costs is None:
            return self._text(body, elements, {}), None
        theirs = marks.read_marks(body) if self.dialect.family == "anthropic" else None
        client = costs.client_request(turns, asked, theirs, now)
        kept = () if theirs is None else marks.chain_marks(theirs, asked.chain, turns, sent)
        placed = None
        if (
            theirs is not None
            and theirs.movable
            and self.switches.marks
            and costs.prefers_ours(asked, kept, theirs, now)
        ):
            placed = marks.placed(asked, turns, sent, elements)
        used = costs.send(asked, kept if placed is None else asked.marks, now)
        saving = Saving(self.name, asked.request.model, client, used)
        if placed is None:
            return self._text(body, elements, {}), saving
        head, marked = placed
        return self._text(body, marked, marks.head_fields(body, head)), saving

    def _text(self, body: Body, elements: Sequence[Outgoing], fields: dict[str, Any]) -> str | None:
        if not fields and is_unchanged(elements, len(body.elements)):
            return None
        return body.text([one.text(self.dialect) for one in elements], fields)

    def _now(self) -> float:
        return self.app.clock.now()

    def _book(self, reply: Reply, prepared: Prepared) -> None:
        """Record a cost on the ledger without the session."""
        model = client_model(self.app, self.dialect, prepared.asked.request.model)
        cost = model.prices.cost(reply.usage) if model.prices else None
        entry = Entry(self._now(), MAIN, self.name, model.name, reply.usage, cost)
        self.app.ledger.settle("", entry)
