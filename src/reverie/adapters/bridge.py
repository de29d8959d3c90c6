"""A framework's history through a `Context` and back.

What is sent as it was said stays the framework's own object; only what Reverie adds or replaces is
written anew. A failure is told, and the history goes as it is.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypedDict, TypeVar

from reverie.adapters.own_loop import begin, close_at_exit
from reverie.api.context import Context
from reverie.core.messages import Message, Text, Thinking
from reverie.core.request import Reply, attachment_text
from reverie.errors import InputError, SpendCapReached
from reverie.events import TroubleNoted

if TYPE_CHECKING:
    from os import PathLike

    from reverie.api.context import Prepared
    from reverie.api.memory import Overrides, Remembering
    from reverie.core.messages import Block
    from reverie.events import Event

log = logging.getLogger(__name__)

E = TypeVar("E")
T = TypeVar("T")

_LONGEST_NAME = 100
_MOST_OPEN = 64


class AdapterOptions(TypedDict, total=False):
    """What every adapter takes, as `reverie.Context` does; the model is the agent's own if not named.

    The listener is called in a thread of Reverie's.
    """

    memory: Remembering
    model: str | None
    project: str | PathLike[str] | None
    home: str | PathLike[str] | None
    settings: Overrides | None
    user: str | None
    listener: Callable[[Event], None] | None


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the messages of a framework's call, and the model it goes to, if known."""

    model: str | None
    system: str
    tools: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Turn(Generic[E]):
    """One message of ours, and the framework's entries it was read from."""

    message: Message
    entries: tuple[E, ...]


class Dialect(Protocol[E]):
    """How a framework writes a conversation down."""

    def read(self, entries: Sequence[E]) -> list[Turn[E]]:
        """The conversation as ours: tool results and a person's words in messages of their own."""
        ...

    def with_results(self, entries: Sequence[E], texts: Mapping[str, str]) -> list[E]:
        """The same entries with these texts for the results of these calls."""
        ...

    def written(self, message: Message, names: Mapping[str, str]) -> list[E]:
        """A message of ours as entries; `names` are those of the tools, by the id of a call."""
        ...


class _Reworded(Context):
    """A context whose requests a framework writes."""

    _reworded = True


