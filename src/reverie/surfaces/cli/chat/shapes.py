"""Events as JSON objects, one a line: the shapes of `--output-format stream-json`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak
from reverie.core.reply import TextDelta, ThinkingDelta, ToolUseStarted
from reverie.core.usage import Usage
from reverie.events import (
    AgentEnded,
    AgentProgressed,
    AgentStarted,
    CacheBroke,
    CapReached,
    ContextCleared,
    DreamBegan,
    DreamEnded,
    Event,
    ForkEnded,
    ForkStarted,
    LayerFired,
    LetterSent,
    MemoriesSaved,
    MemoriesSurfaced,
    MoneySpent,
    NotesUpdated,
    Replied,
    ToolFinished,
    ToolStarted,
    TroubleNoted,
    TurnEnded,
)
from reverie.surfaces.cli.chat.tally import Tally

Json: TypeAlias = dict[str, Any]


def event_json(event: Event) -> Json:
    """`type` comes first, so that a person can scan the stream."""
    name, fields = _SHAPES[type(event)]
    return {"type": name, **fields(event)}


def usage_json(usage: Usage) -> Json:
    return asdict(usage)


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
        "usage": usage_json(tally.usage),
        "requests": tally.requests,
        "cost": tally.cost,
        "unpriced": tally.unpriced,
        "cache_hit_rate": tally.usage.hit_rate,
        "layers": dict(tally.layers),
        "memories": list(tally.memories),
    }


def _replied(event: Replied) -> Json:
    reply = event.reply
    return {
        "id": reply.id,
        "model": reply.model,
        "text": reply.text,
        "stop": reply.stop,
        "usage": usage_json(reply.usage),
    }


def _finished(event: ToolFinished) -> Json:
    return {
        "id": event.id,
        "name": event.name,
        "headline": event.headline,
        "error": event.result.is_error,
        "text": event.result.text,
    }


def _broke(event: CacheBroke) -> Json:
    match event.verdict:
        case ExpectedBreak(reason, lost):
            return {"purpose": event.purpose, "expected": True, "lost": lost, "why": [reason]}
        case Broken(lost, causes):
            why = [f"{cause.what}: {cause.detail}" for cause in causes]
            return {"purpose": event.purpose, "expected": False, "lost": lost, "why": why}


def _spent(event: MoneySpent) -> Json:
    entry = event.entry
    return {
        "purpose": entry.purpose,
        "model": entry.model,
        "cost": entry.cost,
        "estimated": entry.estimated,
        "usage": usage_json(entry.usage),
    }


# A name, and the fields behind it; a kind of event that is missing here fails a test.
_SHAPES: Mapping[type[Any], tuple[str, Callable[[Any], Json]]] = {
    TextDelta: ("text", asdict),
    ThinkingDelta: ("thinking", asdict),
    ToolUseStarted: ("tool_requested", asdict),
    Replied: ("replied", _replied),
    CacheBroke: ("cache_broke", _broke),
    ContextCleared: ("context_cleared", lambda event: asdict(event.cleared)),
    MoneySpent: ("spent", _spent),
    CapReached: ("cap_reached", asdict),
    TroubleNoted: ("trouble", asdict),
    ToolStarted: ("tool_started", asdict),
    ToolFinished: ("tool_finished", _finished),
    LayerFired: ("layer", asdict),
    MemoriesSurfaced: ("memories", asdict),
    MemoriesSaved: ("saved", asdict),
    DreamBegan: ("dream_began", asdict),
    DreamEnded: ("dream_ended", asdict),
    NotesUpdated: ("notes", asdict),
    ForkStarted: ("fork_started", asdict),
    ForkEnded: ("fork_ended", asdict),
    AgentStarted: ("agent_started", asdict),
    AgentProgressed: ("agent_progressed", asdict),
    AgentEnded: ("agent_ended", asdict),
    LetterSent: ("letter_sent", asdict),
    TurnEnded: ("turn_ended", asdict),
}
