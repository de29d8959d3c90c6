"""The layers for a caller that runs its own loop: its history goes in, the next request comes out.

The caller passes its whole history every time. New messages are added to the conversation here; when
the caller has changed its history, the conversation goes back to the last message both sides share.
Messages are compared by content, not by format, so that an observed reply is recognised.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from reverie.agent.fork import calls_of
from reverie.conversation.conversation import Asked, Assembled
from reverie.conversation.records import Record, Rewound, Said
from reverie.core.messages import (
    Attachment,
    Block,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    block_to_json,
    dump,
    new_message,
)
from reverie.core.request import Reply, Request
from reverie.core.transcript import pairing
from reverie.errors import InputError
from reverie.session.prefetch import Prefetch
from reverie.session.query import Session


class Meter(Protocol):
    """Reserves money before a call, and books its cost; no reply means it was never made."""

    def ask(self, request: Request) -> str: ...

    def settle(self, ticket: str, request: Request, reply: Reply | None) -> None: ...


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A message of the caller's that is in the journal: a digest of its content, and its id."""

    mark: str
    id: str

    @classmethod
    def of(cls, message: Message) -> KnownMessage:
        return cls(mark(message), message.id)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request that was returned to the caller, and the reservation for it."""

    asked: Asked
    ticket: str

    @property
    def request(self) -> Request:
        return self.asked.sent.request


@dataclass(slots=True)
class OwnLoop:
    """One conversation whose loop the caller runs. `known` are its messages so far, in order."""

    session: Session
    meter: Meter
    known: list[KnownMessage] = field(default_factory=list)
    # The caller has sent its earlier messages as they are: no layer may change them on import, and
    # the thinking in them is valid.
    sent_as_is: bool = False
    # Why a stop hook wants the turn to continue; empty if none does.
    go_on: str = ""
    _pending: _Pending | None = None
    _paused: bool = False
    _recalling: ExitStack = field(default_factory=ExitStack)
    _memories: Prefetch | None = None

    async def prepare(self, history: Sequence[Message]) -> Request:
        """The next request for this history; messages in it need no ids."""
        check(history, may_pause=self._paused)
        shared = _shared_length(self.known, history)
        said = await self._hooked(history[shared:])
        fresh = self.add_new(shared, history)
        for one in said:
            self.session.conversation.say(one, origin="reverie")
        await self._recall(fresh)
        return await self.next_request()

    async def stopped(self, reply: Reply) -> None:
        """Run the person's stop hooks after a reply that calls no tool; see `go_on`."""
        hooks = self.session.hooks
        if hooks is not None and not calls_of(reply):
            self.go_on = await hooks.stopped(reply.text)

    async def _hooked(self, fresh: Sequence[Message]) -> tuple[Attachment, ...]:
        """What the person's hooks add to a new prompt; InputError if one of them refuses it."""
        if self.session.hooks is None or not fresh or fresh[-1].origin != "user":
            return ()
        self.go_on = ""
        said = await self.session.hooked_prompt(fresh[-1].blocks)
        if said is None:
            raise InputError("a hook refused the prompt; the event TroubleNoted says why")
        return said

    async def next_request(self) -> Request:
        """Make room, and reserve the money for the request to send now."""
        await self.session.make_room()
        self._release()
        asked = self.session.conversation.ask()
        self._pending = _Pending(asked, self.meter.ask(asked.sent.request))
        return asked.sent.request

    def observe(self, reply: Reply) -> None:
        """Record the model's reply to the request that was prepared last."""
        pending, self._pending = self._pending, None
        if pending is None:
            raise InputError(
                "observe() takes the response to what prepare() gave; call prepare() first, "
                "and observe each response once"
            )
        for event in self.session.conversation.take(reply, pending.asked):
            self.session.announce(event)
        if reply.blocks:
            self.known.append(KnownMessage.of(self.session.conversation.state.messages[-1]))
        self._paused = reply.stop == "paused"
        self.meter.settle(pending.ticket, pending.request, reply)
        self.session.notes.start_when_due()
        self.session.learn(reply)

    @property
    def asked(self) -> Assembled:
        """The request that was prepared last."""
        if self._pending is None:
            raise InputError("nothing was prepared yet; call prepare() first")
        return self._pending.asked.sent

    def sources(self, request: Request) -> tuple[int | None, ...]:
        """For each message of a request, its place in the caller's history; None for ours."""
        places = {message.id: i for i, message in enumerate(self.known)}
        return tuple(places.get(message.id) for message in request.messages)

    def close(self) -> None:
        """Cancel a running recall and an open reservation."""
        self._recalling.close()
        self._release()

    def add_new(self, shared: int, history: Sequence[Message]) -> list[Message]:
        """Add what follows the shared messages; rewind first where the caller changed its history."""
        if shared < len(self.known):
            shared = self._rewind(shared)
        return [self._say(message) for message in history[shared:]]

    def _rewind(self, shared: int) -> int:
        """Drop what follows the shared messages; drop all when those were compacted away."""
        conversation = self.session.conversation
        first: str | None = self.known[shared].id
        if all(message.id != first for message in conversation.state.messages):
            shared, first = 0, None
        conversation.expect_break("the caller changed its history")
        conversation.record(Rewound(first))
        self.session.notes.start_over()
        del self.known[shared:]
        return shared

    def _say(self, message: Message) -> Message:
        conversation = self.session.conversation
        if message.role == "assistant":
            # Imported history: store its tool results as a live turn would have.
            if not self.sent_as_is:
                self.session.upkeep.store_tool_results()
            after = conversation.state.messages[-1]
            added = new_message(
                "assistant",
                *message.blocks,
                after=after,
                at=conversation.now,
                bound_to=self._bound_to(message),
            )
            conversation.record(Said(added))
        else:
            added = conversation.say(*message.blocks, origin=message.origin)
        self.known.append(KnownMessage.of(added))
        return added

    def _bound_to(self, imported: Message) -> str | None:
        """The prefix after which the thinking of an imported reply is valid, if known."""
        if not self.sent_as_is or not any(isinstance(b, Thinking) for b in imported.blocks):
            return None
        return self.session.conversation.assembled().chain.digest

    async def _recall(self, fresh: Sequence[Message]) -> None:
        """Show memories after the person's new message; late ones after the next message."""
        if not fresh:
            return
        if self._memories is not None:
            self.session.show(self._memories.at_boundary())
        if fresh[-1].origin == "user":
            self._recalling.close()
            self._memories = self._recalling.enter_context(self.session.prefetch(fresh[-1]))
            found = await self._memories.ready(self.session.limits.recall_seconds)
            self.session.show(found)
            return
        results = [block for block in fresh[-1].blocks if isinstance(block, ToolResult)]
        if results:
            called = {result.tool_use_id for result in results}
            messages = self.session.conversation.state.messages
            last = next((m for m in reversed(messages) if m.role == "assistant"), None)
            uses = () if last is None else tuple(u for u in last.tool_uses if u.id in called)
            await self.session.recall_after_tools(uses, results)

    def _release(self) -> None:
        """Release the reservation of a request that was never answered."""
        pending, self._pending = self._pending, None
        if pending is not None:
            self.meter.settle(pending.ticket, pending.request, None)