class Bridge(Generic[E]):
    """One conversation of a framework.

    Each run says who it is (`run`, any value of its own): when another asks before its reply has
    come, the conversation is the other's, and that reply is not taken in. Heads and replies are
    read here, so that one that cannot be read stops nobody.
    """

    def __init__(
        self, dialect: Dialect[E], given: AdapterOptions, session: str | None = None
    ) -> None:
        self._dialect = dialect
        self._given = given
        self._session = None if session is None else plain_name(session)
        self._head: Head | None = None
        self._context: Context | None = None
        self._run: object = None
        self._prepared = False
        self._length = 0
        self._asked: tuple[Message, ...] = ()
        # None while a reply is awaited.
        self._heard: tuple[Message, ...] | None = None
        self._turn = asyncio.Lock()
        close_at_exit(self)

    async def prepare(self, run: object, head: Callable[[], Head], entries: Sequence[E]) -> list[E]:
        """What to send instead of the history: memories added, results stored, the window kept."""
        return await asyncio.wrap_future(self._preparing(run, head, entries))

    def prepare_sync(self, run: object, head: Callable[[], Head], entries: Sequence[E]) -> list[E]:
        return self._preparing(run, head, entries).result()

    async def observe(self, run: object, reply: Callable[[], Reply]) -> None:
        """What the model answered."""
        await asyncio.wrap_future(self._observing(run, reply))

    def observe_sync(self, run: object, reply: Callable[[], Reply]) -> None:
        self._observing(run, reply).result()

    def take_up(self, history: tuple[Message, ...]) -> None:
        """From now on it is busy with this history, until the reply comes."""
        self._asked, self._heard = history, None

    def leads_to(self, history: tuple[Message, ...]) -> int:
        """How much of a history was said here, reply and all; 0 when it is another conversation."""
        heard = self._heard or ()
        return len(heard) if len(heard) < len(history) and history[: len(heard)] == heard else 0

    async def aclose(self) -> None:
        """Let background work finish, and let go of the session; the next call opens it again."""
        await asyncio.wrap_future(self.closing())

    def close(self) -> None:
        self.closing().result()

    def closing(self) -> Future[None]:
        return begin(self._alone(self._close))

    async def _alone(self, work: Callable[[], Awaitable[T]]) -> T:
        """One thing at a time, in the order it came."""
        async with self._turn:
            return await work()

    def _preparing(
        self, run: object, head: Callable[[], Head], entries: Sequence[E]
    ) -> Future[list[E]]:
        return begin(self._alone(lambda: self._prepare(run, head, entries)))

    def _observing(self, run: object, reply: Callable[[], Reply]) -> Future[None]:
        return begin(self._alone(lambda: self._observe(run, reply)))

    async def _prepare(
        self, run: object, head: Callable[[], Head], entries: Sequence[E]
    ) -> list[E]:
        self._run, self._prepared = run, False
        try:
            turns = joined(self._dialect.read(entries))
            self._length = len(turns)
            context = await self._opened(head())
            prepared = await context.prepare([turn.message for turn in turns])
            sent = self._sent(prepared, turns)
        except SpendCapReached:
            raise
        except Exception as error:  # noqa: BLE001 - whatever happens to memory, the agent goes on
            self._tell("the history goes as it is", error)
            return list(entries)
        self._prepared = True
        return sent

    async def _observe(self, run: object, reply: Callable[[], Reply]) -> None:
        try:
            self._require_current(run)
            answer = reply()
            self._hear(answer)
            if self._prepared and self._context is not None:
                self._prepared = False
                named = answer.id or f"reply-{self._length}"
                await self._context.observe(replace(answer, id=named))
        except Exception as error:  # noqa: BLE001 - whatever happens to memory, the agent goes on
            self._tell("a reply was not taken in", error)

    def _require_current(self, run: object) -> None:
        if self._run not in (None, run):
            raise InputError(
                "another run of the same conversation asked before this reply came; "
                "give each its own session"
            )

    def _hear(self, reply: Reply) -> None:
        answer = said("assistant", *reply.blocks)
        self._heard = (*self._asked, answer) if reply.blocks else self._asked

    async def _opened(self, head: Head) -> Context:
        """A context for this head. Where another comes, the conversation goes on under it."""
        if self._context is None or head != self._head:
            await self._close()
            self._head = head
            given: Any = {"session": self._session, **self._given}
            given["model"] = given.get("model") or head.model
            self._context = _Reworded(system=head.system, tools=head.tools, **given)
        return self._context

    async def _close(self) -> None:
        context, self._context = self._context, None
        self._prepared = False
        if context is not None:
            self._session = context.session
            try:
                await context.aclose()
            except Exception as error:  # noqa: BLE001 - it is over either way
                self._tell("a session was not closed cleanly", error)

    def _tell(self, what: str, error: Exception) -> None:
        log.warning("memory: %s: %r", what, error)
        listener = self._given.get("listener")
        if listener is not None:
            with suppress(Exception):
                listener(TroubleNoted("adapters", f"{error!r}; {what}"))

    def _sent(self, prepared: Prepared, turns: Sequence[Turn[E]]) -> list[E]:
        messages = prepared.request.messages
        names = {use.id: use.name for message in messages for use in message.tool_uses}
        sent: list[E] = []
        for message, source in zip(messages, prepared.sources, strict=True):
            if source is None:
                sent += self._dialect.written(message, names)
            else:
                sent += self._as_sent(turns[source], message, names)
        return sent

    def _as_sent(self, turn: Turn[E], message: Message, names: Mapping[str, str]) -> Sequence[E]:
        """The framework's own entries, except where a result or thinking is not sent as it was."""
        said = set(turn.message.tool_results)
        texts = {r.tool_use_id: r.text for r in message.tool_results if r not in said}
        if texts:
            return self._dialect.with_results(turn.entries, texts)
        if _thinks(turn.message) and not _thinks(message):
            return self._dialect.written(message, names)
        return turn.entries


