"""Chat output: streamed markdown in finished blocks, log lines, and events as JSON."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, TypeAlias

from reverie import events
from reverie.cli.talk import render
from reverie.cli.talk.terminal import Screen, Tally
from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak
from reverie.core.request import TextDelta, ThinkingDelta, ToolUseStarted

_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


class Paragraphs:
    """Cuts a stream at blank lines, but never inside a code block or before an indented line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._tail = ""
        self._fence = ""
        self._gap = False

    @property
    def draft(self) -> str:
        """The unfinished block so far."""
        return "\n".join([*self._lines, self._tail])

    def add(self, text: str) -> list[str]:
        """Add text and return the blocks it finished."""
        *whole, self._tail = (self._tail + text).split("\n")
        done = [block for line in whole if (block := self._line(line))]
        if self._gap and self._tail[:1].strip():
            done += self._cut()
        return done

    def end(self) -> list[str]:
        """End the stream and return the rest, if any."""
        self._lines.append(self._tail)
        self._tail, self._fence = "", ""
        return self._cut()

    def _line(self, line: str) -> str:
        """Add a whole line and return the block it finished, or an empty string."""
        if self._fence:
            self._lines.append(line)
            if _closes(line, self._fence):
                self._fence = ""
            return ""
        if not line.strip():
            self._gap = True
            self._lines.append("")
            return ""
        done = self._cut() if self._gap and not line[0].isspace() else []
        self._gap = False
        self._lines.append(line)
        if opened := _FENCE.fullmatch(line):
            # Inline code may begin with three backticks, too; it closes on the same line.
            self._fence = "" if opened[1][0] in opened[2] else opened[1]
        return done[0] if done else ""

    def _cut(self) -> list[str]:
        block = "\n".join(self._lines).strip("\n")
        self._lines, self._gap = [], False
        return [block] if block.strip() else []


def _closes(line: str, fence: str) -> bool:
    found = line.strip()
    return len(found) >= len(fence) and set(found) == {fence[0]}


class LogLines(logging.Handler):
    """Shows log records from any thread on the screen."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen
        self._loop = asyncio.get_running_loop()

    def emit(self, record: logging.LogRecord) -> None:
        line = render.aside(f"{record.levelname.lower()}: {record.getMessage()}", "yellow")
        self._loop.call_soon_threadsafe(self._screen.show, line)


@contextmanager
def logged_on(screen: Screen) -> Iterator[None]:
    """Show log records on the screen instead of stderr; a log file is still written."""
    log = logging.getLogger("reverie")
    before = list(log.handlers)
    log.handlers = [handler for handler in before if isinstance(handler, logging.FileHandler)]
    log.addHandler(LogLines(screen))
    try:
        yield
    finally:
        log.handlers = before


Json: TypeAlias = dict[str, Any]


def event_json(event: events.Event) -> Json:
    """An event as JSON; `type` comes first so that the stream is easy to scan."""
    name, fields = _SHAPES[type(event)]
    return {"type": name, **fields(event)}


def opened_json(session: str, model: str, window: int, *, resumed: bool) -> Json:
    """The first line of a stream."""
    return {
        "type": "session",
        "session": session,
        "model": model,
        "window": window,
        "resumed": resumed,
    }


def result_json(session: str, result: str, tally: Tally, *, error: str = "") -> Json:
    """The last line of a stream, and all of `--output-format json`."""
    return {
        "type": "result",
        "session": session,
        "result": result,
        "error": error or None,
        "usage": asdict(tally.usage),
        "requests": tally.requests,
        "cost": tally.cost,
        "unpriced": tally.unpriced,
        "cache_hit_rate": tally.usage.hit_rate,
        "layers": dict(tally.layers),
        "memories": list(tally.memories),
    }


def _replied(event: events.Replied) -> Json:
    reply = event.reply
    return {
        "id": reply.id,
        "model": reply.model,
        "text": reply.text,
        "stop": reply.stop,
        "usage": asdict(reply.usage),
    }


def _finished(event: events.ToolFinished) -> Json:
    return {
        "id": event.id,
        "name": event.name,
        "headline": event.headline,
        "error": event.result.is_error,
        "text": event.result.text,
    }


def _broke(event: events.CacheBroke) -> Json:
    match event.verdict:
        case ExpectedBreak(reason, lost):
            return {"purpose": event.purpose, "expected": True, "lost": lost, "why": [reason]}
        case Broken(lost, causes):
            why = [f"{cause.what}: {cause.detail}" for cause in causes]
            return {"purpose": event.purpose, "expected": False, "lost": lost, "why": why}


def _spent(event: events.MoneySpent) -> Json:
    entry = event.entry
    return {
        "purpose": entry.purpose,
        "model": entry.model,
        "cost": entry.cost,
        "estimated": entry.estimated,
        "usage": asdict(entry.usage),
    }


# The JSON name and fields of each event; a test fails if an event is missing.
_SHAPES: Mapping[type[Any], tuple[str, Callable[[Any], Json]]] = {
    TextDelta: ("text", asdict),
    ThinkingDelta: ("thinking", asdict),
    ToolUseStarted: ("tool_requested", asdict),
    events.Replied: ("replied", _replied),
    events.CacheBroke: ("cache_broke", _broke),
    events.ContextCleared: ("context_cleared", lambda event: asdict(event.cleared)),
    events.MoneySpent: ("spent", _spent),
    events.CapReached: ("cap_reached", asdict),
    events.TroubleNoted: ("trouble", asdict),
    events.ToolStarted: ("tool_started", asdict),
    events.ToolFinished: ("tool_finished", _finished),
    events.LayerFired: ("layer", asdict),
    events.MemoriesSurfaced: ("memories", asdict),
    events.MemoriesLate: ("memories_late", asdict),
    events.MemoriesSaved: ("saved", asdict),
    events.DreamBegan: ("dream_began", asdict),
    events.DreamEnded: ("dream_ended", asdict),
    events.NotesUpdated: ("notes", asdict),
    events.ForkStarted: ("fork_started", asdict),
    events.ForkEnded: ("fork_ended", asdict),
    events.AgentStarted: ("agent_started", asdict),
    events.AgentProgressed: ("agent_progressed", asdict),
    events.AgentEnded: ("agent_ended", asdict),
    events.LetterSent: ("letter_sent", asdict),
    events.TurnEnded: ("turn_ended", asdict),
}
