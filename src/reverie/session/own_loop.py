"""The layers around somebody else's loop: their history goes in, the next request comes out.

The caller hands over its whole history every time. What is new in it is said here too; where it was
changed, the conversation goes back to the last message both sides agree on. Messages are compared
by what they say, not by how a client writes them down, so a reply that was observed is known again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from reverie.conversation.conversation import Asked
from reverie.conversation.records import Record, Rewound, Said
from reverie.core.codec import block_to_json, dump
from reverie.core.messages import (
    Attachment,
    Block,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolUse,
    new_message,
)
from reverie.core.request import Reply, Request
from reverie.core.transcript import pairing
from reverie.errors import InputError
from reverie.session.prefetch import Prefetch
from reverie.session.query import Session


class Meter(Protocol):
    """Asks the ledger before a call, and writes down what it cost; None: it was never made."""

    def ask(self, request: Request) -> str: ...

    def settle(self, ticket: str, request: Request, reply: Reply | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Told:
    """A message of the caller's that is written down here: what it says, and under which id."""

    mark: str
    id: str

    @classmethod
    def of(cls, message: Message) -> Told:
        return cls(mark(message), message.id)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request that was handed out, and the reservation for it."""

    asked: Asked
    ticket: str

    @property
    def request(self) -> Request:
        return self.asked.sent.request


@dataclass(slots=True)
class OwnLoop:
    """One conversation, led by the caller. `told` is what it told us before, in its order."""

    session: Session
    meter: Meter
    told: list[Told] = field(default_factory=list)
    _pending: _Pending | None = None
    _paused: bool = False
    _recalling: ExitStack = field(default_factory=ExitStack)
    _memories: Prefetch | None = None

    async def prepare(self, history: Sequence[Message]) -> Request:
        """The next request for this history; messages in it need no ids."""
        check(history, may_pause=self._paused)
        fresh = self._take_in(history)
        await self._recollect(fresh)
        await self.session.make_room()
        self._release()
        asked = self.session.conversation.ask()
        self._pending = _Pending(asked, self.meter.ask(asked.sent.request))
        return asked.sent.request

    def observe(self, reply: Reply) -> None:
        """What the model answered to the request that was prepared last."""
        pending, self._pending = self._pending, None
        if pending is None:
            raise InputError(
                "observe() takes the response to what prepare() gave; call prepare() first, "
                "and observe each response once"
            )
        for event in self.session.conversation.take(reply, pending.asked):
            self.session.announce(event)
        if reply.blocks:
            self.told.append(Told.of(self.session.conversation.state.messages[-1]))
        self._paused = reply.stop == "paused"
        self.meter.settle(pending.ticket, pending.request, reply)
        self.session.notes.start_when_due()
        self.session.learn(reply)

    def sources(self, request: Request) -> tuple[int | None, ...]:
        """For each message of a request, its place in the caller's history; None for ours."""
        places = {told.id: i for i, told in enumerate(self.told)}
        return tuple(places.get(message.id) for message in request.messages)

    def close(self) -> None:
        """Let go of what waits for an answer: a search for memories, a reservation."""
        self._recalling.close()
        self._release()

    def _take_in(self, history: Sequence[Message]) -> list[Message]:
        """Say what is new; what was changed is taken back first."""
        agreed = _agreed(self.told, history)
        if agreed < len(self.told):
            agreed = self._go_back(agreed)
        return [self._say(message) for message in history[agreed:]]

    def _go_back(self, agreed: int) -> int:
        """Forget what follows the messages both sides agree on; all, if it was compacted away."""
        conversation = self.session.conversation
        first: str | None = self.told[agreed].id
        if all(message.id != first for message in conversation.state.messages):
            agreed, first = 0, None
        conversation.expect_break("the caller changed its history")
        conversation.record(Rewound(first))
        self.session.notes.start_over()
        del self.told[agreed:]
        return agreed

    def _say(self, message: Message) -> Message:
        conversation = self.session.conversation
        if message.role == "assistant":
            # A history that was not lived here: its results are stored as they would have been.
            self.session.upkeep.store_tool_results()
            after = conversation.state.messages[-1]
            said = new_message("assistant", *message.blocks, after=after, at=conversation.now)
            conversation.record(Said(said))
        else:
            said = conversation.say(*message.blocks, origin=message.origin)
        self.told.append(Told.of(said))
        return said

    async def _recollect(self, fresh: Sequence[Message]) -> None:
        """Memories behind a person's new words; late ones behind the next message."""
        if not fresh:
            return
        if self._memories is not None:
            self.session.show(self._memories.at_boundary())
        if fresh[-1].origin == "user":
            self._recalling.close()
            self._memories = self._recalling.enter_context(self.session.prefetch(fresh[-1]))
            found = await self._memories.ready(self.session.limits.recall_seconds)
            self.session.show(found)

    def _release(self) -> None:
        """A request that was handed out and never answered costs nothing."""
        pending, self._pending = self._pending, None
        if pending is not None:
            self.meter.settle(pending.ticket, pending.request, None)


