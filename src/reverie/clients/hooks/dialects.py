"""The hook JSON of each client: parsed into a HookEvent, and an Outcome rendered as the client's answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from reverie.clients.hooks import events
from reverie.recall.mentions import command_files

Parsers: TypeAlias = Mapping[str, Callable[[events.Json], events.Payload]]


class Dialect(NamedTuple):
    """How to read a client's hooks and answer them; unknown fields and events are ignored."""

    names: frozenset[str]
    parse: Callable[[str, events.Json], events.HookEvent]
    render: Callable[[str, events.Outcome], bytes]


def _parsed(parsers: Parsers, event: str, data: events.Json) -> events.Payload:
    parse = parsers.get(event)
    return events.Ignored(f"Reverie does not handle {event}") if parse is None else parse(data)


# --- Claude Code: from its hooks and its SDK's callbacks ---
#
# Observed with 2.1.197 and 2.1.325. A finished sub-agent reports back as a prompt that the client writes
# itself; the client's summarizer ends as a sub-agent without a type.

CLAUDE_CODE = "claude-code"

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

# Fields that mark an output the client has cut: it would be stored incomplete.
CUT_BY_CLIENT = ("persistedOutputPath", "truncated", "appliedLimit")


def parse_claude_code(event: str, data: events.Json) -> events.HookEvent:
    return events.HookEvent(
        CLAUDE_CODE,
        events.text(data, "session_id"),
        events.text(data, "cwd"),
        _payload(event, data),
        events.transcript(data),
    )


def claude_code_answer(event: str, outcome: events.Outcome) -> dict[str, Any]:
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
    payload = _parsed(_CLAUDE_CODE, event, data)
    if not events.text(data, "agent_id") or event not in _CLAUDE_CODE:
        return payload
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
    return events.Ignored("the result of a sub-agent is in the conversation")


_CLAUDE_CODE: Parsers = {
    "SessionStart": started,
    "UserPromptSubmit": _prompted,
    "PostToolUse": _finished,
    "PostToolUseFailure": _failed,
    "PreCompact": about_to_compact,
    "Stop": stopped,
    "SubagentStop": _subagent_stopped,
    "SessionEnd": lambda data: events.SessionEnded(),
}

CLAUDE_CODE_EVENTS = frozenset(_CLAUDE_CODE)


def _render_claude_code(event: str, outcome: events.Outcome) -> bytes:
    """Stop gets at most a line for the person: context would continue the turn.

    PreCompact is not answered: the client prints whatever the hook says to the person. What must survive
    comes back when the session starts again.
    """
    answer = claude_code_answer(event, outcome)
    return events.encoded(answer) if answer else b""


# --- Codex: JSON much like Claude Code's, but another way to replace an output ---
#
# Observed with 0.166.0. A blocked PostToolUse replaces what the model reads. A blocked Stop repeats
# without end, so Stop is never blocked. Codex ignores whatever PreCompact prints.


def _parse_codex(event: str, data: events.Json) -> events.HookEvent:
    session, cwd = events.text(data, "session_id"), events.text(data, "cwd")
    return events.HookEvent(
        "codex", session, cwd, _parsed(_CODEX, event, data), events.transcript(data)
    )


def _render_codex(event: str, outcome: events.Outcome) -> bytes:
    if isinstance(outcome, events.ReplacedOutput):
        reason = "\n\n".join(part for part in (outcome.response, outcome.context) if part)
        return events.encoded({"decision": "block", "reason": reason})
    return _render_context(event, outcome)


def _render_context(event: str, outcome: events.Outcome) -> bytes:
    """Added context in the shape Codex and Gemini share; other outcomes have no effect there."""
    match outcome:
        case events.Context(text):
            specific = {"hookEventName": event, "additionalContext": text}
            return events.encoded({"hookSpecificOutput": specific})
        case events.Notice(text):
            return events.encoded({"systemMessage": text})
        case events.ReplacedOutput() | events.Instructions() | events.Nothing():
            return b""


