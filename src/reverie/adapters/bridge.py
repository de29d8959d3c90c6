"""Passes a framework's history through a `Context` and back.

Unchanged entries stay the framework's own objects; only what Reverie adds or replaces is newly
written. After a failure, which is reported, the history is sent unchanged.
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

from reverie.api.context import Context
from reverie.api.location import Location
from reverie.api.memory import open_for
from reverie.api.shared_loop import begin, close_at_exit
from reverie.core.messages import Message, Text, Thinking, ToolUse
from reverie.core.request import Reply, attachment_text
from reverie.errors import InputError, SpendCapReached
from reverie.events import TroubleNoted

if TYPE_CHECKING:
    from os import PathLike

    from reverie.api.context import Prepared
    from reverie.api.location import Overrides
    from reverie.api.memory import Remembering
    from reverie.core.messages import Block
    from reverie.core.usage import Usage
    from reverie.events import Event
    from reverie.workspace import Workspace

log = logging.getLogger(__name__)

E = TypeVar("E")
T = TypeVar("T")

_LONGEST_NAME = 100
_MOST_OPEN = 64


class AdapterOptions(TypedDict, total=False):
    """Options of every adapter, as for `reverie.Context`; the model defaults to the agent's own.

    The listener is called in one of Reverie's threads.
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
    """System prompt and tools of a framework's call, and its model, if known."""

    model: str | None
    system: str
    tools: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Turn(Generic[E]):
    """One Reverie message, and the framework's entries it was read from."""

    message: Message
    entries: tuple[E, ...]


class Dialect(Protocol[E]):
    """Converts between a framework's entries and Reverie's messages."""

    def read(self, entries: Sequence[E]) -> list[Turn[E]]:
        """The conversation as Reverie's messages; tool results and the user's text are separate messages."""

    def with_results(self, entries: Sequence[E], texts: Mapping[str, str]) -> list[E]:
        """The same entries, with the results of these calls replaced by these texts."""

    def written(self, message: Message, names: Mapping[str, str]) -> list[E]:
        """A Reverie message as entries; `names` maps call ids to tool names."""


class _Reworded(Context):
    """A context whose requests are written by a framework."""

    _reworded = True