def known_messages(records: Iterable[Record]) -> list[KnownMessage]:
    """The caller's messages in a journal."""
    found: list[KnownMessage] = []
    for record in records:
        match record:
            case Said(message) if message.origin != "reverie":
                found.append(KnownMessage.of(message))
            case Rewound(first):
                ids = [known.id for known in found]
                del found[ids.index(first) if first in ids else 0 :]
            case _:
                pass
    return found


def check(history: Sequence[Message], *, may_pause: bool = False) -> None:
    """Raise InputError, naming the message to correct, when a history cannot be sent."""
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
    """A digest of what a message says, whatever its format; thinking is not part of it."""
    digest = hashlib.blake2b(message.role.encode(), digest_size=16)
    for part in _parts(message):
        digest.update(b"\0" + part)
    return digest.hexdigest()


def _parts(message: Message) -> Iterator[bytes]:
    """Adjacent texts count as one, and replies are trimmed: some clients join and strip them."""
    of_model = message.role == "assistant"
    compared = (block for block in message.blocks if not _is_skipped(block, of_model=of_model))
    for texts, blocks in groupby(compared, key=lambda block: isinstance(block, Text)):
        if texts:
            text = "".join(block.text for block in blocks if isinstance(block, Text))
            yield (text.strip() if of_model else text).encode("utf-8", "surrogatepass")
        else:
            yield from map(_part, blocks)


def _is_skipped(block: Block, *, of_model: bool) -> bool:
    """Blocks that a client may drop from a reply, and attachments added by Reverie."""
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


def _shared_length(known: Sequence[KnownMessage], history: Sequence[Message]) -> int:
    """How many messages, from the first on, are the same on both sides."""
    for i, (entry, message) in enumerate(zip(known, history, strict=False)):
        if entry.mark != mark(message):
            return i
    return min(len(known), len(history))
