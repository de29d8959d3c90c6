"""`Context`: memory and context management for programs that call the model themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Protocol,
    TypeVar,
    runtime_checkable,
)

from reverie.api.history import History, read_history
from reverie.api.location import Location, Overrides
from reverie.api.memory import Memory, Remembering, open_for
from reverie.api.shapes import read_reply, read_system, read_tools
from reverie.api.shared_loop import Delivery, begin, loading, run, turn
from reverie.conversation import journal
from reverie.conversation.records import HeadFrozen, Record
from reverie.core.messages import Text
from reverie.core.request import Options, Request
from reverie.errors import InputError
from reverie.events import Event
from reverie.models.selection import make_model
from reverie.session.build import open_session
from reverie.session.options import ExternalLoop, SessionOptions
from reverie.session.own_loop import OwnLoop, check, known_messages

if TYPE_CHECKING:
    from os import PathLike

    from reverie.core.request import Head, Reply
    from reverie.memory.opening import OpenMemory
    from reverie.ports import Model
    from reverie.workspace import Workspace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What to send, as a `Request` and as keyword arguments for the provider's own SDK.

    The arguments fit `client.beta.messages.create` (Anthropic), `client.chat.completions.create` or
    `client.responses.create` (OpenAI); they are empty for other models. `sources` has, for each
    message of the request, the index of its message in the history (a message with both tool results
    and text counts as two); None for an added message.
    """

    request: Request
    arguments: Mapping[str, Any]
    sources: tuple[int | None, ...] = ()


@runtime_checkable
class _HasBody(Protocol):
    """A model that can render a request as an SDK's arguments."""

    def body(self, request: Request) -> dict[str, Any]: ...


