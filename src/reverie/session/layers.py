"""The layers of a session: notes, upkeep, recall, learning, dreams, and the person's hooks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agent.fork import Forks, FreshAgents
from reverie.agent.processes import Background
from reverie.agent.toolbox import Toolbox
from reverie.context.session_notes import TEMPLATE, Unusable, parse_template
from reverie.context.session_notes.update import UPDATE, Notebook, NoteTaker
from reverie.context.snip import Folding
from reverie.context.upkeep import Upkeep
from reverie.conversation.conversation import Conversation
from reverie.conversation.journal import FolderBlobs, TextFile
from reverie.core.messages import Message
from reverie.core.request import Head
from reverie.core.usage import Prices
from reverie.core.window import Window
from reverie.events import Announce
from reverie.learning.dreaming.dreamer import Dreaming
from reverie.learning.dreaming.gates import gate_with_rest
from reverie.learning.dreaming.service import DreamOptions, dream
from reverie.learning.extraction.fork import Learning, Settled
from reverie.learning.past_sessions import PastIndexing
from reverie.learning.pending import UnreadTurns
from reverie.learning.runs import note_run
from reverie.learning.service import ExtractionStore, run_of
from reverie.learning.side_models import agents_on
from reverie.models.selection import OFFLINE
from reverie.recall.holdout import withheld
from reverie.recall.mentions import NewMentions
from reverie.recall.past_sessions import EpisodeIndexer, conversations
from reverie.recall.service import recall_for
from reverie.session.hooks import SessionHooks, SubagentInfo
from reverie.session.options import SessionModel, SessionOptions
from reverie.session.prefetch import SessionRecall
from reverie.session.tools import budget_of, profile_of
from reverie.subagents.crew import Place
from reverie.workspace.changes import open_inbox

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.recall.ranker import IndexRanker
    from reverie.session.prefetch import Recaller
    from reverie.workspace import Workspace

log = logging.getLogger(__name__)

# "late" refines the notes this many tokens before compaction, so about once for each.
SOON = 5_000


@dataclass(frozen=True, slots=True)
class SessionCore:
    """The parts that the layers are built around."""

    models: SessionModel
    conversation: Conversation
    folding: Folding
    toolbox: Toolbox
    memory: OpenMemory | None
    ranker: IndexRanker | None
    place: Place | None


@dataclass(frozen=True, slots=True)
class Layers:
    """Builds each layer of one session; what must be closed goes on the stack."""

    app: Workspace
    options: SessionOptions
    core: SessionCore
    # The folder of transcripts.
    sessions: Path
    # What was said before the session was resumed.
    said: tuple[Message, ...]
    stack: AsyncExitStack
    announce: Announce

    @property
    def session(self) -> str:
        return self.core.conversation.state.session

    def hooks(self, upkeep: Upkeep) -> SessionHooks | None:
        """The person's hooks around this session; an external loop has them if it asks for them."""
        loop, subagent = self.options.external_loop, self.options.subagent
        if loop is not None and not loop.hooks:
            return None
        session, agent = self.session, None
        transcript = self.sessions / f"{session}.jsonl"
        if subagent is not None:
            agent = SubagentInfo(subagent.brief.name, subagent.brief.agent_type.name, transcript)
            session, transcript = subagent.account, self.app.project.journal(subagent.account)
        hooks = SessionHooks.open(self.app, session, transcript, self.announce, agent)
        if not hooks.commands:
            return None
        self.core.toolbox.hooks = hooks
        upkeep.before_compaction = hooks.about_to_compact
        self.stack.push_async_callback(hooks.ended)
        return hooks

    def notes(self, background: Background, forks: Forks | None) -> NoteTaker:
        folder = self.sessions / self.session
        notes = NoteTaker(
            self.core.conversation,
            self._notebook(TextFile(folder / "notes.md", self.app.scrubber)),
            background,
            self.announce,
            self.app.switches.on,
            forks=forks,
            refine=self._refine(self.core.folding.window),
        )
        notes.remember(self.said)
        return notes

    def upkeep(self, notes: NoteTaker, forks: Forks | None, head: Callable[[], Head]) -> Upkeep:
        session, profile = self.session, profile_of(self.app)
        if self.options.external_loop is not None:
            # The loop's own budget decides what may be paid at once.
            profile = profile.without_share()
        return Upkeep(
            self.core.conversation,
            self.core.toolbox,
            self.core.folding.window,
            FolderBlobs(self.sessions / session / "tool-results", self.app.scrubber),
            notes,
            self.app.switches.on,
            self.announce,
            head,
            transcript=str(self.sessions / f"{session}.jsonl"),
            forks=forks,
            budget=budget_of(self.app, self.core.toolbox),
            policy=profile.clearing,
            lean=profile.lean,
            scrubber=self.app.scrubber,
        )

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

    def learning(self, background: Background, forks: Forks | None) -> Learning | None:
        if self.core.memory is None or self.core.ranker is None:
            return None
        store = ExtractionStore(
            self.core.memory,
            self.core.ranker,
            open_inbox(self.app, self.core.memory),
            self.app.settings,
            self.app.clock,
            self.session,
            self.core.models.now.name,
            self.announce,
        )
        session = self.session

        def note(found: int, done: Settled, trouble: str) -> None:
            made = run_of(self.app.clock.now(), session, found, done)
            note_run(self.app, replace(made, trouble=trouble))

        learning = Learning(
            self.core.conversation,
            store,
            background,
            self.announce,
            self.app.switches.on,
            forks,
            every=int(self.app.settings.number("learning.every")),
            pause=self.app.settings.number("learning.pause"),
            share=self.app.settings.number("learning.share"),
            unread=UnreadTurns.of(self.app) if self.options.subagent is None else None,
            note=note,
        )
        if forks is not None:
            learning.apart, learning.apart_prices = self._apart()
        return learning

    def _apart(self) -> tuple[FreshAgents, Prices | None]:
        """Agents that see only the new messages, on the side model if there is one."""
        side, models = self.app.settings.model("side"), self.core.models
        bare = models.now if side == OFFLINE else self.app.bare_model(side)
        if side != OFFLINE:
            self.stack.push_async_callback(bare.aclose)
        session = self.session
        folder = self.sessions / session / "forks"
        agents = agents_on(
            self.app, lambda purpose: models.metered(purpose, bare), session, folder, self.announce
        )
        return agents, bare.prices

    def index_past(self, background: Background) -> None:
        """Index past conversations in the background; one session of a program does it for all."""
        if self.core.ranker is None or not self.app.switches.on("search_past_context"):
            return
        look = self.core.ranker.look
        if look.indexing_past:
            return
        look.indexing_past = True
        self.stack.callback(look.stop_indexing_past)
        listing = partial(conversations, self.app.project, user=self.app.user)
        session = self.session
        indexer = EpisodeIndexer(self.core.ranker.index, listing, self.app.scrubber, session)
        PastIndexing(indexer.step, background).start()

    def dreaming(self, background: Background, forks: Forks | None) -> Dreaming | None:
        memory = self.core.memory
        if memory is None or not self.options.dreams:
            return None
        begin = partial(dream, self.app, memory, DreamOptions(forks=forks), announce=self.announce)
        due = gate_with_rest(self.app, memory, self.session)
        return Dreaming(due, begin, background, self.announce, self.app.switches.on)

    def recall(self) -> Recaller | None:
        session = self.session
        if self.core.memory is None or self.core.ranker is None or withheld(self.app, session):
            return None
        side = self.app.settings.model("side")
        selector = None
        if side != OFFLINE:
            selector = self.app.model(
                side, session=session, purpose="recall", announce=self.announce
            )
            self.stack.push_async_callback(selector.aclose)
        recall = recall_for(self.app, self.core.memory, self.core.ranker, selector, session)
        workplace = self.core.toolbox.workplace
        mentions = NewMentions(self.core.ranker.mentions, self.app.project.root)
        label_of = self.core.memory.label_of
        return SessionRecall(recall, self.core.conversation, workplace, label_of, mentions)