class Bridge(Generic[E]):
    """One conversation of a framework.

    Each run passes a value of its own as `run`: if another run calls `prepare` before this run's reply
    arrives, the conversation continues with the other, and this reply is dropped. Heads and replies
    are passed as functions and read here, so that one that cannot be read does not stop the agent.
    """

    def __init__(
        self, dialect: Dialect[E], options: AdapterOptions, session: str | None = None
    ) -> None:
        self._dialect = dialect
        self._options = options
        self._session = None if session is None else plain_name(session)
        self._head: Head | None = None
        self._context: Context | None = None
        self._run: object = None
        self._prepared = False
        self._length = 0
        self._history: tuple[Message, ...] = ()
        # None while a reply is awaited.
        self._answered: tuple[Message, ...] | None = None
        self._lock = asyncio.Lock()
        close_at_exit(self)

    async def prepare(self, run: object, head: Callable[[], Head], entries: Sequence[E]) -> list[E]:
        """What to send in place of the history: with memories, stored results, and within the window."""
        return await asyncio.wrap_future(self._preparing(run, head, entries))

    def prepare_sync(self, run: object, head: Callable[[], Head], entries: Sequence[E]) -> list[E]:
        return self._preparing(run, head, entries).result()

    async def observe(self, run: object, reply: Callable[[], Reply]) -> None:
        """Take in the model's reply."""
        await asyncio.wrap_future(self._observing(run, reply))

    def observe_sync(self, run: object, reply: Callable[[], Reply]) -> None:
        self._observing(run, reply).result()

    def take_up(self, history: tuple[Message, ...]) -> None:
        """Start on this history, whose reply is awaited."""
        self._history, self._answered = history, None

    def leads_to(self, history: tuple[Message, ...]) -> int:
        """How many messages at the start of a history were exchanged here; 0 for another conversation."""
        answered = self._answered or ()
        return (
            len(answered)
            if len(answered) < len(history) and history[: len(answered)] == answered
            else 0
        )

    async def aclose(self) -> None:
        """Wait for background work, and close the session; the next call opens it again."""
        await asyncio.wrap_future(self.closing())

    def close(self) -> None:
        self.closing().result()

    def closing(self) -> Future[None]:
        return begin(self._locked(self._close))

    async def _locked(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run one piece of work at a time, in order."""
        async with self._lock:
            return await work()

    def _preparing(
        self, run: object, head: Callable[[], Head], entries: Sequence[E]
    ) -> Future[list[E]]:
        return begin(self._locked(lambda: self._prepare(run, head, entries)))

    def _observing(self, run: object, reply: Callable[[], Reply]) -> Future[None]:
        return begin(self._locked(lambda: self._observe(run, reply)))

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
        except Exception as error:  # noqa: BLE001 - the agent must go on without memory
            self._report("the history is sent as it is", error)
            return list(entries)
        self._prepared = True
        return sent

    async def _observe(self, run: object, reply: Callable[[], Reply]) -> None:
        try:
            self._require_current(run)
            answer = reply()
            self._take_reply(answer)
            if self._prepared and self._context is not None:
                self._prepared = False
                named = answer.id or f"reply-{self._length}"
                await self._context.observe(replace(answer, id=named))
        except Exception as error:  # noqa: BLE001 - the agent must go on without memory
            self._report("a reply was not recorded", error)

    def _require_current(self, run: object) -> None:
        if self._run not in (None, run):
            raise InputError(
                "another run of the same conversation asked before this reply came; "
                "give each its own session"
            )

    def _take_reply(self, reply: Reply) -> None:
        answer = read_message("assistant", *reply.blocks)
        self._answered = (*self._history, answer) if reply.blocks else self._history

    async def _opened(self, head: Head) -> Context:
        """The context for this head; a new head continues the conversation in a new context."""
        if self._context is None or head != self._head:
            await self._close()
            self._head = head
            options: Any = {"session": self._session, **self._options}
            options["model"] = options.get("model") or head.model
            self._context = _Reworded(system=head.system, tools=head.tools, **options)
        return self._context

    async def _close(self) -> None:
        context, self._context = self._context, None
        self._prepared = False
        if context is not None:
            self._session = context.session
            try:
                await context.aclose()
            except Exception as error:  # noqa: BLE001 - it is closed either way
                self._report("a session was not closed cleanly", error)

    def _report(self, what: str, error: Exception) -> None:
        log.warning("memory: %s: %r", what, error)
        listener = self._options.get("listener")
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
        """The framework's own entries, unless a result was replaced or thinking was dropped."""
        original = set(turn.message.tool_results)
        texts = {r.tool_use_id: r.text for r in message.tool_results if r not in original}
        if texts:
            return self._dialect.with_results(turn.entries, texts)
        if _thinks(turn.message) and not _thinks(message):
            return self._dialect.written(message, names)
        return turn.entries


class Bridges(Generic[E]):
    """The conversations of one agent, by the framework's id for each."""

    def __init__(self, dialect: Dialect[E], options: AdapterOptions, prefix: str) -> None:
        self._dialect = dialect
        self._options = options
        self._prefix = prefix
        # Conversations without an id have a number.
        self._open: dict[str | int, Bridge[E]] = {}
        self._numbers = count()
        self._choosing = threading.Lock()

    def of(self, conversation: str) -> Bridge[E]:
        """The bridge of a conversation; the least recently used one is closed if there are too many."""
        with self._choosing:
            return self._used(conversation, f"{self._prefix}-{conversation}")

    def of_history(self, entries: Sequence[E]) -> Bridge[E]:
        """The bridge that answered this history so far; an unknown history gets a new one."""
        history = self._messages(entries)
        with self._choosing:
            unnamed = ((key, one) for key, one in self._open.items() if isinstance(key, int))
            known = {one.leads_to(history): key for key, one in unnamed}
            longest = max(known, default=0)
            found = self._used(known[longest] if longest else next(self._numbers), None)
            found.take_up(history)
        return found

    def close(self) -> None:
        """Wait for background work, and close all sessions."""
        wait([bridge.closing() for bridge in self._open.values()])

    async def aclose(self) -> None:
        await asyncio.gather(*(bridge.aclose() for bridge in self._open.values()))

    def _used(self, key: str | int, session: str | None) -> Bridge[E]:
        found = self._open.pop(key, None) or Bridge(self._dialect, self._options, session)
        self._open[key] = found
        if len(self._open) > _MOST_OPEN:
            self._open.pop(next(iter(self._open))).closing()
        return found

    def _messages(self, entries: Sequence[E]) -> tuple[Message, ...]:
        """The messages; none if they cannot be read, which the bridge will report."""
        with suppress(Exception):
            return tuple(turn.message for turn in joined(self._dialect.read(entries)))
        return ()


def joined(turns: Sequence[Turn[E]]) -> list[Turn[E]]:
    """The turns without empty ones, whose entries are added to the next turn, or to the last."""
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


def read_message(role: str, *blocks: Block) -> Message:
    """A message read from a framework, which has no id for it."""
    return Message("", "assistant" if role == "assistant" else "user", blocks)


def mark(part: object) -> Text:
    """A placeholder for content only the framework understands; the content itself is sent unchanged."""
    kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
    seen = json.dumps(part, sort_keys=True, default=repr).encode()
    return Text(f"[{kind} {hashlib.blake2b(seen, digest_size=6).hexdigest()}]")


def text_of(message: Message) -> str:
    """The text of a Reverie message, as the model reads it."""
    return "\n\n".join(text for block in message.blocks if (text := _block_text(block)))


def plain_name(session: str) -> str:
    """A framework's id of a conversation as a file name; different ids give different names."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", session).lstrip(".")[:_LONGEST_NAME]
    if plain and plain == session:
        return plain
    digest = hashlib.blake2b(session.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{plain or 'session'}-{digest}"


def app_of(options: Mapping[str, Any]) -> Workspace:
    """The workspace that an adapter's options name."""
    where = (options.get("project"), options.get("home"), options.get("settings"))
    return open_for(options.get("memory"), Location.of(*where, user=options.get("user")))[0]


def reply_of(id_: str | None, model: str | None, blocks: Sequence[Block], usage: Usage) -> Reply:
    """A framework's reply; it stops for its tool calls, if it has any."""
    calls = any(isinstance(block, ToolUse) for block in blocks)
    return Reply(id_ or "", model or "", tuple(blocks), "tool_use" if calls else "end", usage)


def missing(package: str, name: str) -> InputError:
    """The error for an adapter that is imported without its framework."""
    return InputError(f"{name} needs the package {package}; install it with: pip install {package}")


def _block_text(block: Block) -> str:
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
