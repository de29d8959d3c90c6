"""Recall for the sessions of one project: the index kept open, and what each session was shown."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.clients.hooks.events import Context, Nothing, Outcome
from reverie.clients.hooks.session_context import ROOM
from reverie.context.facts.outcomes import error_lines
from reverie.errors import ReverieError
from reverie.events import Announce, TroubleNoted
from reverie.recall.attachment import MOST_FILES, Surfaced
from reverie.recall.holdout import withheld
from reverie.recall.mentions import MemoryMentions, NewMentions
from reverie.recall.service import catch_up, choose_embedder, open_ranker, recall_for

if TYPE_CHECKING:
    from reverie.clients.hooks.events import ToolFinished
    from reverie.clients.hooks.session_folder import SessionFolder, Shown
    from reverie.core.messages import Message
    from reverie.memory.opening import OpenMemory
    from reverie.recall.pipeline import Recall, RecallOutcome
    from reverie.recall.ranker import IndexRanker
    from reverie.workspace import Workspace

MOST_SESSIONS = 64
# How many ranked memories to look at, besides those already shown: some more than can be attached,
# as the index may still hold files that are gone.
REACH = MOST_FILES + 5


@dataclass(slots=True)
class _Live:
    """A session's recall in this process, the files and errors it has seen, and the last prompt."""

    recall: Recall
    ranker: IndexRanker
    mentions: NewMentions
    asked: str = ""


@dataclass(slots=True)
class _Opened:
    memory: OpenMemory
    ranker: IndexRanker
    mentions: MemoryMentions


