"""An agent put together: model, tools, layers and memory around one conversation."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reverie.agent.kit import standard_kit
from reverie.agent.kit.web_fetch import web_fetch_tool
from reverie.agent.permissions import (
    Consent,
    Permission,
    also_within,
    by_mode,
)
from reverie.agent.todos import Todo
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Tool, Workplace
from reverie.app.crew import dismiss, keep_crew, new_crew, reachable
from reverie.app.dream import dream, gate_with_rest
from reverie.app.episodes import EpisodeIndexer, conversations
from reverie.app.inbox import open_inbox
from reverie.app.learning import MemoryShelf
from reverie.app.models import OFFLINE
from reverie.app.recall import chosen_meaning, memory_tool, open_ranker, recall_for
from reverie.app.system import system_of
from reverie.app.wish import Wish
from reverie.core.messages import Message
from reverie.core.prompt_cache.breakpoints import placed
from reverie.core.request import Head, Options
from reverie.core.spend import MAIN, Purpose
from reverie.core.window import Window, resolve_window
from reverie.errors import InputError
from reverie.layers.collapse import expand_tool
from reverie.layers.dreaming.prompts import Surroundings as DreamSurroundings
from reverie.layers.microcompaction import context_edits
from reverie.layers.session_notes.prompts import UPDATE
from reverie.layers.session_notes.template import TEMPLATE, Unusable, parse_template
from reverie.layers.session_notes.update import Notebook
from reverie.layers.snip import snip_tool
from reverie.layers.tool_results import Budget
from reverie.models.unthinking import UnthinkingModel
from reverie.session import journal
from reverie.session.background import Background
from reverie.session.broadcast import Broadcast
from reverie.session.conversation import Conversation
from reverie.session.crew.agent_tool import agent_tool
from reverie.session.crew.crew import Place as TeamPlace
from reverie.session.crew.send_message import send_message_tool
from reverie.session.dreaming import Dreaming, dreamer_of
from reverie.session.folding import Folding
from reverie.session.forks import Forks
from reverie.session.journal import Journal
from reverie.session.learning import Learning
from reverie.session.news import News
from reverie.session.note_taking import NoteTaking
from reverie.session.past import PastIndexing
from reverie.session.query import Limits, Session
from reverie.session.records import HeadFrozen, Said
from reverie.session.session_recall import SessionRecall
from reverie.session.state import SessionState
from reverie.session.upkeep import Upkeep
from reverie.settings.schema import NEVER
from reverie.settings.sources import environment
from reverie.stores.blobs import FolderBlobs
from reverie.stores.locks import sole
from reverie.stores.text_file import TextFile

if TYPE_CHECKING:
    from reverie.agent.todos import Status
    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.layers.previews import Kind
    from reverie.ports import Model
    from reverie.recall.ranker import IndexRanker
    from reverie.session.prefetch import Late, Recollects
    from reverie.settings.resolve import Threshold

log = logging.getLogger(__name__)

MOST_OUTPUT = 32_000
# As much as an SDK accepts in a request that is not streamed.
MOST_OUTPUT_AT_ONCE = 16_000
DRAIN_SECONDS = 60.0
# A model goes over the notes once before each compaction, or so.
SOON = 5_000


@asynccontextmanager
async def open_session(app: App, wish: Wish) -> AsyncIterator[Session]:
    """A session to talk to; everything it opened is closed afterwards, background work first."""
    async with AsyncExitStack() as stack:
        yield await _Composer(app, wish, stack).compose()


@dataclass(frozen=True, slots=True)
class _Core:
    """What everything else is put around."""

    model: Model
    conversation: Conversation
    folding: Folding
    toolbox: Toolbox
    memory: OpenMemory | None
    ranker: IndexRanker | None
    place: TeamPlace | None


@dataclass(slots=True)
class _Composer:
    """Puts the parts together, each made once; what must be closed goes on the stack."""

    app: App
    wish: Wish
    stack: AsyncExitStack
    announce: Broadcast = field(default_factory=Broadcast)
    _said: tuple[Message, ...] = ()
    # The model in use, without its meter, and the one that takes over when it is overloaded.
    _speaking: Model | None = None
    _other: Model | None = None

    async def compose(self) -> Session:
        state = self._resumed()
        session = state.session or self.wish.session or new_session_id(self.app.clock.now())
        self.stack.enter_context(self._alone(session))
        model = self._speaking = self._bare_model()
        if self.wish.hired is None or not self.wish.hired.borrows_model:
            self.stack.push_async_callback(model.aclose)
        self.stack.push_async_callback(self._close_other)
        conversation = Conversation(
            self.stack.enter_context(Journal(self._sessions / f"{session}.jsonl")),
            self._metered(model, session, self._purpose),
            self.app.clock,
            state=state,
            policy=placed(self.app.settings.cache_ttl),
            announce=self.announce,
        )
        folding = Folding(conversation, self._window(model), self.app.switches.on, self.announce)
        memory = self._memory()
        ranker = None if memory is None else self._ranker(memory, session)
        place = self._place(session)
        toolbox = self._toolbox(state, folding, ranker, place)
        core = _Core(model, conversation, folding, toolbox, memory, ranker, place)
        if state.head is None:
            conversation.open(session, self._head(core), str(self.app.project.root))
        elif self.wish.led is not None or state.head.model != model.name:
            self._renew_head(core)
        return await self._around(core)

    async def _around(self, core: _Core) -> Session:
        """The layers and recall, around a conversation that was opened."""
        conversation, toolbox, on = core.conversation, core.toolbox, self.app.switches.on
        session = conversation.state.session
        folder = self._sessions / session
        background = Background(self.announce)
        self.stack.push_async_callback(background.drain, DRAIN_SECONDS)
        metered = partial(self._now_metered, session)
        forks = Forks(conversation, toolbox, folder / "forks", metered, self.announce)
        side = core.folding.forks = forks if core.model.name != OFFLINE else None
        # A fork writes with tools of ours; where there are none, the rules do it alone.
        writers = None if self.wish.led else side
        window = core.folding.window
        notebook = self._notebook(TextFile(folder / "notes.md"))
        notes = NoteTaking(
            conversation,
            notebook,
            background,
            self.announce,
            on,
            forks=writers,
            refine=self._refine(window),
        )
        notes.remember(self._said)
        upkeep = Upkeep(
            conversation,
            toolbox,
            window,
            FolderBlobs(folder / "tool-results"),
            notes,
            on,
            self.announce,
            partial(self._head, core),
            transcript=str(self._sessions / f"{session}.jsonl"),
            forks=side,
            budget=self._budget(toolbox),
        )
        self._index_past(core, background)
        if core.place is not None:
            await self._settle(core.place, conversation, side, background)
        return Session(
            conversation,
            toolbox,
            upkeep,
            core.folding,
            notes,
            background,
            self.announce,
            learning=self._learning(core, background, writers),
            dreaming=self._dreaming(core, background, writers),
            recall=self._recall(core),
            recall_on=lambda: on("recall"),
            news=News(
                conversation,
                self.app.clock,
                daily_log=lambda: on("daily_log"),
                sources=() if core.place is None else (core.place.seat.news,),
            ),
            place=core.place,
            fallback=partial(self._fallback, session),
            late=cast("Late", self.app.settings["recall.late"]),
            limits=Limits(requests=self._max_requests),
            stops_all=self.app.settings["agent.on_interrupt"] == "stop",
        )

    def _alone(self, session: str) -> AbstractContextManager[None]:
        """One process a session: two would write into each other's conversation."""
        told = f"session {session} is open elsewhere; close it there, or begin a new one"
        return sole(self._sessions / session / "lock", told)

    @property
    def _sessions(self) -> Path:
        """Where transcripts lie; those of hired agents beside whoever hired them."""
        hired = self.wish.hired
        return self.app.project.sessions if hired is None else hired.under

    @property
    def _purpose(self) -> Purpose:
        return MAIN if self.wish.hired is None else f"agent:{self.wish.hired.brief.name}"

    @property
    def _max_requests(self) -> int:
        hired = self.wish.hired
        own = None if hired is None else hired.brief.agent_type.max_turns
        return own or int(self.app.settings.number("agent.max_requests"))

    # --- other agents ---

    def _place(self, session: str) -> TeamPlace | None:
        if self.wish.led or not self.app.switches.on("agents"):
            return None
        hired = self.wish.hired
        if hired is not None and hired.place is not None:
            return hired.place
        return new_crew(self.app, self.wish, self._sessions / session, self.announce)

    async def _settle(
        self,
        place: TeamPlace,
        conversation: Conversation,
        forks: Forks | None,
        background: Background,
    ) -> None:
        """Its conversation and forks, now that they are there; what it hires ends with it."""
        place.seat.conversation, place.seat.forks = conversation, forks
        hired = self.wish.hired
        if hired is not None and hired.place is not None:
            return
        keep_crew(self.app, place.crew, conversation, background, self._metered)
        self.stack.push_async_callback(dismiss, place)
        if hired is None and self.app.switches.on("agent_socket"):
            session = conversation.state.session
            await self.stack.enter_async_context(reachable(self.app, place.seat, session))

    def _resumed(self) -> SessionState:
        if self.wish.resume is None:
            return SessionState()
        records = journal.load(self.wish.resume).records
        state = SessionState.replay(records)
        if state.head is None:
            raise InputError(
                f"{self.wish.resume.name} cannot be resumed: it is no session of `reverie chat`"
            )
        self._said = tuple(record.message for record in records if isinstance(record, Said))
        return state

    def _memory(self) -> OpenMemory | None:
        if self.wish.memory is not None:
            return self.wish.memory or None
        return self.app.memory() if self.app.settings.memory_enabled else None

    @property
    def _model_name(self) -> str:
        return self.wish.model or self.app.settings.model("main")

    def _bare_model(self) -> Model:
        return self.wish.ready or self.app.bare_model(self._model_name)

    def _window(self, model: Model) -> Window:
        if self.wish.ready is None:
            return self.app.window(self._model_name)
        return resolve_window(model.name, shipped=model.capabilities.window)

    def _metered(self, model: Model, session: str, purpose: Purpose) -> Model:
        hired = self.wish.hired
        # What agents spend is the session's, by which its cap is kept.
        account = session if hired is None else hired.under.parent.name
        return self.app.metered(model, session=account, purpose=purpose, announce=self.announce)

    def _fallback(self, session: str) -> tuple[Model, Window] | None:
        """The model that takes over, and its window; from then on forks and heads are its own."""
        name = self.app.settings["models.fallback"]
        if not isinstance(name, str):
            return None
        if self._other is None:
            self._other = self._speaking = self.app.bare_model(name)
        return self._metered(self._other, session, self._purpose), self.app.window(name)

    async def _close_other(self) -> None:
        if self._other is not None:
            await self._other.aclose()

    def _now_metered(self, session: str, purpose: Purpose) -> Model:
        """Whoever speaks now, metered for a purpose."""
        model = self._speaking or self._bare_model()
        if self.wish.led is not None and self.wish.led.reworded:
            model = UnthinkingModel(model)
        return self._metered(model, session, purpose)

    def _toolbox(
        self,
        state: SessionState,
        folding: Folding,
        ranker: IndexRanker | None,
        place: TeamPlace | None,
    ) -> Toolbox:
        workplace = Workplace(
            self.app.place,
            todos=tuple(Todo(text, cast("Status", status)) for text, status in state.todos),
            environment=environment(),
        )
        consent = Consent(self._permission(workplace, place), self.wish.ask)
        more = self._more_tools(folding, ranker, place)
        ours = () if self.wish.led else (*standard_kit(), *more)
        tools = (tool for tool in (*ours, *self.wish.tools) if self._may_have(tool))
        return Toolbox(tools, workplace, consent, self.announce)

    def _may_have(self, tool: Tool) -> bool:
        hired = self.wish.hired
        return hired is None or hired.brief.agent_type.allows(tool.name)

    def _permission(self, workplace: Workplace, place: TeamPlace | None) -> Permission:
        mode = self.wish.mode or self.app.settings.permission_mode
        permission, hired = by_mode(mode, workplace), self.wish.hired
        if hired is not None and hired.writes_to is not None:
            permission = also_within(hired.writes_to, permission)
        if place is None:
            return permission
        if place.seat.approval is not None:
            permission = place.seat.approval.first(by_mode("plan", workplace), permission)
        place.seat.permission = permission
        return permission

    def _more_tools(
        self, folding: Folding, ranker: IndexRanker | None, place: TeamPlace | None
    ) -> Iterator[Tool]:
        """Tools that come with memory or a switch; the list is fixed when a session opens."""
        if place is not None:
            yield agent_tool(place)
            yield send_message_tool(place)
        if ranker is not None:
            yield memory_tool(ranker)
        on = self.app.switches.on
        if on("snip"):
            yield snip_tool(folding.mark)
        if on("collapse"):
            yield expand_tool(folding.expand)
        if on("web_fetch"):
            yield web_fetch_tool()

    def _budget(self, toolbox: Toolbox) -> Budget:
        """What the person set for a tool, else what the tool declares."""
        limits = {
            name: _limit(self.app.switches.result_threshold(name), tool.result_threshold)
            for name, tool in toolbox.tools.items()
        }
        return Budget(preview=cast("Kind", self.app.settings["tools.preview"]), thresholds=limits)

    def _notebook(self, file: TextFile) -> Notebook:
        own = self.app.settings.home / "session-notes"
        text = TextFile(own / "template.md").read()
        template = TEMPLATE if text is None else parse_template(text)
        if isinstance(template, Unusable):
            log.warning("%s is not used: %s", own / "template.md", template.reason)
            template = TEMPLATE
        prompt = TextFile(own / "prompt.md").read() or UPDATE
        return Notebook(file, template, prompt, self.announce)

    def _refine(self, window: Window) -> Callable[[int], bool]:
        from_tokens = {"late": window.compaction - SOON, "due": 0, "never": window.tokens}
        least = from_tokens[str(self.app.settings["notes.refine"])]
        return lambda tokens: tokens >= least

    def _head(self, core: _Core) -> Head:
        """System prompt, tools and options as they stand now; frozen by whoever asks."""
        model, toolbox = self._speaking or core.model, core.toolbox
        led = self.wish.led
        system = led.system if led else system_of(self.app, self.wish, core.memory)
        return Head(model.name, system, toolbox.specs, self._options(model, toolbox))

    def _renew_head(self, core: _Core) -> None:
        """Whoever leads the conversation may come back with another head, or another model, for it."""
        head = self._head(core)
        if head != core.conversation.state.head:
            core.conversation.expect_break("the model, system prompt, tools or options changed")
            core.conversation.record(HeadFrozen(head))

    def _options(self, model: Model, toolbox: Toolbox) -> Options:
        can, led = model.capabilities, self.wish.led
        if led is not None and led.options is not None:
            options = led.options
        else:
            most = MOST_OUTPUT if led is None else MOST_OUTPUT_AT_ONCE
            options = Options(
                max_tokens=min(most, can.max_output or Options().max_tokens),
                thinking="adaptive" if "adaptive" in can.thinking else None,
            )
        # What a provider clears by itself breaks its cache; where prices are known, batches cost less.
        counted = self.app.switches.on("microcompact_batch") and model.prices is not None
        if counted or not self.app.switches.on("microcompact_server"):
            return options
        names = tuple(toolbox.tools)
        declared = frozenset(name for name, tool in toolbox.tools.items() if tool.clearable)
        edits = context_edits(can, self._window(model), options.thinking, names, declared)
        return replace(options, edits=edits)

    def _ranker(self, memory: OpenMemory, session: str) -> IndexRanker:
        meaning = chosen_meaning(self.app, session, self.announce)
        return self.stack.enter_context(open_ranker(memory, self.app.clock, meaning, self.announce))

    def _learning(
        self, core: _Core, background: Background, forks: Forks | None
    ) -> Learning | None:
        if core.memory is None or core.ranker is None:
            return None
        shelf = MemoryShelf(
            core.memory,
            core.ranker,
            open_inbox(self.app, core.memory),
            self.app.settings,
            self.app.clock,
            core.conversation.state.session,
            core.model.name,
            self.announce,
        )
        every = int(self.app.settings.number("learning.every"))
        return Learning(
            core.conversation,
            shelf,
            background,
            self.announce,
            self.app.switches.on,
            forks,
            every=every,
        )

    def _index_past(self, core: _Core, background: Background) -> None:
        """Past conversations become searchable while this one goes on."""
        if core.ranker is None or not self.app.switches.on("search_past_context"):
            return
        listing = partial(conversations, self.app.project)
        session = core.conversation.state.session
        indexer = EpisodeIndexer(core.ranker.index, listing, session)
        PastIndexing(indexer.step, background).start()

    def _dreaming(
        self, core: _Core, background: Background, forks: Forks | None
    ) -> Dreaming | None:
        memory = core.memory
        if memory is None or not self.wish.dreams:
            return None
        logs = memory.place.directory / "logs"
        around = DreamSurroundings(
            self.app.project.sessions, logs if logs.is_dir() else None, memory.place.directory
        )
        dreamer = None if forks is None else dreamer_of(forks, around)
        begin = partial(dream, self.app, memory, dreamer=dreamer, announce=self.announce)
        due = gate_with_rest(self.app, memory, core.conversation.state.session)
        return Dreaming(due, begin, background, self.announce, self.app.switches.on)

    def _recall(self, core: _Core) -> Recollects | None:
        if core.memory is None or core.ranker is None:
            return None
        session = core.conversation.state.session
        side = self.app.settings.model("side")
        selector = None
        if side != OFFLINE:
            selector = self.app.model(
                side, session=session, purpose="recall", announce=self.announce
            )
            self.stack.push_async_callback(selector.aclose)
        recall = recall_for(self.app, core.memory, core.ranker, selector, session)
        return SessionRecall(recall, core.conversation, core.toolbox.workplace)


def new_session_id(now: float) -> str:
    """Sorts by time, says when, and two of the same second differ."""
    return f"{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def _limit(told: Threshold | None, declared: int | None) -> int | None:
    if told is None:
        return declared
    return None if told == NEVER else int(told)
