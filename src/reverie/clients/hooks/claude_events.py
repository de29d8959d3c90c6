"""Claude Code's events, as its hooks and the callbacks of its SDK tell them, and the answers it takes. Pure.

Observed with 2.1.197 and 2.1.325. A sub-agent that finished comes back as a prompt nobody wrote; the
request that summarizes ends as a sub-agent without a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from reverie.clients.hooks import events as fields
from reverie.clients.hooks.events import (
    AboutToCompact,
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
    SessionStarted,
    Stopped,
    ToolFinished,
)

CLIENT = "claude-code"

MCP = "mcp__"

# What the model reads of a tool's structured result. Files are left out: they are on disk already.
OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("stdout", "stderr"),
    "Grep": ("content",),
    "WebFetch": ("result",),
}

# Written by the client in the person's name.
_NOBODY = re.compile(r"\s*<(?:task-notification|command-|local-command-|bash-|system-reminder)")


def occasion(event: str, data: Json) -> HookEvent:
    """What happened, and whose session it was."""
    return HookEvent(
        CLIENT,
        fields.text(data, "session_id"),
        fields.text(data, "cwd"),
        _moment(event, data),
        fields.transcript(data),
    )


def answer(event: str, outcome: Outcome) -> dict[str, Any]:
    """The answer as an object; empty where none is taken."""
    match outcome:
        case Context(text):
            specific: dict[str, Any] = {"additionalContext": text}
        case ReplacedOutput(tool, response):
            field = "updatedMCPToolOutput" if tool.startswith(MCP) else "updatedToolOutput"
            specific = {field: response}
        case Instructions() | Nothing():
            return {}
    return {"hookSpecificOutput": {"hookEventName": event, **specific}}


def started(data: Json) -> Moment:
    match fields.text(data, "source"):
        case "compact":
            return SessionStarted("compact")
        case "resume":
            return SessionStarted("resume")
        case _:
            return SessionStarted("startup")


def about_to_compact(data: Json) -> Moment:
    return AboutToCompact(fields.text(data, "trigger"), fields.text(data, "custom_instructions"))


def stopped(data: Json) -> Moment:
    return Stopped(
        data.get("stop_hook_active") is True, fields.text(data, "last_assistant_message")
    )


def _moment(event: str, data: Json) -> Moment:
    read = _MOMENTS.get(event)
    if read is None:
        return Ignored(f"{event} is nothing to us")
    if fields.text(data, "agent_id") and event != "PostToolUse":
        return Ignored("it happened inside a sub-agent")
    return read(data)


def _prompted(data: Json) -> Moment:
    text = fields.text(data, "prompt")
    if _NOBODY.match(text):
        return Ignored("the client wrote this prompt itself")
    return Prompted(text)


def _finished(data: Json) -> Moment:
    name, response = fields.text(data, "tool_name"), data.get("tool_response")
    outputs = OUTPUTS.get(name, ())
    if name.startswith(MCP):
        response = fields.said(response)
        outputs = () if response is None else ("",)
    elif not isinstance(response, dict) or response.get("isImage"):
        outputs = ()
    if not outputs:
        return Ignored(f"the output of {name or 'this tool'} is left as it is")
    id_ = fields.text(data, "tool_use_id")
    return ToolFinished(name, id_, fields.table(data, "tool_input"), response, outputs)


def _subagent_stopped(data: Json) -> Moment:
    if not fields.text(data, "agent_type"):
        return Ignored("the client's own summarizer ended")
    return Ignored("what a sub-agent found out is in the conversation")


_MOMENTS: Mapping[str, Callable[[Json], Moment]] = {
    "SessionStart": started,
    "UserPromptSubmit": _prompted,
    "PostToolUse": _finished,
    "PreCompact": about_to_compact,
    "Stop": stopped,
    "SubagentStop": _subagent_stopped,
    "SessionEnd": lambda data: SessionEnded(),
}

EVENTS = frozenset(_MOMENTS)
