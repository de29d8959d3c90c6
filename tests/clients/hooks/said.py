"""Hook input of real clients, as observed (Claude Code 2.1.197 and 2.1.325, Codex 0.166.0)."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def claude(event: str, **fields: Any) -> Json:
    common = {
        "session_id": "5e55-1",
        "transcript_path": "/person/.claude/projects/-repo/5e55-1.jsonl",
        "cwd": "/repo",
        "hook_event_name": event,
        "permission_mode": "default",
        "something_new": {"of": "next year"},
    }
    return common | fields


def codex(event: str, **fields: Any) -> Json:
    common = {
        "session_id": "thread-1",
        "turn_id": "t1",
        "transcript_path": "/person/.codex/sessions/2026/11/15/rollout-2026-11-15T10-00-00-thread-1.jsonl",
        "cwd": "/repo",
        "hook_event_name": event,
        "model": "gpt-5-codex",
        "permission_mode": "default",
    }
    return common | fields


BASH = {
    "tool_name": "Bash",
    "tool_input": {"command": "make"},
    "tool_use_id": "toolu_1",
    "tool_response": {"stdout": "out", "stderr": "", "interrupted": False, "isImage": False},
}
