"""Builds a session: model, tools, layers and memory around one conversation."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reverie.agent.fork import Forks, Limits
from reverie.agent.processes import Background, Broadcast
from reverie.agent.tools import Tool
from reverie.context.head import slim_spec
from reverie.context.microcompaction import context_edits
from reverie.context.snip import Folding
from reverie.conversation import journal
from reverie.conversation.conversation import Conversation
from reverie.conversation.journal import Journal
from reverie.conversation.records import HeadFrozen, Said
from reverie.conversation.state import SessionState
from reverie.core.messages import Message
from reverie.core.prompt_cache import placed
from reverie.core.request import Head, Options
from reverie.errors import InputError
from reverie.files.locks import sole
from reverie.learning import ended_sessions
from reverie.learning.dreaming.log import log_tool
from reverie.models.selection import OFFLINE
from reverie.recall.service import choose_embedder, open_ranker
from reverie.session.crew import accept_letters, close_crew, new_crew, record_crew, watched
from reverie.session.layers import Layers, SessionCore
from reverie.session.options import SessionModel, SessionOptions
from reverie.session.query import Session
from reverie.session.system_prompt import Reminders, reminder_key, system_of
from reverie.session.tools import Tools
from reverie.subagents.crew import Place as TeamPlace

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.recall.ranker import IndexRanker
    from reverie.session.prefetch import Late
    from reverie.workspace import Workspace

MOST_OUTPUT = 32_000
# The most an SDK accepts in a request that is not streamed.
MOST_OUTPUT_AT_ONCE = 16_000
DRAIN_SECONDS = 60.0


@asynccontextmanager
async def open_session(app: Workspace, options: SessionOptions) -> AsyncIterator[Session]:
    """Open a session; everything it opened is closed afterwards, background work first."""
    async with AsyncExitStack() as stack:
        yield await _Composer(app, options, stack).compose()


@dataclass(slots=True)
class _Composer:
    """Builds each part once; what must be closed goes on the stack."""

    app: Workspace
    options: SessionOptions
    stack: AsyncExitStack
    announce: Broadcast = field(default_factory=Broadcast)
    _said: tuple[Message, ...] = ()

    async def compose(self) -> Session:
        state = self._resumed()
        session = state.session or self.options.session or new_session_id(self.app.clock.now())
        self.stack.enter_context(self._alone(session))
        models = SessionModel(self.app, self.options, session, self.announce, self.stack)
        conversation = Conversation(
            self.stack.enter_context(
                Journal(self._sessions / f"{session}.jsonl", self.app.scrubber)
            ),
            models.metered(models.purpose, models.now),
            self.app.clock,
            state=state,
            policy=placed(self.app.settings.cache_ttl),
            announce=self.announce,
        )
        folding = Folding(conversation, models.window, self.app.switches.on, self.announce)
        memory = self._memory()
        ranker = None if memory is None else self._ranker(memory, session)
        place = self._place(session)
        tools = Tools(self.app, self.options, folding, ranker, place, self._log(memory, session))
        toolbox = tools.toolbox(state, self.announce)
        core = SessionCore(models, conversation, folding, toolbox, memory, ranker, place)
        if state.head is None:
            conversation.open(session, self._head(core), str(self.app.project.root))
        elif self.options.external_loop is not None or state.head.model != models.now.name:
            self._renew_head(core)
        return await self._around(core)

    async def _around(self, core: SessionCore) -> Session:
        """Add the layers and recall to an open conversation."""
        conversation, toolbox, on = core.conversation, core.toolbox, self.app.switches.on
        session = conversation.state.session
        folder = self._sessions / session
        background = Background(self.announce)
        # The notes of a sub-agent that has ended are not read any more.
        seconds = DRAIN_SECONDS if self.options.subagent is None else 0.0
        self.stack.push_async_callback(background.drain, seconds)
        models = core.models
        forks = Forks(
            conversation,
            toolbox,
            folder / "forks",
            models.metered,
            self.announce,
            self.app.scrubber,
        )
        offline = models.now.name == OFFLINE
        side = core.folding.forks = None if offline else forks
        # Offline, recall is the whole answer: wait for it.
        deadline = None if offline else self.app.settings.number("recall.deadline")
        # Forks write with our tools; with an external loop's tools, only rules write.
        writers = None if self.options.external_loop else side
        layers = Layers(
            self.app, self.options, core, self._sessions, self._said, self.stack, self.announce
        )
        notes = layers.notes(background, writers)
        upkeep = layers.upkeep(notes, side, partial(self._head, core))
        layers.index_past(background)
        if self.options.subagent is None and core.memory is not None:
            ended_sessions.begin(self.app, background, self.announce)
        hooks = layers.hooks(upkeep)
        if core.place is not None:
            await self._settle(core.place, core, side)
        return Session(
            conversation,
            toolbox,
            upkeep,
            core.folding,
            notes,
            background,
            self.announce,
            learning=layers.learning(background, writers),
            dreaming=layers.dreaming(background, writers),
            recall=layers.recall(),
            recall_on=lambda: on("recall"),
            reminders=Reminders(
                conversation,
                self.app.clock,
                daily_log=lambda: on("daily_log"),
                sources=() if core.place is None else (core.place.identity.new_letters,),
            ),
            place=core.place,
            change_to_fallback=models.change_to_fallback,
            late=cast("Late", self.app.settings["recall.late"]),
            limits=Limits(requests=self._max_requests, recall_seconds=deadline),
            stops_all=self.app.settings["agent.on_interrupt"] == "stop",
            hooks=hooks,
        )

    def _alone(self, session: str) -> AbstractContextManager[None]:
        """Lock the session: two processes would write into the same conversation."""
        problem = f"session {session} is open elsewhere; close it there, or begin a new one"
        return sole(self._sessions / session / "lock", problem)

    @property
    def _sessions(self) -> Path:
        """The folder of transcripts; those of sub-agents are in a folder of their parent's."""
        subagent = self.options.subagent
        return self.app.project.sessions if subagent is None else subagent.folder

    @property
    def _max_requests(self) -> int:
        subagent = self.options.subagent
        own = None if subagent is None else subagent.brief.agent_type.max_turns
        most = int(self.app.settings.number("agent.max_requests"))
        return most if own is None else min(own, most)

    # --- other agents ---

    def _place(self, session: str) -> TeamPlace | None:
        if self.options.external_loop or not self.app.switches.on("agents"):
            return None
        subagent = self.options.subagent
        if subagent is not None and subagent.place is not None:
            return subagent.place
        return new_crew(
            self.app, self.options, self._sessions / session, self.announce, open_session
        )

    async def _settle(
        self,
        place: TeamPlace,
        core: SessionCore,
        forks: Forks | None,
    ) -> None:
        """Give the agent its conversation and forks; stop its sub-agents when it ends."""
        conversation = core.conversation
        place.identity.conversation, place.identity.forks = conversation, forks
        subagent = self.options.subagent
        if subagent is not None and subagent.place is not None:
            return
        record_crew(place.crew, conversation)
        watching = watched(self.app, place.crew, core.models.metered)
        await self.stack.enter_async_context(watching)
        self.stack.push_async_callback(close_crew, place)
        if subagent is None and self.app.switches.on("agent_socket"):
            session = conversation.state.session
            self.stack.enter_context(accept_letters(place, session))

    def _resumed(self) -> SessionState:
        if self.options.resume is None:
            return SessionState()
        records = journal.load(self.options.resume).records
        state = SessionState.replay(records)
        if state.head is None:
            raise InputError(
                f"{self.options.resume.name} cannot be resumed: it is not a session of `reverie chat`"
            )
        self._said = tuple(record.message for record in records if isinstance(record, Said))
        return state

    def _memory(self) -> OpenMemory | None:
        if self.options.memory is not None:
            return self.options.memory or None
        return self.app.memory() if self.app.settings.memory_enabled else None

    def _log(self, memory: OpenMemory | None, session: str) -> Tool | None:
        if memory is None or not self.app.switches.on("daily_log"):
            return None
        return log_tool(self.app, memory, session)

    def _head(self, core: SessionCore) -> Head:
        """System prompt, tools and options as they are now; the caller freezes them."""
        model, toolbox = core.models.now, core.toolbox
        external, frozen = self.options.external_loop, core.conversation.state.head
        # The system prompt of an external loop names no key.
        key = frozen.reminder_key if frozen else "" if external else reminder_key(self.app)
        system = (
            external.system if external else system_of(self.app, self.options, core.memory, key)
        )
        declared = external.tools if external else None
        tools = tuple(map(slim_spec, toolbox.specs)) if declared is None else declared
        return Head(model.name, system, tools, self._options(core), key)

    def _renew_head(self, core: SessionCore) -> None:
        """An external loop may resume with another head, and any session with another model."""
        head = self._head(core)
        if head != core.conversation.state.head:
            core.conversation.expect_break("the model, system prompt, tools or options changed")
            core.conversation.record(HeadFrozen(head))

    def _options(self, core: SessionCore) -> Options:
        model, toolbox, external = core.models.now, core.toolbox, self.options.external_loop
        can = model.capabilities
        if external is not None and external.options is not None:
            options = external.options
        else:
            most = MOST_OUTPUT if external is None else MOST_OUTPUT_AT_ONCE
            options = Options(
                max_tokens=min(most, can.max_output or Options().max_tokens),
                thinking="adaptive" if "adaptive" in can.thinking else None,
            )
        # Clearing by the provider breaks its cache; where prices are known, our batches cost less.
        counted = self.app.switches.on("microcompact_batch") and model.prices is not None
        if counted or not self.app.switches.on("microcompact_server"):
            return options
        names = tuple(toolbox.tools)
        declared = frozenset(name for name, tool in toolbox.tools.items() if tool.clearable)
        edits = context_edits(can, core.folding.window, options.thinking, names, declared)
        return replace(options, edits=edits)

    def _ranker(self, memory: OpenMemory, session: str) -> IndexRanker:
        embedder = choose_embedder(self.app, session, self.announce)
        return self.stack.enter_context(
            open_ranker(memory, self.app.clock, embedder, self.announce)
        )


def new_session_id(now: float) -> str:
    """An id that sorts by time, with a random part to distinguish sessions of the same second."""
    return f"{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