class SessionRecall:
    """Finds memories for prompts, files and errors; each memory is shown once in a session."""

    def __init__(
        self, app: Workspace, announce: Announce, keep: Callable[[SessionFolder, Shown], None]
    ) -> None:
        self._app = app
        self._announce = announce
        self._keep = keep
        self._stack = ExitStack()
        self._recalling = asyncio.Lock()
        self._live: OrderedDict[Path, _Live] = OrderedDict()
        self._opened: _Opened | None = None
        self._warming: asyncio.Task[None] | None = None
        self._writing: dict[Path, asyncio.Task[None]] = {}

    @property
    def memory(self) -> OpenMemory:
        return self._opened.memory if self._opened else self._app.memory()

    async def aclose(self) -> None:
        """Wait until the index is not in use, then close it."""
        async with self._recalling:
            if self._writing:
                await asyncio.wait(self._writing.values())
            self._stack.close()
            # Calls that still wait for the lock open it again.
            self._opened = None
            self._live.clear()

    async def settled(self, folder: SessionFolder) -> None:
        """Wait until what the session was shown last is on disk."""
        if (task := self._writing.get(folder.path)) is not None:
            await asyncio.wait({task})

    async def for_prompt(self, folder: SessionFolder, message: Message) -> Outcome:
        if not self._app.switches.on("recall"):
            return Nothing("recall is off")
        if withheld(self._app, folder.name):
            return Nothing("this session gets no recalled memories (impact.holdout)")

        async def look(live: _Live) -> RecallOutcome:
            live.asked = message.text
            return await live.recall.recollect(message)

        return await self._shown(folder, look)

    async def for_tool(self, folder: SessionFolder, tool: ToolFinished) -> str:
        """Memories about the files a tool touched, and about the error it reported."""
        if not (tool.files or tool.error) or not self._app.switches.on("recall") or folder.trial:
            return ""
        if withheld(self._app, folder.name):
            return ""

        async def about_files(live: _Live) -> RecallOutcome:
            found = await asyncio.to_thread(self._mentioned, live.mentions.about_files, tool.files)
            return await live.recall.show(found, "about a file in use")

        async def about_error(live: _Live) -> RecallOutcome:
            lines = error_lines(tool.error)
            found = await asyncio.to_thread(self._mentioned, live.mentions.about_error, lines)
            return await live.recall.show(found, "about an error")

        looks = [about_files] if tool.files else []
        looks += [about_error] if tool.error else []
        found = [await self._shown(folder, look) for look in looks]
        return "\n\n".join(one.text for one in found if isinstance(one, Context))

    def replied(self, folder: SessionFolder, text: str) -> tuple[str, ...]:
        """The shown memories that an answer cites or repeats; each is counted as used, once."""
        live = self._live.get(folder.path)
        return live.recall.replied(text, live.asked) if live is not None and text else ()

    def warm_up(self) -> None:
        """Bring the index up to date while the person types."""
        if self._warming is None and self._app.switches.on("recall"):
            self._warming = asyncio.create_task(self._warmed())

    async def _warmed(self) -> None:
        async with self._recalling:
            with reporting(self._announce, "warming up"):
                await asyncio.to_thread(lambda: self._open().ranker.search("memory", limit=1))
        # Prompts can come in between: each step is short, and memories without vectors are found by
        # words.
        with reporting(self._announce, "indexing"):
            while (opened := self._opened) is not None:
                if not await asyncio.to_thread(catch_up, opened.memory, opened.ranker):
                    await asyncio.to_thread(opened.mentions.warm_up)
                    break

    async def _shown(
        self, folder: SessionFolder, look: Callable[[_Live], Awaitable[RecallOutcome]]
    ) -> Outcome:
        """Search given what the session was shown so far, and record what it is shown now."""
        async with self._recalling:
            if self._opened is None:
                await asyncio.to_thread(self._open)
            live = self._live_session(folder)
            await self.settled(folder)
            shown = folder.shown()
            live.recall.surfaced = Surfaced(set(shown.files), shown.bytes)
            live.recall.ranker = replace(live.ranker, reach=REACH + len(shown.files))
            found = await look(live)
            if found.attachment is None:
                return Nothing(found.how)
            given = live.recall.surfaced
            shown = replace(shown, files=tuple(sorted(given.files)), bytes=given.bytes)
            self._keep_soon(folder, shown)
            folder.log("recalled", files=found.files, why=found.how)
        return Context(found.attachment.text)

    def _mentioned(
        self, look: Callable[[Sequence[str]], tuple[str, ...]], about: Sequence[str]
    ) -> tuple[str, ...]:
        try:
            return look(about)
        except (ReverieError, OSError) as error:
            self._announce(TroubleNoted("hooks", f"memories about a file or an error: {error}"))
            return ()

    def _live_session(self, folder: SessionFolder) -> _Live:
        opened = self._open()
        live = self._live.pop(folder.path, None)
        if live is None:
            # Ranked by score alone: a prompt must not wait for a model.
            recall = recall_for(self._app, opened.memory, opened.ranker, None, folder.name)
            new = NewMentions(opened.mentions, self._app.project.root)
            live = _Live(recall, opened.ranker, new)
            live.recall.room = ROOM
        self._live[folder.path] = live
        while len(self._live) > MOST_SESSIONS:
            self._live.popitem(last=False)
        return live

    def _open(self) -> _Opened:
        if self._opened is None:
            memory = self._app.memory()
            chosen = choose_embedder(self._app, announce=self._announce)
            ranker = open_ranker(memory, self._app.clock, chosen, self._announce)
            opened = self._stack.enter_context(ranker)
            self._opened = _Opened(memory, opened, opened.mentions)
        return self._opened

    def _keep_soon(self, folder: SessionFolder, shown: Shown) -> None:
        """Write without holding up the prompt; the session's next event waits for it."""
        task = asyncio.create_task(asyncio.to_thread(self._keep, folder, shown))
        self._writing[folder.path] = task
        task.add_done_callback(lambda done: self._writing.pop(folder.path, None))


@contextmanager
def reporting(announce: Announce, what: str) -> Iterator[None]:
    """Announce a failure instead of raising it."""
    try:
        yield
    except (ReverieError, OSError) as error:
        announce(TroubleNoted("hooks", f"{what}: {error}"))
