"""How each client's hook JSON is parsed, and how it is answered."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clients.hooks.said import BASH, claude, codex

from reverie.clients.hooks.dialects import DIALECTS
from reverie.clients.hooks.events import (
    AboutToCompact,
    Answered,
    Context,
    Ignored,
    Instructions,
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

EVENTS = [
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SubagentStop", "SessionEnd",
    "BeforeAgent", "AfterAgent", "AfterTool", "sessionStart", "beforeSubmitPrompt", "afterAgentResponse",
    "preCompact", "stop", "session.created", "chat.message", "tool.execute.after", "session.idle", "Nonsense",
]  # fmt: skip


def parsed(client: str, event: str, data: dict[str, Any]) -> Payload:
    return DIALECTS[client].parse(event, data).payload


@pytest.mark.parametrize(
    ("event", "fields", "expected"),
    [
        ("SessionStart", {"source": "startup"}, SessionStarted("startup")),
        ("SessionStart", {"source": "clear"}, SessionStarted("startup")),
        ("SessionStart", {"source": "resume"}, SessionStarted("resume")),
        ("SessionStart", {"source": "compact"}, SessionStarted("compact")),
        ("UserPromptSubmit", {"prompt": "do it"}, Prompted("do it")),
        ("PreCompact", {"trigger": "auto", "custom_instructions": None}, AboutToCompact("auto", "")),
        ("PreCompact", {"trigger": "manual", "custom_instructions": "keep mangoes"}, AboutToCompact("manual", "keep mangoes")),
        ("Stop", {"stop_hook_active": False, "last_assistant_message": "ALL-DONE"}, Stopped(again=False, answer="ALL-DONE")),
        ("SessionEnd", {"reason": "other"}, SessionEnded()),
    ],
)  # fmt: skip
def test_events_of_claude_code(event: str, fields: dict[str, Any], expected: Payload) -> None:
    parsed_event = DIALECTS["claude-code"].parse(event, claude(event, **fields))
    assert parsed_event.payload == expected
    assert (parsed_event.session, parsed_event.cwd) == ("5e55-1", "/repo")
    assert parsed_event.transcript == Path("/person/.claude/projects/-repo/5e55-1.jsonl")


@pytest.mark.parametrize("client", ["claude-code", "codex"])
@pytest.mark.parametrize(
    "path", ["/t/s.jsonl.gz", "/t/s.gz", "/t/s", "s.jsonl", "", None, 7, "/t/\0.jsonl", "/dev/zero"]
)
def test_only_plain_lines_are_taken_for_a_transcript(client: str, path: object) -> None:
    parsed_event = DIALECTS[client].parse("Stop", {"cwd": "/repo", "transcript_path": path})
    assert parsed_event.transcript is None


@pytest.mark.parametrize(
    ("event", "fields", "reason"),
    [
        ("UserPromptSubmit", {"prompt": "<task-notification>\nagent a1 is done"}, "the client wrote this"),
        ("UserPromptSubmit", {"prompt": "hi", "agent_id": "a1"}, "inside a sub-agent"),
        ("Stop", {"agent_id": "a1", "agent_type": "Explore"}, "inside a sub-agent"),
        ("SubagentStop", {"agent_type": ""}, "summarizer"),
        ("SubagentStop", {"agent_type": "general-purpose"}, "is in the conversation"),
        ("PostToolUse", {"tool_name": "Read", "tool_response": {"file": {"content": "x"}}}, "Read is left"),
        ("PostToolUse", {"tool_name": "Edit", "tool_response": {"oldString": "x"}}, "Edit is left"),
        ("PostToolUse", {"tool_name": "Bash", "tool_response": "text"}, "Bash is left"),
        ("PostToolUse", {"tool_name": "Bash", "tool_response": {"stdout": "iVBO", "isImage": True}}, "Bash is left"),
        ("PostToolUse", {"tool_name": "mcp__x__y", "tool_response": [{"type": "image"}]}, "is left"),
        ("PostToolUse", {}, "this tool is left"),
        ("WorktreeCreate", {}, "Reverie does not handle WorktreeCreate"),
    ],
)  # fmt: skip
def test_ignored_events_of_claude_code(event: str, fields: dict[str, Any], reason: str) -> None:
    found = parsed("claude-code", event, claude(event, **fields))
    assert isinstance(found, Ignored)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("fields", "response", "outputs"),
    [
        (BASH, BASH["tool_response"], ("stdout", "stderr")),
        (BASH | {"agent_id": "a1"}, BASH["tool_response"], ("stdout", "stderr")),
        ({"tool_name": "mcp__m__recall", "tool_response": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb", ("",)),
        ({"tool_name": "mcp__m__recall", "tool_response": {"content": [{"type": "text", "text": "a"}]}}, "a", ("",)),
        ({"tool_name": "mcp__m__recall", "tool_response": "a"}, "a", ("",)),
    ],
)  # fmt: skip
def test_results_of_claude_codes_tools(
    fields: dict[str, Any], response: object, outputs: tuple[str, ...]
) -> None:
    found = parsed("claude-code", "PostToolUse", claude("PostToolUse", **fields))
    assert isinstance(found, ToolFinished)
    assert (found.response, found.outputs) == (response, outputs)


@pytest.mark.parametrize(
    ("event", "fields", "expected"),
    [
        ("SessionStart", {"source": "compact"}, SessionStarted("compact")),
        ("UserPromptSubmit", {"prompt": "do it"}, Prompted("do it")),
        ("PostToolUse", BASH | {"tool_response": "out"}, ToolFinished("Bash", "toolu_1", {"command": "make"}, "out", ("",), (), "out")),
        ("PreCompact", {"trigger": "auto"}, AboutToCompact("auto", "")),
        ("Stop", {"stop_hook_active": False, "last_assistant_message": "OK"}, Stopped(again=False, answer="OK")),
        ("SessionEnd", {}, SessionEnded()),
    ],
)  # fmt: skip
def test_events_of_codex(event: str, fields: dict[str, Any], expected: Payload) -> None:
    assert parsed("codex", event, codex(event, **fields)) == expected


def test_a_repeated_stop_of_codex_is_ignored() -> None:
    assert isinstance(parsed("codex", "Stop", codex("Stop", stop_hook_active=True)), Ignored)


@pytest.mark.parametrize(
    ("client", "event", "data", "expected"),
    [
        ("gemini", "SessionStart", {"source": "startup"}, SessionMet(resumed=False)),
        ("gemini", "SessionStart", {"source": "resume"}, SessionMet(resumed=True)),
        ("gemini", "BeforeAgent", {"prompt": "hi"}, Prompted("hi", opens=True)),
        ("gemini", "BeforeAgent", {"prompt": "<hook_context># Memory\n&lt;/hook_context&gt;\n</hook_context>\n\nhi\n<b>"}, Prompted("hi\n<b>", opens=True)),
        ("gemini", "BeforeAgent", {"prompt": "what is <hook_context>x</hook_context>?"}, Prompted("what is <hook_context>x</hook_context>?", opens=True)),
        ("gemini", "BeforeAgent", {"prompt": "<hook_context> is never closed"}, Prompted("<hook_context> is never closed", opens=True)),
        ("gemini", "AfterAgent", {"prompt_response": "done"}, Stopped(again=False, answer="done")),
        ("gemini", "SessionEnd", {}, SessionEnded()),
        ("cursor", "sessionStart", {"session_id": "c"}, SessionStarted("startup")),
        ("cursor", "beforeSubmitPrompt", {"prompt": "hi"}, PromptSeen("hi")),
        ("cursor", "afterAgentResponse", {"text": "done"}, Answered("done")),
        ("cursor", "stop", {"status": "completed"}, Stopped(again=False, answer="")),
        ("opencode", "session.created", {}, SessionStarted("startup")),
        ("opencode", "session.compacted", {}, SessionStarted("compact")),
        ("opencode", "chat.message", {"text": "hi"}, Prompted("hi")),
        ("opencode", "chat.message", {"text": '"say \\"hi\\" to\nme"'}, Prompted('say "hi" to\nme')),
        ("opencode", "chat.message", {"text": '"this" or "that"'}, Prompted('"this" or "that"')),
        ("opencode", "tool.execute.after", {"tool": "bash", "args": {}, "output": "o", "callID": "c"}, ToolFinished("bash", "c", {}, "o", ("",))),
        ("opencode", "session.idle", {"text": "done"}, Stopped(again=False, answer="done")),
        ("opencode", "session.deleted", {}, SessionEnded()),
    ],
)  # fmt: skip
def test_events_of_other_clients(
    client: str, event: str, data: dict[str, Any], expected: Payload
) -> None:
    assert parsed(client, event, data) == expected


@pytest.mark.parametrize(
    ("client", "event", "data"),
    [
        ("gemini", "PreCompress", {}),
        ("gemini", "AfterTool", {"tool_name": "run_shell_command"}),
        ("opencode", "chat.message", {"text": "hi", "agent": "title"}),
        ("opencode", "tool.execute.after", {"tool": "read", "output": "x"}),
        ("opencode", "tool.execute.after", {"tool": "x_y", "output": {"content": []}}),
    ],
)
def test_ignored_events_of_other_clients(client: str, event: str, data: dict[str, Any]) -> None:
    assert isinstance(parsed(client, event, data), Ignored)


def test_where_cursor_works() -> None:
    data = {"conversation_id": "c1", "workspace_roots": ["/repo", "/other"]}
    parsed_event = DIALECTS["cursor"].parse("stop", data)
    assert (parsed_event.session, parsed_event.cwd, parsed_event.transcript) == (
        "c1",
        "/repo",
        None,
    )


SHAPED = ReplacedOutput("Bash", {"stdout": "short", "stderr": ""})


@pytest.mark.parametrize(
    ("client", "event", "outcome", "expected"),
    [
        ("claude-code", "SessionStart", Context("c"), {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "c"}}),
        ("claude-code", "PostToolUse", SHAPED, {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": {"stdout": "short", "stderr": ""}}}),
        ("claude-code", "PostToolUse", ReplacedOutput("mcp__m__r", "short"), {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedMCPToolOutput": "short"}}),
        ("codex", "UserPromptSubmit", Context("c"), {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "c"}}),
        ("codex", "PostToolUse", ReplacedOutput("Bash", "short"), {"decision": "block", "reason": "short"}),
        ("gemini", "BeforeAgent", Context("c"), {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "c"}}),
        ("cursor", "sessionStart", Context("c"), {"additional_context": "c"}),
        ("opencode", "chat.message", Context("c"), {"context": "c"}),
        ("opencode", "experimental.session.compacting", Instructions("c"), {"context": "c"}),
        ("opencode", "tool.execute.after", ReplacedOutput("bash", "short"), {"output": "short"}),
    ],
)  # fmt: skip
def test_answers(client: str, event: str, outcome: Outcome, expected: object) -> None:
    assert json.loads(DIALECTS[client].render(event, outcome)) == expected


def test_a_compaction_of_claude_code_is_quiet() -> None:
    """It would print to the person whatever the hook says."""
    assert DIALECTS["claude-code"].render("PreCompact", Instructions("keep – this")) == b""


@pytest.mark.parametrize(
    ("client", "event", "outcome", "expected"),
    [
        ("claude-code", "Stop", Notice("n"), {"systemMessage": "n"}),
        ("codex", "Stop", Notice("n"), {"systemMessage": "n"}),
        ("gemini", "AfterAgent", Notice("n"), {"systemMessage": "n"}),
        ("opencode", "session.idle", Notice("n"), {"notice": "n"}),
        ("codex", "PostToolUse", ReplacedOutput("Bash", "s", "c"), {"decision": "block", "reason": "s\n\nc"}),
        ("opencode", "tool.execute.after", ReplacedOutput("bash", "s", "c"), {"output": "s", "context": "c"}),
    ],
)  # fmt: skip
def test_lines_for_the_person_and_context_beside_an_output(
    client: str, event: str, outcome: Outcome, expected: object
) -> None:
    assert json.loads(DIALECTS[client].render(event, outcome)) == expected


CUT = "Warning: truncated output (original token count: 27224)\nTotal output lines: 20000\n\n1\n"


@pytest.mark.parametrize(
    ("client", "event", "data"),
    [
        ("claude-code", "PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "cat a.txt"},
            "tool_response": {"stdout": "1", "persistedOutputPath": "/x"}}),
        ("codex", "PostToolUse", {"tool_name": "Bash", "tool_response": CUT}),
        ("opencode", "tool.execute.after", {"tool": "bash", "output": "1", "truncated": True, "exit": 1}),
    ],
)  # fmt: skip
def test_what_a_client_has_cut_is_not_stored(client: str, event: str, data: dict[str, Any]) -> None:
    found = parsed(client, event, data)
    assert isinstance(found, ToolFinished)
    assert found.outputs == ()


@pytest.mark.parametrize(
    ("client", "event", "data", "files", "error"),
    [
        ("claude-code", "PostToolUse", {"tool_name": "Read", "tool_input": {"file_path": "/r/a.py"}}, ("/r/a.py",), ""),
        ("claude-code", "PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": "cat src/a.py -n"},
            "error": "Exit code 1\nno"}, ("src/a.py",), "Exit code 1\nno"),
        ("codex", "PostToolUse", {"tool_name": "apply_patch", "tool_response": "ok",
            "tool_input": {"command": "*** Begin Patch\n*** Update File: src/a.py\n@@\n"}}, ("src/a.py",), ""),
        ("opencode", "tool.execute.after", {"tool": "edit", "args": {"filePath": "/r/a.py"}, "output": "ok"}, ("/r/a.py",), ""),
        ("opencode", "tool.execute.after", {"tool": "bash", "args": {"command": "make"}, "output": "no", "exit": 2}, (), "no"),
    ],
)  # fmt: skip
def test_files_and_errors(
    client: str, event: str, data: dict[str, Any], files: tuple[str, ...], error: str
) -> None:
    found = parsed(client, event, data)
    assert isinstance(found, ToolFinished)
    assert (found.files, found.error) == (files, error)


def test_a_sub_agents_files_bring_no_memories() -> None:
    data = {"tool_name": "Read", "tool_input": {"file_path": "/r/a.py"}, "agent_id": "a1"}
    assert isinstance(parsed("claude-code", "PostToolUse", data), Ignored)


@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize("event", EVENTS)
def test_nothing_is_said_as_nothing(client: str, event: str) -> None:
    assert DIALECTS[client].render(event, Nothing("why")) == b""


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    ["session_id", "transcript_path", "cwd", "source", "prompt", "tool_name", "tool_response", "tool_input",
     "workspace_roots", "agent_id", "output", "text", "tool", "trigger"]
)  # fmt: skip


@given(
    client=st.sampled_from(sorted(DIALECTS)),
    event=st.sampled_from(EVENTS),
    data=st.dictionaries(names, anything),
)
def test_whatever_comes_is_read(client: str, event: str, data: dict[str, Any]) -> None:
    found = DIALECTS[client].parse(event, data)
    assert found.client == client
    if isinstance(found.payload, ToolFinished):
        assert found.payload.outputs
