"""Claude Code's events, from its hooks and its SDK's callbacks, and the answers it accepts. Pure.

Observed with 2.1.197 and 2.1.325. A finished sub-agent reports back as a prompt that the client writes
itself; the client's summarizer ends as a sub-agent without a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from reverie.clients.hooks import events
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


def parse(event: str, data: events.Json) -> events.HookEvent:
    return events.HookEvent(
        CLIENT,
        events.text(data, "session_id"),
        events.text(data, "cwd"),
        _payload(event, data),
        events.transcript(data),
    )


def answer(event: str, outcome: events.Outcome) -> dict[str, Any]:
    """The answer as a JSON object; empty when the event takes none."""
    match outcome:
        case events.Context(text):
            specific: dict[str, Any] = {"additionalContext": text}
        case events.ReplacedOutput(tool, response, context):
            field = "updatedMCPToolOutput" if tool.startswith(MCP) else "updatedToolOutput"
            specific = {field: response} | ({"additionalContext": context} if context else {})
        case events.Notice(text):
            return {"systemMessage": text}
        case events.Instructions() | events.Nothing():
            return {}
    return {"hookSpecificOutput": {"hookEventName": event, **specific}}


def started(data: events.Json) -> events.Payload:
    match events.text(data, "source"):
        case "compact":
            return events.SessionStarted("compact")
        case "resume":
            return events.SessionStarted("resume")
        case _:
            return events.SessionStarted("startup")


def about_to_compact(data: events.Json) -> events.Payload:
    return events.AboutToCompact(
        events.text(data, "trigger"), events.text(data, "custom_instructions")
    )


def stopped(data: events.Json) -> events.Payload:
    return events.Stopped(
        data.get("stop_hook_active") is True, events.text(data, "last_assistant_message")
    )


def _payload(event: str, data: events.Json) -> events.Payload:
    parser = _PARSERS.get(event)
    if parser is None:
        return events.Ignored(f"Reverie does not handle {event}")
    if not events.text(data, "agent_id"):
        return parser(data)
    payload = parser(data)
    if isinstance(payload, events.ToolFinished) and payload.outputs:
        # A memory shown to a sub-agent would count as shown to the conversation.
        return replace(payload, files=(), error="")
    return events.Ignored("it happened inside a sub-agent")


def _prompted(data: events.Json) -> events.Payload:
    text = events.text(data, "prompt")
    if _WRITTEN_BY_CLIENT.match(text):
        return events.Ignored("the client wrote this prompt itself")
    return events.Prompted(text)


def _finished(data: events.Json) -> events.Payload:
    name, response = events.text(data, "tool_name"), data.get("tool_response")
    outputs, files = OUTPUTS.get(name, ()), _files(data)
    if name.startswith(MCP):
        response = events.result_text(response)
        outputs = () if response is None else ("",)
    elif (
        not isinstance(response, dict)
        or response.get("isImage")
        or any(response.get(mark) for mark in CUT_BY_CLIENT)
    ):
        outputs = ()
    if not outputs and not files:
        return events.Ignored(f"the output of {name or 'this tool'} is left as it is")
    id_ = events.text(data, "tool_use_id")
    return events.ToolFinished(
        name, id_, events.table(data, "tool_input"), response, outputs, files
    )


def _files(data: events.Json) -> tuple[str, ...]:
    name, given = events.text(data, "tool_name"), events.table(data, "tool_input")
    if name in FILE_TOOLS:
        return tuple(path for path in [events.text(given, "file_path", "notebook_path")] if path)
    return command_files(events.text(given, "command")) if name == "Bash" else ()


def _failed(data: events.Json) -> events.Payload:
    name, error = events.text(data, "tool_name"), events.text(data, "error")
    if name != "Bash" or not error or data.get("is_interrupt") is True:
        return events.Ignored("no command failed")
    id_, given = events.text(data, "tool_use_id"), events.table(data, "tool_input")
    return events.ToolFinished(name, id_, given, None, (), _files(data), error)


def _subagent_stopped(data: events.Json) -> events.Payload:
    if not events.text(data, "agent_type"):
        return events.Ignored("the client's own summarizer ended")
    return events.Ignored("what a sub-agent found out is in the conversation")


_PARSERS: Mapping[str, Callable[[events.Json], events.Payload]] = {
    "SessionStart": started,
    "UserPromptSubmit": _prompted,
    "PostToolUse": _finished,
    "PostToolUseFailure": _failed,
    "PreCompact": about_to_compact,
    "Stop": stopped,
    "SubagentStop": _subagent_stopped,
    "SessionEnd": lambda data: events.SessionEnded(),
}

EVENTS = frozenset(_PARSERS)
