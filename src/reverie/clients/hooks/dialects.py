"""The hook JSON of each client: parsed into a HookEvent, and an Outcome rendered as the client's answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from reverie.clients.hooks import claude_events
from reverie.clients.hooks import events as fields
from reverie.clients.hooks.claude_events import about_to_compact, started, stopped
from reverie.clients.hooks.events import (
    AboutToCompact,
    Answered,
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
    PromptSeen,
    ReplacedOutput,
    SessionEnded,
    SessionMet,
    SessionStarted,
    Stopped,
    ToolFinished,
)
from reverie.recall.mentions import command_files

Parsers: TypeAlias = Mapping[str, Callable[[Json], Payload]]


class Dialect(NamedTuple):
    """How to read a client's hooks and answer them; unknown fields and events are ignored."""

    events: frozenset[str]
    parse: Callable[[str, Json], HookEvent]
    render: Callable[[str, Outcome], bytes]


def _parsed(parsers: Parsers, event: str, data: Json) -> Payload:
    parse = parsers.get(event)
    return Ignored(f"Reverie does not handle {event}") if parse is None else parse(data)


# --- Claude Code ---


def _render_claude_code(event: str, outcome: Outcome) -> bytes:
    """Stop gets at most a line for the person: context would make the turn go on.

    PreCompact is not answered: the client prints whatever the hook says to the person. What must survive
    comes back when the session starts again.
    """
    answer = claude_events.answer(event, outcome)
    return fields.encoded(answer) if answer else b""


# --- Codex: JSON much like Claude Code's, but another way to replace an output ---
#
# Observed with 0.166.0. A blocked PostToolUse replaces what the model reads. A blocked Stop repeats
# without end, so Stop is never blocked. Codex ignores whatever PreCompact prints.


def _parse_codex(event: str, data: Json) -> HookEvent:
    session, cwd = fields.text(data, "session_id"), fields.text(data, "cwd")
    return HookEvent("codex", session, cwd, _parsed(_CODEX, event, data), fields.transcript(data))


def _render_codex(event: str, outcome: Outcome) -> bytes:
    if isinstance(outcome, ReplacedOutput):
        reason = "\n\n".join(part for part in (outcome.response, outcome.context) if part)
        return fields.encoded({"decision": "block", "reason": reason})
    return _render_context(event, outcome)


def _render_context(event: str, outcome: Outcome) -> bytes:
    """Added context in the shape Codex and Gemini share; other outcomes have no effect there."""
    match outcome:
        case Context(text):
            specific = {"hookEventName": event, "additionalContext": text}
            return fields.encoded({"hookSpecificOutput": specific})
        case Notice(text):
            return fields.encoded({"systemMessage": text})
        case ReplacedOutput() | Instructions() | Nothing():
            return b""


# Codex tells no hook whether a command failed: an output this short that names a problem counts as an error.
_SHORT_ERROR = 4_000


def _codex_tool(data: Json) -> Payload:
    text = fields.result_text(data.get("tool_response"))
    if text is None:
        return Ignored("its output is not text")
    name, id_ = fields.text(data, "tool_name"), fields.text(data, "tool_use_id")
    given = fields.table(data, "tool_input")
    command = fields.text(given, "command", "input")
    files, error = fields.patched_files(command), ""
    if name == "Bash":
        files = files or command_files(command)
        error = text if len(text) <= _SHORT_ERROR else ""
    # What Codex has cut is not the whole output, and it keeps no file of it.
    outputs = () if _CUT_BY_CODEX.match(text) else ("",)
    return ToolFinished(name, id_, given, text, outputs, files, error)


def _codex_stop(data: Json) -> Payload:
    if data.get("stop_hook_active") is True:
        return Ignored("another hook continues the turn; another Stop will follow")
    return stopped(data)


_CUT_BY_CODEX = re.compile(r"\s*Warning: truncated output \(original token count: \d+\)")

_CODEX: Parsers = {
    "SessionStart": started,
    "UserPromptSubmit": lambda data: Prompted(fields.text(data, "prompt")),
    "PostToolUse": _codex_tool,
    "PreCompact": about_to_compact,
    "Stop": _codex_stop,
    "SessionEnd": lambda data: SessionEnded(),
}


# --- Gemini CLI: context beside each prompt; the first prompt also carries the session's opening ---
#
# Observed with 0.61.0. SessionStart is not answered: its answer is put before the first prompt, and a
# resumed session loses a prompt that begins that way. PreCompress runs before every model call, not
# only before a compression, and AfterTool can replace an output only as an error, so neither is used.
# The chat files hold patches, so the transcript is recorded from the hooks themselves.