def told_before(records: Iterable[Record]) -> list[Told]:
    """What the caller told in a session, by its journal."""
    found: list[Told] = []
    for record in records:
        match record:
            case Said(message) if message.origin != "reverie":
                found.append(Told.of(message))
            case Rewound(first):
                ids = [told.id for told in found]
                del found[ids.index(first) if first in ids else 0 :]
            case _:
                pass
    return found


def check(history: Sequence[Message], *, may_pause: bool = False) -> None:
    """Can this be sent at all? If not, an InputError says which message to correct."""
    if not history:
        raise InputError("there are no messages; give the whole conversation, oldest first")
    if history[0].role != "user":
        raise InputError(
            "the first message is the assistant's; a conversation begins with a user's"
        )
    found = pairing(history)
    names = {use.id: use.name for message in history for use in message.tool_uses}
    for id_ in found.unanswered:
        raise InputError(
            f"the call {id_!r} of the tool {names[id_]!r} has no result; "
            "add one right behind the message that calls it"
        )
    for id_ in (*found.orphaned, *found.misplaced):
        raise InputError(
            f"there is a result for {id_!r}, but no call of that id right before it; "
            "keep the assistant's message with the call, or remove the result"
        )
    if history[-1].role == "assistant" and not may_pause:
        raise InputError("the last message is the assistant's; add what the user or the tools say")


def mark(message: Message) -> str:
    """What a message says, whichever way it is written down; thinking is not part of it."""
    digest = hashlib.blake2b(message.role.encode(), digest_size=16)
    for part in _parts(message):
        digest.update(b"\0" + part)
    return digest.hexdigest()


def _parts(message: Message) -> Iterator[bytes]:
    """Neighbouring texts are one text: of a reply, some clients keep only the whole, trimmed."""
    of_model = message.role == "assistant"
    said = (block for block in message.blocks if not _unsaid(block, of_model=of_model))
    for texts, blocks in groupby(said, key=lambda block: isinstance(block, Text)):
        if texts:
            text = "".join(block.text for block in blocks if isinstance(block, Text))
            yield (text.strip() if of_model else text).encode("utf-8", "surrogatepass")
        else:
            yield from map(_part, blocks)


def _unsaid(block: Block, *, of_model: bool) -> bool:
    """What a client may leave out when it keeps a reply, and what is ours."""
    own = isinstance(block, Opaque) and of_model
    return own or isinstance(block, Thinking | Attachment)


def _part(block: Block) -> bytes:
    return _call(block) if isinstance(block, ToolUse) else dump(block_to_json(block))


def _call(use: ToolUse) -> bytes:
    try:
        arguments = json.loads(use.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = use.arguments
    return dump([use.id, use.name, json.dumps(arguments, sort_keys=True)])


def _agreed(told: Sequence[Told], history: Sequence[Message]) -> int:
    """How many messages, from the first on, say the same on both sides."""
    for i, (known, message) in enumerate(zip(told, history, strict=False)):
        if known.mark != mark(message):
            return i
    return min(len(told), len(history))
