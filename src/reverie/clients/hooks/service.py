"""Handles the hook events of other clients' sessions in one project.

Nothing here may stop or delay the client: slow work goes to the `later` queue, and a failure is
announced and answered with `Nothing`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never, cast

from reverie.clients.hooks import session_context
from reverie.clients.hooks import session_folder as long_results
from reverie.clients.hooks.events import (
    AboutToCompact,
    Answered,
    Context,
    HookEvent,
    Ignored,
    Instructions,
    InTurn,
    Nothing,
    Notice,
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
from reverie.clients.hooks.session_context import (
    BESIDE,
    ROOM,
    adopt_own,
    learn_new,
    learning_alarm,
    opening,
)
from reverie.clients.hooks.session_folder import SessionFolder, Shown, summary_line, sweep
from reverie.clients.hooks.session_recall import SessionRecall, reporting
from reverie.context.tool_results import Budget
from reverie.core.foreign_text import quoted
from reverie.core.messages import Text, new_message
from reverie.errors import ReverieError
from reverie.events import Announce, MemoriesSaved, TroubleNoted
from reverie.learning.dreaming.gates import Due, gate_with_rest
from reverie.learning.service import Learnt
from reverie.memory.locations import IDENTITY
from reverie.settings.schema import NEVER
from reverie.settings.sources import Stamp, stamp_of

if TYPE_CHECKING:
    from reverie.context import NotDue
    from reverie.context.previews import Kind
    from reverie.core.messages import Message
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

# Queues work under a key; it replaces work that is still waiting under the same key.
Later: TypeAlias = Callable[[str, Callable[[], None]], None]
# Starts a dream of the project in this folder, in a separate process.
BeginDream: TypeAlias = Callable[[Path], None]


class HookService:
    """Answers the hook events of one project's sessions, and keeps its recall index open between them."""

    def __init__(
        self, app: Workspace, announce: Announce, later: Later, begin_dream: BeginDream
    ) -> None:
        self.app = app
        self._announce = announce
        self._later = later
        self._begin_dream = begin_dream
        self._stamps = self._current_stamps()
        self._recall = SessionRecall(app, announce, self._write)
        self._gate: Callable[[], Due | NotDue] | None = None

    @property
    def fresh(self) -> bool:
        """Are the settings and the location of memory the same as when this was opened?"""
        return self._stamps == self._current_stamps()

    async def aclose(self) -> None:
        """Wait until the index is not in use, then close it."""
        await self._recall.aclose()

    async def handle(self, event: HookEvent) -> Outcome:
        """The answer to an event; Reverie's own errors become `Nothing` with the reason."""
        try:
            outcome = await self._attend(event)
        except (ReverieError, OSError) as error:
            self._announce(TroubleNoted("hooks", f"{type(event.payload).__name__}: {error}"))
            return Nothing(str(error))
        # The text holds memories, and the client wraps it in tags of its own.
        match outcome:
            case Context(text):
                return Context(quoted(text))
            case ReplacedOutput(context=context) if context:
                return replace(outcome, context=quoted(context))
            case _:
                return outcome

    async def _attend(self, event: HookEvent) -> Outcome:  # noqa: PLR0911 - one return for each payload
        folder = SessionFolder(self.app.project, event, self.app.scrubber)
        await self._recall.settled(folder)
        match event.payload:
            case SessionStarted("compact"):
                return await self._compacted(event, folder)
            case SessionStarted(source):
                self._recall.warm_up()
                return await asyncio.to_thread(self._started, event, folder, source == "resume")
            case SessionMet(resumed):
                self._recall.warm_up()
                return await asyncio.to_thread(self._met, event, folder, resumed)
            case AboutToCompact():
                return await self._about_to_compact(folder)
            case SessionEnded():
                folder.log("ended")
                self._learn_later(folder)
                return Nothing("new messages will be searched for memories")
            case Ignored(reason):
                return Nothing(reason)
            case payload:
                return await self._in_turn(event, folder, payload)

    async def _in_turn(self, event: HookEvent, folder: SessionFolder, payload: InTurn) -> Outcome:
        match payload:
            case Prompted() as prompt:
                return await self._prompted(event, folder, prompt)
            case PromptSeen(text):
                return await asyncio.to_thread(self._prompt_seen, folder, text)
            case ToolFinished() as tool:
                return await self._tool_finished(folder, tool)
            case Answered(text):
                return await asyncio.to_thread(self._answered, folder, text)
            case Stopped(_, answer):
                return await asyncio.to_thread(self._stopped, folder, answer)
            case _:
                assert_never(payload)

    # --- the start of a session, and its restart after a compaction ---

    def _started(self, event: HookEvent, folder: SessionFolder, resumed: bool) -> Outcome:
        sweep(self.app.project, self.app.clock.now())
        if not self.app.settings.memory_enabled:
            return Nothing("memory is off")
        if adopt_own(self.app, event):
            # The next event reopens the project with this memory, whose index the client loads
            # itself.
            folder.log("adopted", client=event.client)
            return Context(BESIDE)
        text, digest = self._opening(event)
        shown = folder.shown()
        if resumed and shown.opening == digest:
            return Nothing("the conversation holds it already")
        self._write(folder, replace(shown, opening=digest))
        folder.log("resumed" if resumed else "started", client=event.client)
        alarm = "" if folder.trial else learning_alarm(self.app)
        return Context(f"{alarm}\n\n{text}" if alarm else text)

    def _met(self, event: HookEvent, folder: SessionFolder, resumed: bool) -> Outcome:
        shown = folder.shown()
        if not resumed:
            shown = shown.forgotten()
        elif shown.opening != self._opening(event)[1]:
            shown = replace(shown, opening="")
        self._write(folder, shown)
        return Nothing("the opening goes with the first prompt")

    def _first_prompt_opening(self, event: HookEvent, folder: SessionFolder) -> Outcome:
        if folder.shown().opening:
            return Nothing("the conversation holds it already")
        return self._started(event, folder, resumed=False)

    async def _compacted(self, event: HookEvent, folder: SessionFolder) -> Outcome:
        shown = folder.shown().forgotten()
        carried = await self._carry_over(folder)
        parts = [carried.for_model] if carried.for_model else []
        if self.app.settings.memory_enabled:
            room = ROOM - sum(len(part) + 2 for part in parts)
            text, digest = await asyncio.to_thread(self._opening, event, room)
            shown = replace(shown, opening=digest)
            parts.append(text)
        self._write(folder, shown)
        return Context("\n\n".join(parts)) if parts else Nothing("there is nothing to carry over")

    def _opening(self, event: HookEvent, room: int = ROOM) -> tuple[str, str]:
        """The opening cut to `room`, and the digest of the whole."""
        whole = opening(self.app, self._memory(), event)
        text = whole if len(whole) <= room else opening(self.app, self._memory(), event, room)
        return text, _digest(whole)

    # --- a turn ---

    async def _prompted(self, event: HookEvent, folder: SessionFolder, prompt: Prompted) -> Outcome:
        message = self._user_message(prompt.text)
        if folder.hears:
            await asyncio.to_thread(folder.hear, message)
        first = None
        if prompt.opens:
            first = await asyncio.to_thread(self._first_prompt_opening, event, folder)
        found = await self._recall.for_prompt(folder, message)
        texts = [part.text for part in (first, found) if isinstance(part, Context)]
        return Context("\n\n".join(texts)) if texts else found

    def _prompt_seen(self, folder: SessionFolder, text: str) -> Outcome:
        folder.hear(self._user_message(text))
        return Nothing("recorded")

    def _user_message(self, text: str) -> Message:
        return new_message("user", Text(text), at=self.app.clock.now())

    async def _tool_finished(self, folder: SessionFolder, tool: ToolFinished) -> Outcome:
        outcome = await asyncio.to_thread(self._stored, folder, tool)
        context = await self._recall.for_tool(folder, tool)
        if isinstance(outcome, ReplacedOutput):
            return replace(outcome, context=context)
        return Context(context) if context else outcome

    def _stored(self, folder: SessionFolder, tool: ToolFinished) -> Outcome:
        if not tool.outputs or not self.app.switches.on("tool_result_storage"):
            return Nothing("its output is left in place")
        chosen = self.app.switches.result_threshold(tool.name)
        limit = long_results.LIMIT if chosen is None else None if chosen == NEVER else int(chosen)
        kind = cast("Kind", self.app.settings["tools.preview"])
        budget = Budget(preview=kind, thresholds={tool.name: limit})
        response = long_results.replaced(
            tool, budget, folder.results, self._announce, folder.scrubber
        )
        if response is None:
            return Nothing("its output is not too long")
        folder.log("stored", tool=tool.name)
        return ReplacedOutput(tool.name, response)

    async def _about_to_compact(self, folder: SessionFolder) -> Outcome:
        carried = await self._carry_over(folder)
        self._learn_later(folder)
        text = carried.for_summary
        return Instructions(text) if text else Nothing("no obligations are open")

    async def _carry_over(self, folder: SessionFolder) -> session_context.CarriedOver:
        notes = self.app.switches.on("session_notes")
        try:
            facts = await asyncio.to_thread(session_context.read, folder)
        except ReverieError as error:
            self._announce(TroubleNoted("hooks", str(error)))
            return session_context.CarriedOver("", "")
        return await session_context.carry_over(folder, facts, self._announce, notes=notes)

    def _answered(self, folder: SessionFolder, text: str) -> Outcome:
        if text:
            folder.hear(new_message("assistant", Text(text), at=self.app.clock.now()))
        if used := self._recall.replied(folder, text):
            shown = folder.shown()
            self._write(folder, replace(shown, used=tuple(dict.fromkeys((*shown.used, *used)))))
            folder.log("used", files=used)
        return Nothing("recorded")

    def _stopped(self, folder: SessionFolder, answer: str) -> Outcome:
        self._answered(folder, answer)
        shown = folder.shown()
        shown = replace(shown, turns=shown.turns + 1)
        line = self._notice(folder, shown)
        self._write(folder, replace(shown, told=line) if line else shown)
        every = int(self.app.settings.number("learning.every"))
        if shown.turns % every == 0:
            self._learn_later(folder)
        return Notice(line) if line else Nothing(f"turn {shown.turns} of the session")

    def _notice(self, folder: SessionFolder, shown: Shown) -> str:
        """The line that says what memory did; empty if there is nothing new to say."""
        wanted = str(self.app.settings["hooks.notice"])
        if wanted == "off" or folder.trial or (wanted == "session" and shown.told):
            return ""
        line = summary_line(shown, folder.saved())
        return "" if line == shown.told else line

    # --- background work ---

    def _learn_later(self, folder: SessionFolder) -> None:
        if self.app.settings.memory_enabled and not folder.trial:
            self._later(str(folder.path), partial(self._learn_and_dream, folder))

    def _learn_and_dream(self, folder: SessionFolder) -> None:
        """Learn from new messages; start a dream when one is due."""
        with reporting(self._announce, "learning"):
            learnt = learn_new(self.app, folder)
            if isinstance(learnt, Learnt):
                for trouble in learnt.troubles:
                    self._announce(TroubleNoted("learning", trouble))
                self._announce(MemoriesSaved(learnt.saved, len(learnt.waiting)))
                if learnt.saved:
                    folder.keep_saved(learnt.saved)
                    folder.log("learnt", files=learnt.saved)
        with reporting(self._announce, "indexing"):
            memory = self._memory()
            if memory.store.large:
                # No client is waiting, so compare every file, including those changed in place.
                memory.store.listing()
                while memory.store.record_on():
                    pass
        with reporting(self._announce, "dreaming"):
            if self.app.switches.on("dream") and isinstance(self._due(), Due):
                self._begin_dream(self.app.project.root)

    def _due(self) -> Due | NotDue:
        if self._gate is None:
            self._gate = gate_with_rest(self.app, self._memory(), "")
        return self._gate()

    # --- state ---

    def _memory(self) -> OpenMemory:
        return self._recall.memory

    def _write(self, folder: SessionFolder, shown: Shown) -> None:
        with reporting(self._announce, "saving what was shown"):
            folder.keep(shown)

    def _current_stamps(self) -> tuple[Stamp, ...]:
        files = [layer.file for layer in self.app.settings.layers if layer.file]
        # A project's file also changes when the person agrees to it.
        paths = {path for file in files for path in (file.path, file.record) if path is not None}
        known = self.app.project.folder / IDENTITY
        return tuple(stamp_of(path) for path in (*sorted(paths), known))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