# Codex does not tell hooks whether a command failed: an output this short that names a problem
# counts as an error.
_SHORT_ERROR = 4_000


def _codex_tool(data: events.Json) -> events.Payload:
    text = events.result_text(data.get("tool_response"))
    if text is None:
        return events.Ignored("its output is not text")
    name, id_ = events.text(data, "tool_name"), events.text(data, "tool_use_id")
    given = events.table(data, "tool_input")
    command = events.text(given, "command", "input")
    files, error = events.patched_files(command), ""
    if name == "Bash":
        files = files or command_files(command)
        error = text if len(text) <= _SHORT_ERROR else ""
    # Codex keeps no file of an output it has cut, so the whole is lost.
    outputs = () if _CUT_BY_CODEX.match(text) else ("",)
    return events.ToolFinished(name, id_, given, text, outputs, files, error)


def _codex_stop(data: events.Json) -> events.Payload:
    if data.get("stop_hook_active") is True:
        return events.Ignored("another hook continues the turn; another Stop will follow")
    return stopped(data)


_CUT_BY_CODEX = re.compile(r"\s*Warning: truncated output \(original token count: \d+\)")

_CODEX: Parsers = {
    "SessionStart": started,
    "UserPromptSubmit": lambda data: events.Prompted(events.text(data, "prompt")),
    "PostToolUse": _codex_tool,
    "PreCompact": about_to_compact,
    "Stop": _codex_stop,
    "SessionEnd": lambda data: events.SessionEnded(),
}


# --- Gemini CLI: context beside each prompt; the first prompt also carries the session's opening ---
#
# Observed with 0.61.0. SessionStart is not answered: its answer is put before the first prompt, and a
# resumed session loses a prompt that begins that way. PreCompress runs before every model call, not
# only before a compression, and AfterTool can replace an output only as an error, so neither is used.
# The chat files hold patches, so the transcript is recorded from the hooks themselves.

