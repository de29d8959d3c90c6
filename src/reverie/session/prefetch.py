"""Recall that runs beside the turn: it starts with the person's message and may finish later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from reverie.agent.tools import Workplace
from reverie.context.facts.calls import action_of
from reverie.context.facts.outcomes import error_lines, outcome_of
from reverie.conversation.conversation import Conversation
from reverie.core.messages import Message, ToolResult, ToolUse
from reverie.errors import ReverieError
from reverie.events import Announce, MemoriesLate, TroubleNoted
from reverie.models.selection import OFFLINE
from reverie.recall.attachment import MOST_FILES, Surfaced
from reverie.recall.mentions import NewMentions, command_files
from reverie.recall.pipeline import Recall, RecallOutcome
from reverie.recall.ranker import IndexRanker

Late: TypeAlias = Literal["inject", "drop"]
# How many of the best to consider when a score alone chooses, besides those already shown. More
# than can be attached, because some may be superseded or expired.
_REACH = MOST_FILES + 15
# A recall that still waits for its thread gets this multiple of the deadline.
_MOST_ROUNDS = 10


class Recaller(Protocol):
    """Finds the memories relevant to a message."""

    @property
    def started_at(self) -> float | None:
        """When the work on the last message began, in monotonic time; None while it waits."""
        ...

    async def recollect(
        self,
        message: Message,
        *,
        enabled: bool = ...,
        seen: frozenset[str] = ...,
        tools: Sequence[str] = ...,
    ) -> RecallOutcome: ...

    async def after_tools(
        self, uses: Sequence[ToolUse], results: Sequence[ToolResult]
    ) -> RecallOutcome | None:
        """Memories about the files that tools touched, and about the errors of failed commands."""
        ...

    def replied(self, reply: str) -> None:
        """Count which of the memories found were used in a reply."""
        ...


class Prefetch:
    """Recall for one message. Leaving the `with` block always cancels unfinished work."""

    def __init__(
        self,
        recall: Recaller | None,
        message: Message,
        announce: Announce,
        *,
        enabled: bool,
        late: Late = "inject",
        tools: Sequence[str] = (),
    ) -> None:
        self._announce = announce
        self._recall = recall
        self._late = late
        self._task: asyncio.Task[RecallOutcome] | None = None
        if recall is not None and enabled:
            work = recall.recollect(message, tools=tools)
            self._task = asyncio.create_task(work, name="recall")

    async def ready(self, seconds: float | None) -> RecallOutcome | None:
        """The result if it is there within `seconds`; it is returned once, and a miss is announced.

        Time spent waiting for this program's other conversations does not count.
        """
        if self._task is None:
            return None
        left = seconds
        for _ in range(_MOST_ROUNDS):
            await asyncio.wait({self._task}, timeout=left)
            if self._task.done():
                return self._take()
            left = self._left(seconds or 0.0)
            if left <= 0:
                break
        self._announce(MemoriesLate(seconds or 0.0))
        return None

    def _left(self, seconds: float) -> float:
        """The rest of recall's deadline; all of it before recall begins."""
        started = None if self._recall is None else self._recall.started_at
        return seconds if started is None else started + seconds - time.monotonic()

    def at_boundary(self) -> RecallOutcome | None:
        """A late result at the end of a tool round or turn: returned, or dropped, by setting."""
        if self._task is None:
            return None
        if self._late == "drop":
            self._task.cancel()
            self._task = None
            return None
        return self._take() if self._task.done() else None

    def __enter__(self) -> Prefetch:
        return self

    def __exit__(self, *error: object) -> None:
        if self._task is not None:
            self._task.cancel()

    def _take(self) -> RecallOutcome | None:
        task, self._task = self._task, None
        if task is None or task.cancelled():
            return None
        error = task.exception()
        if error is not None:
            self._announce(TroubleNoted("recall", f"{error!r}; going on without memories"))
            return None
        return task.result()


@dataclass(frozen=True, slots=True)
class SessionRecall:
    """Recall for a session: skips memories that were shown before or that the agent has read."""

    recall: Recall
    conversation: Conversation
    workplace: Workplace
    # The name of the memory at a path, if there is one.
    label_of: Callable[[Path], str | None]
    mentions: NewMentions

    @property
    def started_at(self) -> float | None:
        return self.recall.started_at

    async def recollect(
        self,
        message: Message,
        *,
        enabled: bool = True,
        seen: frozenset[str] = frozenset(),
        tools: Sequence[str] = (),
    ) -> RecallOutcome:
        self._count_shown()
        read = seen | self._read_by_agent()
        ranker = self.recall.ranker
        if self.recall.selector is None and isinstance(ranker, IndexRanker):
            self.recall.ranker = replace(
                ranker, reach=_REACH + len(self.recall.surfaced.files | read)
            )
        return await self.recall.recollect(message, enabled=enabled, seen=read, tools=tools)

    async def after_tools(
        self, uses: Sequence[ToolUse], results: Sequence[ToolResult]
    ) -> RecallOutcome | None:
        files, errors = touched(uses, results)
        if not files and not errors:
            return None
        try:
            found = await self.recall.work(partial(self._mentioned, files, errors))
        except (ReverieError, OSError) as error:
            self.recall.announce(TroubleNoted("recall.mentions", repr(error)))
            return None
        read = self._read_by_agent()
        # Recalled for the prompt, and not shown yet.
        waiting = self.recall.surfaced.files
        self._count_shown()
        self.recall.surfaced.files |= waiting
        chosen = [file for file in found if file not in read]
        return await self.recall.show(chosen, "about a file or an error") if chosen else None

    def _mentioned(self, files: Sequence[str], errors: Sequence[str]) -> tuple[str, ...]:
        about_error = [f for one in errors for f in self.mentions.about_error(error_lines(one))]
        about_files = self.mentions.about_files(files, self.workplace.root)
        return tuple(dict.fromkeys((*about_error, *about_files)))

    def _count_shown(self) -> None:
        """Tell recall which memories this conversation was shown, also before it was resumed."""
        # The offline model answers from the memories of one message: it does not read earlier ones.
        is_offline = self.conversation.model.name == OFFLINE
        shown = () if is_offline else self.conversation.state.memories_shown
        files = {file for record in shown for file in record.files}
        self.recall.surfaced = Surfaced(files, sum(record.bytes for record in shown))

    def _read_by_agent(self) -> frozenset[str]:
        """Memories that the agent has opened with its own tools."""
        return frozenset(filter(None, map(self.label_of, self.workplace.reads.recent())))

    def replied(self, reply: str) -> None:
        """Count the memories that the reply uses, not counting words the person had said."""
        last = (m.text for m in reversed(self.conversation.state.messages) if m.origin == "user")
        self.recall.replied(reply, next(last, ""))


def touched(
    uses: Sequence[ToolUse], results: Sequence[ToolResult]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files that calls read, changed or named, and the output of failed commands."""
    said = {result.tool_use_id: result for result in results}
    files: list[str] = []
    errors: list[str] = []
    for use in uses:
        action, result = action_of(use), said.get(use.id)
        match action.kind:
            case "read" | "edit" | "write" if action.target:
                files.append(action.target)
            case "run":
                files += command_files(str(use.input.get("command") or use.input.get("cmd") or ""))
            case _:
                pass
        commands = action.kind in ("run", "other")
        if commands and result is not None and outcome_of(result, action).status == "failed":
            errors.append(result.text)
    return tuple(dict.fromkeys(files)), tuple(errors)
