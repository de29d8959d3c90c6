"""Claude Code's events, from its hooks and its SDK's callbacks, and the answers it accepts. Pure.

Observed with 2.1.197 and 2.1.325. A finished sub-agent reports back as a prompt that the client writes
itself; the client's summarizer ends as a sub-agent without a type.
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
    Nothing,
    Outcome,
    Payload,
    Prompted,
    ReplacedOutput,
    SessionEnded,
    SessionStarted,
    Stopped,
    ToolFinished,
)

CLIENT = "claude-code"

MCP = "mcp__"

# The fields of a tool's result that the model reads. File tools are left out: files are on disk already.
OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("stdout", "stderr"),
    "Grep": ("content",),
    "WebFetch": ("result",),
}

# Prompts that the client writes in the person's name.
_WRITTEN_BY_CLIENT = re.compile(
    r"\s*<(?:task-notification|command-|local-command-|bash-|system-reminder)"
)


def parse(event: str, data: Json) -> HookEvent:
    return HookEvent(
        CLIENT,
        fields.text(data, "session_id"),
        fields.text(data, "cwd"),
        _payload(event, data),
        fields.transcript(data),
    )


def answer(event: str, outcome: Outcome) -> dict[str, Any]:
    """The answer as a JSON object; empty when the event takes none."""
    match outcome:
        case Context(text):
            specific: dict[str, Any] = {"additionalContext": text}
        case ReplacedOutput(tool, response):
            field = "updatedMCPToolOutput" if tool.startswith(MCP) else "updatedToolOutput"
            specific = {field: response}
        case Instructions() | Nothing():
            return {}
    return {"hookSpecificOutput": {"hookEventName": event, **specific}}


def started(data: Json) -> Payload:
    match fields.text(data, "source"):
        case "compact":
            return SessionStarted("compact")
        case "resume":
            return SessionStarted("resume")
        case _:
            return SessionStarted("startup")


def about_to_compact(data: Json) -> Payload:
    return AboutToCompact(fields.text(data, "trigger"), fields.text(data, "custom_instructions"))


def stopped(data: Json) -> Payload:
    return Stopped(
        data.get("stop_hook_active") is True, fields.text(data, "last_assistant_message")
    )


def _payload(event: str, data: Json) -> Payload:
    parser = _PARSERS.get(event)
    if parser is None:
        return Ignored(f"Reverie does not handle {event}")
    if fields.text(data, "agent_id") and event != "PostToolUse":
        return Ignored("it happened inside a sub-agent")
    return parser(data)


def _prompted(data: Json) -> Payload:
    text = fields.text(data, "prompt")
    if _WRITTEN_BY_CLIENT.match(text):
        return Ignored("the client wrote this prompt itself")
    return Prompted(text)


def _finished(data: Json) -> Payload:
    name, response = fields.text(data, "tool_name"), data.get("tool_response")
    outputs = OUTPUTS.get(name, ())
    if name.startswith(MCP):
        response = fields.result_text(response)
        outputs = () if response is None else ("",)
    elif not isinstance(response, dict) or response.get("isImage"):
        outputs = ()
    if not outputs:
        return Ignored(f"the output of {name or 'this tool'} is left as it is")
    id_ = fields.text(data, "tool_use_id")
    return ToolFinished(name, id_, fields.table(data, "tool_input"), response, outputs)


def _subagent_stopped(data: Json) -> Payload:
    if not fields.text(data, "agent_type"):
        return Ignored("the client's own summarizer ended")
    return Ignored("what a sub-agent found out is in the conversation")


_PARSERS: Mapping[str, Callable[[Json], Payload]] = {
    "SessionStart": started,
    "UserPromptSubmit": _prompted,
    "PostToolUse": _finished,
    "PreCompact": about_to_compact,
    "Stop": stopped,
    "SubagentStop": _subagent_stopped,
    "SessionEnd": lambda data: SessionEnded(),
}

EVENTS = frozenset(_PARSERS)
