"""Codex's hooks: JSON much like Claude Code's, but another way to replace an output.

Observed with 0.166.0. A blocked PostToolUse replaces what the model reads; a blocked Stop is repeated
without end, so it is never blocked; nothing that PreCompact prints has an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reverie.clients.hooks import events as fields
from reverie.clients.hooks.claude_events import about_to_compact, started, stopped
from reverie.clients.hooks.events import (
    Context,
    HookEvent,
    Ignored,
    Instructions,
    Json,
    Moment,
    Nothing,
    Outcome,
    Prompted,
    ReplacedOutput,
    SessionEnded,
    ToolFinished,
)

CLIENT = "codex"


def parse(event: str, data: Json) -> HookEvent:
    read = _MOMENTS.get(event)
    moment = Ignored(f"{event} is nothing to us") if read is None else read(data)
    return HookEvent(
        CLIENT,
        fields.text(data, "session_id"),
        fields.text(data, "cwd"),
        moment,
        fields.transcript(data),
    )


def render(event: str, outcome: Outcome) -> bytes:
    match outcome:
        case Context(text):
            told = {"hookEventName": event, "additionalContext": text}
            return fields.written({"hookSpecificOutput": told})
        case ReplacedOutput(_, response):
            return fields.written({"decision": "block", "reason": response})
        case Instructions() | Nothing():
            return b""


def _prompted(data: Json) -> Moment:
    return Prompted(fields.text(data, "prompt"))


def _finished(data: Json) -> Moment:
    text = fields.said(data.get("tool_response"))
    if text is None:
        return Ignored("its output is no text")
    name, id_ = fields.text(data, "tool_name"), fields.text(data, "tool_use_id")
    return ToolFinished(name, id_, fields.table(data, "tool_input"), text, ("",))


def _stopped(data: Json) -> Moment:
    if data.get("stop_hook_active") is True:
        return Ignored("another hook made the turn go on; its end comes")
    return stopped(data)


_MOMENTS: Mapping[str, Callable[[Json], Moment]] = {
    "SessionStart": started,
    "UserPromptSubmit": _prompted,
    "PostToolUse": _finished,
    "PreCompact": about_to_compact,
    "Stop": _stopped,
    "SessionEnd": lambda data: SessionEnded(),
}

EVENTS = frozenset(_MOMENTS)