class Bridges(Generic[E]):
    """The conversations of one agent, by the framework's name for each."""

    def __init__(self, dialect: Dialect[E], given: AdapterOptions, prefix: str) -> None:
        self._dialect = dialect
        self._given = given
        self._prefix = prefix
        # Conversations without a name have a number.
        self._open: dict[str | int, Bridge[E]] = {}
        self._numbers = count()
        self._choosing = threading.Lock()

    def of(self, conversation: str) -> Bridge[E]:
        """The bridge of a conversation; the one that was not used for longest makes room."""
        with self._choosing:
            return self._used(conversation, f"{self._prefix}-{conversation}")

    def of_history(self, entries: Sequence[E]) -> Bridge[E]:
        """The bridge on which a history was answered so far; a history from elsewhere gets its own."""
        history = self._messages(entries)
        with self._choosing:
            unnamed = ((key, one) for key, one in self._open.items() if isinstance(key, int))
            known = {one.leads_to(history): key for key, one in unnamed}
            longest = max(known, default=0)
            found = self._used(known[longest] if longest else next(self._numbers), None)
            found.take_up(history)
        return found

    def close(self) -> None:
        """Let background work finish, and let go of all sessions."""
        wait([bridge.closing() for bridge in self._open.values()])

    async def aclose(self) -> None:
        await asyncio.gather(*(bridge.aclose() for bridge in self._open.values()))

    def _used(self, key: str | int, session: str | None) -> Bridge[E]:
        found = self._open.pop(key, None) or Bridge(self._dialect, self._given, session)
        self._open[key] = found
        if len(self._open) > _MOST_OPEN:
            self._open.pop(next(iter(self._open))).closing()
        return found

    def _messages(self, entries: Sequence[E]) -> tuple[Message, ...]:
        """Nothing where they cannot be read: the bridge that gets them says so."""
        with suppress(Exception):
            return tuple(turn.message for turn in joined(self._dialect.read(entries)))
        return ()


def joined(turns: Sequence[Turn[E]]) -> list[Turn[E]]:
    """Without turns that say nothing: their entries go along with the next turn, or the last."""
    found: list[Turn[E]] = []
    waiting: tuple[E, ...] = ()
    for turn in turns:
        if turn.message.blocks:
            found.append(Turn(turn.message, (*waiting, *turn.entries)))
            waiting = ()
        else:
            waiting += turn.entries
    if waiting and found:
        found[-1] = replace(found[-1], entries=(*found[-1].entries, *waiting))
    return found


def said(role: str, *blocks: Block) -> Message:
    """A message that was read from a framework; its id is not known there."""
    return Message("", "assistant" if role == "assistant" else "user", blocks)


def mark(part: object) -> Text:
    """Content only the framework understands: it is sent as it is, and known again by this mark."""
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    seen = json.dumps(part, sort_keys=True, default=repr).encode()
    return Text(f"[{kind} {hashlib.blake2b(seen, digest_size=6).hexdigest()}]")


def text_of(message: Message) -> str:
    """What a message of ours says to the model, in one text."""
    return "\n\n".join(text for block in message.blocks if (text := _said(block)))


def plain_name(session: str) -> str:
    """A framework's name for a conversation as a file name; different names stay different."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", session).lstrip(".")[:_LONGEST_NAME]
    if plain and plain == session:
        return plain
    digest = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain or 'session'}-{digest}"


def missing(package: str, name: str) -> InputError:
    """Whoever imports an adapter without its framework is told what to install."""
    return InputError(f"{name} needs the package {package}; install it with: pip install {package}")


def _said(block: Block) -> str:
    match block.kind:
        case "text":
            return block.text
        case "attachment":
            return attachment_text(block)
        case "image" | "document":
            return f"[{block.kind}]"
        case _:
            return ""


def _thinks(message: Message) -> bool:
    return any(isinstance(block, Thinking) for block in message.blocks)