# Hook output from the start of a session, before what the person typed; `<` and `>` are escaped in it.
_GEMINI_CONTEXT = re.compile(r"\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)


def _parse_gemini(event: str, data: Json) -> HookEvent:
    session, cwd = fields.text(data, "session_id"), fields.text(data, "cwd")
    return HookEvent("gemini", session, cwd, _parsed(_GEMINI, event, data))


def _gemini_prompt(data: Json) -> Payload:
    text = fields.text(data, "prompt")
    context = _GEMINI_CONTEXT.match(text)
    return Prompted(text[context.end() :] if context else text, opens=True)


def _gemini_stop(data: Json) -> Payload:
    return Stopped(data.get("stop_hook_active") is True, fields.text(data, "prompt_response"))


_GEMINI: Parsers = {
    "SessionStart": lambda data: SessionMet(fields.text(data, "source") == "resume"),
    "BeforeAgent": _gemini_prompt,
    "AfterAgent": _gemini_stop,
    "SessionEnd": lambda data: SessionEnded(),
}


# --- Cursor: context at the start of a session only ---
#
# From its documentation, not observed. beforeSubmitPrompt can only allow or refuse a prompt, so it is
# not answered. The transcript is recorded from the hooks themselves.


def _parse_cursor(event: str, data: Json) -> HookEvent:
    session = fields.text(data, "conversation_id", "session_id")
    return HookEvent("cursor", session, _cursor_folder(data), _parsed(_CURSOR, event, data))


def _cursor_folder(data: Json) -> str:
    roots = data.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    return first if isinstance(first, str) else fields.text(data, "cwd")


def _render_cursor(event: str, outcome: Outcome) -> bytes:
    match outcome:
        case Context(text):
            return fields.encoded({"additional_context": text})
        case ReplacedOutput() | Instructions() | Notice() | Nothing():
            return b""


_CURSOR: Parsers = {
    "sessionStart": lambda data: SessionStarted("startup"),
    "beforeSubmitPrompt": lambda data: PromptSeen(fields.text(data, "prompt")),
    "afterAgentResponse": lambda data: Answered(fields.text(data, "text")),
    "preCompact": lambda data: AboutToCompact(fields.text(data, "trigger"), ""),
    "stop": lambda data: Stopped(again=False, answer=""),
    "sessionEnd": lambda data: SessionEnded(),
}


# --- opencode: our plugin sends the JSON, under opencode's names for its events ---

# opencode asks these agents of its own for titles and summaries through the same events.
_OPENCODE_AGENTS = ("title", "summary", "compaction")
# The output of these tools is on disk already.
_OPENCODE_FILE_TOOLS = ("read", "edit", "write", "patch")
_QUOTED = re.compile(r'"((?:[^"]|(?<=\\)")*)"')


def _parse_opencode(event: str, data: Json) -> HookEvent:
    session = fields.text(data, "sessionID", "session_id")
    payload: Payload = Ignored("one of the client's own agents")
    if fields.text(data, "agent") not in _OPENCODE_AGENTS:
        payload = _parsed(_OPENCODE, event, data)
    return HookEvent("opencode", session, fields.text(data, "directory", "cwd"), payload)


def _render_opencode(event: str, outcome: Outcome) -> bytes:
    match outcome:
        case Context(text) | Instructions(text):
            return fields.encoded({"context": text})
        case ReplacedOutput(_, response, context):
            answer = {"output": response} | ({"context": context} if context else {})
            return fields.encoded(answer)
        case Notice(text):
            return fields.encoded({"notice": text})
        case Nothing():
            return b""


def _opencode_prompt(data: Json) -> Payload:
    """`opencode run` puts quotes around its argument and escapes the quotes inside it."""
    text = fields.text(data, "text")
    quoted = _QUOTED.fullmatch(text)
    return Prompted(quoted[1].replace('\\"', '"') if quoted else text)


def _opencode_tool(data: Json) -> Payload:
    name, output = fields.text(data, "tool"), data.get("output")
    given = fields.table(data, "args")
    path, command = fields.text(given, "filePath"), fields.text(given, "command")
    files = (path,) if path else command_files(command)
    error = output if isinstance(output, str) and data.get("exit") not in (None, 0) else ""
    whole = (
        isinstance(output, str) and not data.get("truncated") and name not in _OPENCODE_FILE_TOOLS
    )
    if not whole and not files and not error:
        return Ignored(f"the output of {name or 'this tool'} is left as it is")
    id_ = fields.text(data, "callID")
    return ToolFinished(name, id_, given, output, ("",) if whole else (), files, error)


_OPENCODE: Parsers = {
    "session.created": lambda data: SessionStarted("startup"),
    "session.compacted": lambda data: SessionStarted("compact"),
    "chat.message": _opencode_prompt,
    "tool.execute.after": _opencode_tool,
    "experimental.session.compacting": lambda data: AboutToCompact("", ""),
    "session.idle": lambda data: Stopped(again=False, answer=fields.text(data, "text")),
    "session.deleted": lambda data: SessionEnded(),
}

DIALECTS: Mapping[str, Dialect] = {
    claude_events.CLIENT: Dialect(claude_events.EVENTS, claude_events.parse, _render_claude_code),
    "codex": Dialect(frozenset(_CODEX), _parse_codex, _render_codex),
    "cursor": Dialect(frozenset(_CURSOR), _parse_cursor, _render_cursor),
    "gemini": Dialect(frozenset(_GEMINI), _parse_gemini, _render_context),
    "opencode": Dialect(frozenset(_OPENCODE), _parse_opencode, _render_opencode),
}
