"""Claude Code's events, from its hooks and its SDK's callbacks, and the answers it accepts. Pure.

Observed with 2.1.197 and 2.1.325. A finished sub-agent reports back as a prompt that the client writes
itself; the client's summarizer ends as a sub-agent without a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
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
    Notice,
    Outcome,
    Payload,
    Prompted,
    ReplacedOutput,
    SessionEnded,
    SessionStarted,
    Stopped,
    ToolFinished,
)
from reverie.recall.mentions import command_files

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


# Tools whose file may have memories about it.
FILE_TOOLS = ("Read", "Edit", "MultiEdit", "Write", "NotebookEdit")

# Fields that tell of an output the client has cut: what we would store is not the whole.
CUT_BY_CLIENT = ("persistedOutputPath", "truncated", "appliedLimit")


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
        case ReplacedOutput(tool, response, context):
            field = "updatedMCPToolOutput" if tool.startswith(MCP) else "updatedToolOutput"
            specific = {field: response} | ({"additionalContext": context} if context else {})
        case Notice(text):
            return {"systemMessage": text}
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
    if not fields.text(data, "agent_id"):
        return parser(data)
    payload = parser(data)
    if isinstance(payload, ToolFinished) and payload.outputs:
        # A memory shown to a sub-agent would count as shown to the conversation.
        return replace(payload, files=(), error="")
    return Ignored("it happened inside a sub-agent")


def _prompted(data: Json) -> Payload:
    text = fields.text(data, "prompt")
    if _WRITTEN_BY_CLIENT.match(text):
        return Ignored("the client wrote this prompt itself")
    return Prompted(text)


def _finished(data: Json) -> Payload:
    name, response = fields.text(data, "tool_name"), data.get("tool_response")
    outputs, files = OUTPUTS.get(name, ()), _files(data)
    if name.startswith(MCP):
        response = fields.result_text(response)
        outputs = () if response is None else ("",)
    elif (
        not isinstance(response, dict)
        or response.get("isImage")
        or any(response.get(mark) for mark in CUT_BY_CLIENT)
    ):
        outputs = ()
    if not outputs and not files:
        return Ignored(f"the output of {name or 'this tool'} is left as it is")
    id_ = fields.text(data, "tool_use_id")
    return ToolFinished(name, id_, fields.table(data, "tool_input"), response, outputs, files)


def _files(data: Json) -> tuple[str, ...]:
    name, given = fields.text(data, "tool_name"), fields.table(data, "tool_input")
    if name in FILE_TOOLS:
        return tuple(path for path in [fields.text(given, "file_path", "notebook_path")] if path)
    return command_files(fields.text(given, "command")) if name == "Bash" else ()


def _failed(data: Json) -> Payload:
    name, error = fields.text(data, "tool_name"), fields.text(data, "error")
    if name != "Bash" or not error or data.get("is_interrupt") is True:
        return Ignored("no command failed")
    id_, given = fields.text(data, "tool_use_id"), fields.table(data, "tool_input")
    return ToolFinished(name, id_, given, None, (), _files(data), error)


def _subagent_stopped(data: Json) -> Payload:
    if not fields.text(data, "agent_type"):
        return Ignored("the client's own summarizer ended")
    return Ignored("what a sub-agent found out is in the conversation")


_PARSERS: Mapping[str, Callable[[Json], Payload]] = {
    "SessionStart": started,
    "UserPromptSubmit": _prompted,
    "PostToolUse": _finished,
    "PostToolUseFailure": _failed,
    "PreCompact": about_to_compact,
    "Stop": stopped,
    "SubagentStop": _subagent_stopped,
    "SessionEnd": lambda data: SessionEnded(),
}

EVENTS = frozenset(_PARSERS)