class Context:
    """One conversation in a loop of your own: you call the model and run the tools.

    Before a call, `prepare` takes your whole history and returns what to send; after it, `observe`
    takes the response. Reverie takes care of memories, long results, the window, the prompt cache,
    notes, cost, and a journal from which `session` continues after a restart.

    All of it happens in a thread that the Contexts of a program share, so that your event loop stays
    free. Without an event loop use `with`, `prepare_sync` and `observe_sync`.
    """

    # Does the caller write requests itself, instead of sending the arguments?
    _reworded: ClassVar[bool] = False

    def __init__(  # noqa: PLR0913 - what a conversation is made of
        self,
        *,
        model: str | Model | None = None,
        memory: Remembering = None,
        system: str | Sequence[object] | None = None,
        tools: Sequence[object] | None = None,
        options: Options | None = None,
        session: str | None = None,
        listener: Callable[[Event], None] | None = None,
        project: str | PathLike[str] | None = None,
        home: str | PathLike[str] | None = None,
        settings: Overrides | None = None,
        user: str | None = None,
        hooks: bool = False,
    ) -> None:
        """`model` is a name as in `models.main` (its default), or a Model.

        `memory` defaults to the project's; False turns it off. `system`, `tools` and `options` are
        frozen for the conversation. `session` names it: an existing one continues, with the system
        prompt, tools and options it had unless others are given. `listener` is called with every event,
        in your thread. `hooks` runs the person's own hooks (docs/hooks.md), except those around tools,
        which are yours to run.
        """
        place = Location.of(project, home, settings, user=user)
        if isinstance(memory, Memory):
            # Refuse another user's memory now, not at the first call.
            place.beside(memory.place)
        elif project is None:
            # The program may change its working directory before the first call.
            place = replace(place, project=Path.cwd())
        # Opened by the first call, because reading files would block the caller's loop.
        self._place, self._given_memory = place, memory
        self._app: Workspace
        self._memory: OpenMemory | Literal[False] | None = None
        self._process = os.getpid()
        self._delivery = Delivery(listener)
        self._model = model
        self._system = None if system is None else read_system(system)
        self._tools = None if tools is None else read_tools(tools)
        self._options = options
        self._session = session
        self._hooks = hooks
        self._stack = AsyncExitStack()
        self._loop: OwnLoop | None = None
        self._renderer: _HasBody | None = None
        self._closed = False

    @property
    def session(self) -> str | None:
        """The name of the conversation; None before the first `prepare`, unless it was given."""
        return self._session

    @property
    def tokens(self) -> int:
        """The size of the conversation as it is sent, as far as known."""
        return 0 if self._loop is None else self._loop.session.conversation.state.tokens

    @property
    def go_on(self) -> str:
        """Why a stop hook wants the turn to continue: send it as the user's next message. Usually empty."""
        return "" if self._loop is None else self._loop.go_on

    async def prepare(self, messages: Sequence[object]) -> Prepared:
        """What to send for this history: with memories, stored results, and within the window.

        `messages` is the whole conversation each time, in your SDK's format. Do not shorten it:
        what no longer fits is summarized. Raises InputError for what cannot be sent, WindowFull if
        nothing makes it fit, SpendCapReached at a spending cap.
        """
        return await self._async(self._prepare(messages))

    async def observe(self, response: object) -> Reply:
        """Take in the response to the prepared request: an SDK's object or dictionary, or a Reply.

        For a stream, pass its final message. Notes are updated in the background.
        """
        return await self._async(self._observe(response))

    async def compact(self, instructions: str = "") -> None:
        """Summarize now, for instance because the provider says the prompt is too long."""
        await self._async(self._compact(instructions))

    async def aclose(self) -> None:
        """Wait for background work, and close the session."""
        await self._async(self._close())

    def prepare_sync(self, messages: Sequence[object]) -> Prepared:
        """`prepare` for synchronous code."""
        return self._sync(self._prepare(messages))

    def observe_sync(self, response: object) -> Reply:
        """`observe` for synchronous code."""
        return self._sync(self._observe(response))

    def compact_sync(self, instructions: str = "") -> None:
        """`compact` for synchronous code."""
        self._sync(self._compact(instructions))

    def close(self) -> None:
        """`aclose` for synchronous code."""
        self._sync(self._close())

    async def __aenter__(self) -> Context:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Context is an open conversation and cannot be pickled; pass on its `session`, and "
            "create Context(session=…) there"
        )

    async def _async(self, work: Coroutine[Any, Any, T]) -> T:
        self._delivery.called_here()
        return await run(self._of_this_process(work))

    def _sync(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return begin(self._of_this_process(work)).result()
        finally:
            self._delivery.deliver()

    def _of_this_process(self, work: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        if self._process == os.getpid():
            return work
        work.close()
        raise InputError(
            "this Context was created before the process forked; create another one in the child, "
            f"with session={self._session!r} to continue after the parent has closed it"
        )

    # --- in the shared loop ---

    async def _prepare(self, messages: Sequence[object]) -> Prepared:
        history = read_history(messages)
        await turn()
        with loading():
            loop = await self._opened(history)
            self._require_system(history)
            request = await loop.prepare(history.messages)
        return Prepared(request, self._arguments(request), loop.sources(request))

    async def _observe(self, response: object) -> Reply:
        if self._loop is None:
            raise InputError("nothing was prepared yet; call prepare() first")
        reply = read_reply(response)
        await turn()
        self._loop.observe(reply)
        await self._loop.stopped(reply)
        return reply

    async def _compact(self, instructions: str) -> None:
        if self._loop is not None:
            await self._loop.session.upkeep.compact_now(instructions=instructions)

    async def _close(self) -> None:
        self._closed = True
        if self._loop is not None:
            self._loop.close()
            await self._loop.session.aclose()
        await self._stack.aclose()

    async def _opened(self, history: History) -> OwnLoop:
        if self._closed:
            raise InputError(
                "this Context is closed; create another, with the same session to continue"
            )
        if self._loop is None:
            # Before a journal is created: a history that cannot be sent leaves nothing behind.
            check(history.messages)
            self._app, self._memory = open_for(self._given_memory, self._place)
            if not self._system and history.system:
                self._system = (Text(history.system),)
            self._loop = await self._open(self._past())
        return self._loop

    async def _open(self, past: Path | None) -> OwnLoop:
        records = () if past is None else journal.load(past).records
        options = self._session_options(_frozen(records))
        options = replace(options, resume=past, session=self._session)
        if isinstance(self._model, str | None):
            name = self._model or self._app.settings.model("main")
            # It only renders requests here: the caller's loop makes the calls.
            options, model = replace(options, model=name), make_model(self._app.settings, name)
        else:
            options, model = replace(options, ready=self._model), self._model
        session = await self._stack.enter_async_context(open_session(self._app, options))
        self._stack.enter_context(session.announce.subscribed(self._delivery.hear))
        self._session = session.conversation.state.session
        self._renderer = model if isinstance(model, _HasBody) else None
        meter = self._app.metered(model, session=self._session, announce=session.announce)
        return OwnLoop(session, meter, known_messages(records))

    def _session_options(self, frozen: Head | None) -> SessionOptions:
        """Options with the system prompt, tools and options that were given, else those frozen before."""
        if frozen is not None:
            self._system = frozen.system if self._system is None else self._system
            self._tools = read_tools(frozen.tools) if self._tools is None else self._tools
            self._options = self._options or frozen.options
        loop = ExternalLoop(
            self._system or (), self._options, reworded=self._reworded, hooks=self._hooks
        )
        return SessionOptions(tools=self._tools or (), memory=self._memory, external_loop=loop)

    def _past(self) -> Path | None:
        if self._session is None:
            return None
        path = self._app.project.journal(self._session)
        if path.parent != self._app.project.sessions or path.name.startswith("."):
            raise InputError(
                f"the session {self._session!r} cannot be used as a file name; give a plain one"
            )
        return path if path.exists() else None

    def _require_system(self, history: History) -> None:
        """Refuse a system prompt in the messages that differs from the frozen one."""
        if history.system is None:
            return
        frozen = "\n\n".join(block.text for block in self._system or ())
        if history.system != frozen:
            raise InputError(
                "the system message differs from the one this conversation began with; "
                "keep it unchanged, or create another Context"
            )

    def _arguments(self, request: Request) -> dict[str, Any]:
        if self._renderer is None:
            return {}
        # Only valid for a streaming call; a caller that streams adds it itself.
        body = self._renderer.body(request)
        return {key: value for key, value in body.items() if key != "stream_options"}


def _frozen(records: Sequence[Record]) -> Head | None:
    """The head with which the session's last request was sent."""
    heads = (record.head for record in reversed(records) if isinstance(record, HeadFrozen))
    return next(heads, None)