# Hook output from the start of a session, before what the person typed; `<` and `>` are escaped in it.
_GEMINI_CONTEXT = re.compile(r"\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)


def _parse_gemini(event: str, data: events.Json) -> events.HookEvent:
    session, cwd = events.text(data, "session_id"), events.text(data, "cwd")
    return events.HookEvent("gemini", session, cwd, _parsed(_GEMINI, event, data))


def _gemini_prompt(data: events.Json) -> events.Payload:
    text = events.text(data, "prompt")
    context = _GEMINI_CONTEXT.match(text)
    return events.Prompted(text[context.end() :] if context else text, opens=True)


def _gemini_stop(data: events.Json) -> events.Payload:
    return events.Stopped(
        data.get("stop_hook_active") is True, events.text(data, "prompt_response")
    )


_GEMINI: Parsers = {
    "SessionStart": lambda data: events.SessionMet(events.text(data, "source") == "resume"),
    "BeforeAgent": _gemini_prompt,
    "AfterAgent": _gemini_stop,
    "SessionEnd": lambda data: events.SessionEnded(),
}


# --- Cursor: context at the start of a session only ---
#
# From its documentation, not observed. beforeSubmitPrompt can only allow or refuse a prompt, so it is
# not answered. The transcript is recorded from the hooks themselves.


def _parse_cursor(event: str, data: events.Json) -> events.HookEvent:
    session = events.text(data, "conversation_id", "session_id")
    return events.HookEvent("cursor", session, _cursor_folder(data), _parsed(_CURSOR, event, data))


def _cursor_folder(data: events.Json) -> str:
    roots = data.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return first if isinstance(first, str) else events.text(data, "cwd")


def _render_cursor(event: str, outcome: events.Outcome) -> bytes:
    match outcome:
        case events.Context(text):
            return events.encoded({"additional_context": text})
        case events.ReplacedOutput() | events.Instructions() | events.Notice() | events.Nothing():
            return b""


_CURSOR: Parsers = {
    "sessionStart": lambda data: events.SessionStarted("startup"),
    "beforeSubmitPrompt": lambda data: events.PromptSeen(events.text(data, "prompt")),
    "afterAgentResponse": lambda data: events.Answered(events.text(data, "text")),
    "preCompact": lambda data: events.AboutToCompact(events.text(data, "trigger"), ""),
    "stop": lambda data: events.Stopped(again=False, answer=""),
    "sessionEnd": lambda data: events.SessionEnded(),
}


# --- opencode: our plugin sends the JSON, under opencode's names for its events ---

# opencode asks these agents of its own for titles and summaries through the same events.
_OPENCODE_AGENTS = ("title", "summary", "compaction")
# Tools whose output is on disk already.
_OPENCODE_FILE_TOOLS = ("read", "edit", "write", "patch")
_QUOTED = re.compile(r'"((?:[^"]|(?<=\\)")*)"')


def _parse_opencode(event: str, data: events.Json) -> events.HookEvent:
    session = events.text(data, "sessionID", "session_id")
    payload: events.Payload = events.Ignored("one of the client's own agents")
    if events.text(data, "agent") not in _OPENCODE_AGENTS:
        payload = _parsed(_OPENCODE, event, data)
    return events.HookEvent("opencode", session, events.text(data, "directory", "cwd"), payload)


def _render_opencode(event: str, outcome: events.Outcome) -> bytes:
    match outcome:
        case events.Context(text) | events.Instructions(text):
            return events.encoded({"context": text})
        case events.ReplacedOutput(_, response, context):
            answer = {"output": response} | ({"context": context} if context else {})
            return events.encoded(answer)
        case events.Notice(text):
            return events.encoded({"notice": text})
        case events.Nothing():
            return b""


def _opencode_prompt(data: events.Json) -> events.Payload:
    """`opencode run` puts quotes around its argument and escapes the quotes inside it."""
    text = events.text(data, "text")
    quoted = _QUOTED.fullmatch(text)
    return events.Prompted(quoted[1].replace('\\"', '"') if quoted else text)


def _opencode_tool(data: events.Json) -> events.Payload:
    name, output = events.text(data, "tool"), data.get("output")
    given = events.table(data, "args")
    path, command = events.text(given, "filePath"), events.text(given, "command")
    files = (path,) if path else command_files(command)
    error = output if isinstance(output, str) and data.get("exit") not in (None, 0) else ""
    whole = (
        isinstance(output, str) and not data.get("truncated") and name not in _OPENCODE_FILE_TOOLS
    )
    if not whole and not files and not error:
        return events.Ignored(f"the output of {name or 'this tool'} is left as it is")
    id_ = events.text(data, "callID")
    return events.ToolFinished(name, id_, given, output, ("",) if whole else (), files, error)


_OPENCODE: Parsers = {
    "session.created": lambda data: events.SessionStarted("startup"),
    "session.compacted": lambda data: events.SessionStarted("compact"),
    "chat.message": _opencode_prompt,
    "tool.execute.after": _opencode_tool,
    "experimental.session.compacting": lambda data: events.AboutToCompact("", ""),
    "session.idle": lambda data: events.Stopped(again=False, answer=events.text(data, "text")),
    "session.deleted": lambda data: events.SessionEnded(),
}

DIALECTS: Mapping[str, Dialect] = {
    CLAUDE_CODE: Dialect(CLAUDE_CODE_EVENTS, parse_claude_code, _render_claude_code),
    "codex": Dialect(frozenset(_CODEX), _parse_codex, _render_codex),
    "cursor": Dialect(frozenset(_CURSOR), _parse_cursor, _render_cursor),
    "gemini": Dialect(frozenset(_GEMINI), _parse_gemini, _render_context),
    "opencode": Dialect(frozenset(_OPENCODE), _parse_opencode, _render_opencode),
}
