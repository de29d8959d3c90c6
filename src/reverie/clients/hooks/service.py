"""What Reverie does at each moment of other clients' sessions in one project.

Nothing here may stop or delay the client: what takes time is handed to `later`, and what fails is
announced and answered with nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never, cast

from reverie.clients.hooks import compaction
from reverie.clients.hooks import session_folder as long_results
from reverie.clients.hooks.compaction import learn_new
from reverie.clients.hooks.events import (
    AboutToCompact,
    Answered,
    Context,
    HookEvent,
    Ignored,
    Instructions,
    InTurn,
    Nothing,
    Outcome,
    Prompted,
    PromptSeen,
    ReplacedOutput,
    SessionEnded,
    SessionMet,
    SessionStarted,
    Stopped,
    ToolFinished,
)
from reverie.clients.hooks.session_folder import SessionFolder, Shown, sweep
from reverie.clients.hooks.session_start import ROOM, opening
from reverie.context.tool_results import Budget
from reverie.core.foreign_text import quoted
from reverie.core.messages import Text, new_message
from reverie.errors import ReverieError
from reverie.events import Announce, MemoriesSaved, TroubleNoted
from reverie.learning.dreaming.gates import Due
from reverie.learning.dreaming.service import gate_with_rest
from reverie.learning.service import Learnt
from reverie.memory.locations import IDENTITY
from reverie.recall.attachment import MOST_FILES, Surfaced
from reverie.recall.service import catch_up, chosen_meaning, open_ranker, recall_for
from reverie.settings.schema import NEVER
from reverie.settings.sources import Stamp, stamp_of

if TYPE_CHECKING:
    from reverie.context import NotDue
    from reverie.context.previews import Kind
    from reverie.core.messages import Message
    from reverie.memory.opening import OpenMemory
    from reverie.recall.pipeline import Recall
    from reverie.recall.ranker import IndexRanker
    from reverie.workspace import Workspace

# Takes work that may wait under a key; work under a key that waits already replaces it.
Later: TypeAlias = Callable[[str, Callable[[], None]], None]
# Starts a dream of the project in this folder, in a process of its own.
BeginDream: TypeAlias = Callable[[Path], None]

MOST_SESSIONS = 64
# Where the score decides alone, few are looked at beside those that were shown already; a file may
# have gone that the index still knows.
REACH = MOST_FILES + 5


@dataclass(slots=True)
class _Live:
    """A session as this process knows it: what was asked last, and the recall that answered."""

    recall: Recall
    ranker: IndexRanker
    asked: str = ""


class HookService:
    """Attends the sessions of one project; keeps its recall index open between them."""

    def __init__(
        self, app: Workspace, announce: Announce, later: Later, begin_dream: BeginDream
    ) -> None:
        self.app = app
        self._announce = announce
        self._later = later
        self._begin_dream = begin_dream
        self._stamps = self._seen_stamps()
        self._stack = ExitStack()
        self._recalling = asyncio.Lock()
        self._live: OrderedDict[Path, _Live] = OrderedDict()
        self._keeping: dict[Path, asyncio.Task[None]] = {}
        self._opened: tuple[OpenMemory, IndexRanker] | None = None
        self._gate: Callable[[], Due | NotDue] | None = None
        self._warming: asyncio.Task[None] | None = None

    @property
    def fresh(self) -> bool:
        """Are settings and the place of memory as they were when this was opened?"""
        return self._stamps == self._seen_stamps()

    async def aclose(self) -> None:
        """Wait for what uses the index, then let go of it."""
        async with self._recalling:
            if self._keeping:
                await asyncio.wait(self._keeping.values())
            self._stack.close()
            # Whoever still waits here opens its own.
            self._opened = None
            self._live.clear()

    async def attend(self, occasion: HookEvent) -> Outcome:
        """What the client is answered; an error of ours is a reason, never an exception."""
        try:
            outcome = await self._attend(occasion)
        except (ReverieError, OSError) as error:
            self._announce(TroubleNoted("hooks", f"{type(occasion.moment).__name__}: {error}"))
            return Nothing(str(error))
        # Memories stand in it, and the client puts marks of its own around them.
        return Context(quoted(outcome.text)) if isinstance(outcome, Context) else outcome

    async def _attend(self, occasion: HookEvent) -> Outcome:  # noqa: PLR0911 - one return a moment
        folder = SessionFolder(self.app.project, occasion, self.app.scrubber)
        await self._kept(folder)
        match occasion.moment:
            case SessionStarted("compact"):
                return await self._compacted(occasion, folder)
            case SessionStarted(source):
                self._warm_up()
                return await asyncio.to_thread(self._begun, occasion, folder, source == "resume")
            case SessionMet(resumed):
                self._warm_up()
                return await asyncio.to_thread(self._met, occasion, folder, resumed)
            case AboutToCompact():
                return await self._about_to_compact(folder)
            case SessionEnded():
                self._look_later(folder)
                return Nothing("what is new is looked through")
            case Ignored(reason):
                return Nothing(reason)
            case moment:
                return await self._in_turn(occasion, folder, moment)

    async def _in_turn(self, occasion: HookEvent, folder: SessionFolder, moment: InTurn) -> Outcome:
        match moment:
            case Prompted() as prompt:
                return await self._prompted(occasion, folder, prompt)
            case PromptSeen(text):
                return await asyncio.to_thread(self._overheard, folder, text)
            case ToolFinished() as tool:
                return await asyncio.to_thread(self._finished, folder, tool)
            case Answered(text):
                return await asyncio.to_thread(self._answered, folder, text)
            case Stopped(_, answer):
                return await asyncio.to_thread(self._stopped, folder, answer)
            case _:
                assert_never(moment)

    # --- the start of a session, and of what follows a compaction ---

    def _begun(self, occasion: HookEvent, folder: SessionFolder, resumed: bool) -> Outcome:
        sweep(self.app.project, self.app.clock.now())
        if not self.app.settings.memory_enabled:
            return Nothing("memory is off")
        text, digest = self._opening(occasion)
        shown = folder.shown()
        if resumed and shown.opening == digest:
            return Nothing("the conversation holds it already")
        self._keep(folder, replace(shown, opening=digest))
        return Context(text)

    def _met(self, occasion: HookEvent, folder: SessionFolder, resumed: bool) -> Outcome:
        shown = folder.shown()
        if not resumed:
            shown = shown.forgotten()
        elif shown.opening != self._opening(occasion)[1]:
            shown = replace(shown, opening="")
        self._keep(folder, shown)
        return Nothing("its first prompt is told")

    def _late(self, occasion: HookEvent, folder: SessionFolder) -> Outcome:
        if folder.shown().opening:
            return Nothing("the conversation holds it already")
        return self._begun(occasion, folder, resumed=False)

    async def _compacted(self, occasion: HookEvent, folder: SessionFolder) -> Outcome:
        shown = folder.shown().forgotten()
        stock = await self._stock(folder)
        parts = [stock.for_model] if stock.for_model else []
        if self.app.settings.memory_enabled:
            room = ROOM - sum(len(part) + 2 for part in parts)
            text, digest = await asyncio.to_thread(self._opening, occasion, room)
            shown = replace(shown, opening=digest)
            parts.append(text)
        self._keep(folder, shown)
        return Context("\n\n".join(parts)) if parts else Nothing("there is nothing to go on with")

    def _opening(self, occasion: HookEvent, room: int = ROOM) -> tuple[str, str]:
        """What there is room for, and what all of it is known by."""
        whole = opening(self.app, self._memory(), occasion)
        text = whole if len(whole) <= room else opening(self.app, self._memory(), occasion, room)
        return text, _digest(whole)

    # --- a turn ---

    async def _prompted(
        self, occasion: HookEvent, folder: SessionFolder, prompt: Prompted
    ) -> Outcome:
        message = self._said(prompt.text)
        if folder.hears:
            await asyncio.to_thread(folder.hear, message)
        late = await asyncio.to_thread(self._late, occasion, folder) if prompt.opens else None
        found = await self._recalled(folder, message)
        texts = [said.text for said in (late, found) if isinstance(said, Context)]
        return Context("\n\n".join(texts)) if texts else found

    async def _recalled(self, folder: SessionFolder, message: Message) -> Outcome:
        if not self.app.switches.on("recall"):
            return Nothing("recall is off")
        async with self._recalling:
            if self._opened is None:
                await asyncio.to_thread(self._open)
            live = self._known(folder)
            live.asked = message.text
            await self._kept(folder)
            shown = folder.shown()
            live.recall.surfaced = Surfaced(set(shown.files), shown.bytes)
            live.recall.ranker = replace(live.ranker, reach=REACH + len(shown.files))
            found = await live.recall.recollect(message)
            if found.attachment is None:
                return Nothing(found.how)
            given = live.recall.surfaced
            shown = replace(shown, files=tuple(sorted(given.files)), bytes=given.bytes)
            self._keep_soon(folder, shown)
        return Context(found.attachment.text)

    def _overheard(self, folder: SessionFolder, text: str) -> Outcome:
        folder.hear(self._said(text))
        return Nothing("it is heard")

    def _said(self, text: str) -> Message:
        return new_message("user", Text(text), at=self.app.clock.now())

    def _finished(self, folder: SessionFolder, tool: ToolFinished) -> Outcome:
        if not self.app.switches.on("tool_result_storage"):
            return Nothing("long results stay where they are")
        told = self.app.switches.result_threshold(tool.name)
        limit = long_results.LIMIT if told is None else None if told == NEVER else int(told)
        kind = cast("Kind", self.app.settings["tools.preview"])
        budget = Budget(preview=kind, thresholds={tool.name: limit})
        response = long_results.replaced(
            tool, budget, folder.results, self._announce, folder.scrubber
        )
        if response is None:
            return Nothing("its output is not too long")
        return ReplacedOutput(tool.name, response)

    async def _about_to_compact(self, folder: SessionFolder) -> Outcome:
        stock = await self._stock(folder)
        self._look_later(folder)
        text = stock.for_summary
        return Instructions(text) if text else Nothing("nothing is owed")

    async def _stock(self, folder: SessionFolder) -> compaction.CarriedOver:
        notes = self.app.switches.on("session_notes")
        try:
            facts = await asyncio.to_thread(compaction.read, folder)
        except ReverieError as error:
            self._announce(TroubleNoted("hooks", str(error)))
            return compaction.CarriedOver("", "")
        return await compaction.take_stock(folder, facts, self._announce, notes=notes)

    def _answered(self, folder: SessionFolder, text: str) -> Outcome:
        if text:
            folder.hear(new_message("assistant", Text(text), at=self.app.clock.now()))
        live = self._live.get(folder.path)
        if live is not None and text:
            live.recall.replied(text, live.asked)
        return Nothing("it is heard")

    def _stopped(self, folder: SessionFolder, answer: str) -> Outcome:
        self._answered(folder, answer)
        shown = folder.shown()
        shown = replace(shown, turns=shown.turns + 1)
        self._keep(folder, shown)
        every = int(self.app.settings.number("learning.every"))
        if shown.turns % every:
            return Nothing(f"turn {shown.turns % every} of {every}")
        self._look_later(folder)
        return Nothing("what is new is looked through")

    # --- afterwards, when nobody waits ---

    def _look_later(self, folder: SessionFolder) -> None:
        if self.app.settings.memory_enabled and not folder.trial:
            self._later(str(folder.path), partial(self._look, folder))

    def _look(self, folder: SessionFolder) -> None:
        """Learn what is new; dream when it is time."""
        with self._told("learning"):
            learnt = learn_new(self.app, folder)
            if isinstance(learnt, Learnt):
                for trouble in learnt.troubles:
                    self._announce(TroubleNoted("learning", trouble))
                self._announce(MemoriesSaved(learnt.saved, len(learnt.waiting)))
        with self._told("indexing"):
            memory = self._memory()
            if memory.store.large:
                # Nobody waits here: every file is compared, also those changed in place.
                memory.store.listing()
                while memory.store.record_on():
                    pass
        with self._told("dreaming"):
            if self.app.switches.on("dream") and isinstance(self._due(), Due):
                self._begin_dream(self.app.project.root)

    def _due(self) -> Due | NotDue:
        if self._gate is None:
            self._gate = gate_with_rest(self.app, self._memory(), "")
        return self._gate()

    # --- what is kept open ---

    def _warm_up(self) -> None:
        """The index is brought up to date while the person types."""
        if self._warming is None and self.app.switches.on("recall"):
            self._warming = asyncio.create_task(self._warmed())

    async def _warmed(self) -> None:
        async with self._recalling:
            with self._told("warming up"):
                await asyncio.to_thread(lambda: self._open()[1].search("memory", limit=1))
        # Prompts come in between: each step is short, and what it did not reach is found by words.
        with self._told("indexing"):
            while self._opened is not None and await asyncio.to_thread(catch_up, *self._opened):
                pass

    def _known(self, folder: SessionFolder) -> _Live:
        memory, ranker = self._open()
        live = self._live.pop(folder.path, None)
        if live is None:
            # By score alone: nobody waits for a model before each prompt.
            live = _Live(recall_for(self.app, memory, ranker, None, folder.name), ranker)
            live.recall.room = ROOM
        self._live[folder.path] = live
        while len(self._live) > MOST_SESSIONS:
            self._live.popitem(last=False)
        return live

    def _open(self) -> tuple[OpenMemory, IndexRanker]:
        if self._opened is None:
            memory = self.app.memory()
            meaning = chosen_meaning(self.app, announce=self._announce)
            ranker = open_ranker(memory, self.app.clock, meaning, self._announce)
            self._opened = memory, self._stack.enter_context(ranker)
        return self._opened

    def _memory(self) -> OpenMemory:
        return self._opened[0] if self._opened else self.app.memory()

    def _keep_soon(self, folder: SessionFolder, shown: Shown) -> None:
        """The person's prompt does not wait for the disk; the session's next moment does."""
        task = asyncio.create_task(asyncio.to_thread(self._keep, folder, shown))
        self._keeping[folder.path] = task
        task.add_done_callback(lambda done: self._keeping.pop(folder.path, None))

    async def _kept(self, folder: SessionFolder) -> None:
        if (task := self._keeping.get(folder.path)) is not None:
            await asyncio.wait({task})

    def _keep(self, folder: SessionFolder, shown: Shown) -> None:
        with self._told("keeping what was shown"):
            folder.keep(shown)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Failure falls through, and is told."""
        try:
            yield
        except (ReverieError, OSError) as error:
            self._announce(TroubleNoted("hooks", f"{what}: {error}"))

    def _seen_stamps(self) -> tuple[Stamp, ...]:
        files = [layer.file for layer in self.app.settings.layers if layer.file]
        # A project's file also changes when the person agrees to it.
        paths = {path for file in files for path in (file.path, file.record) if path is not None}
        known = self.app.project.folder / IDENTITY
        return tuple(stamp_of(path) for path in (*sorted(paths), known))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
