"""Lines of a Claude Code transcript, written by hand after what was observed of its format."""

from __future__ import annotations

from itertools import count
from typing import Any

Line = dict[str, Any]

_numbers = count()


def _line(kind: str, **fields: Any) -> Line:
    number = next(_numbers)
    base = {
        "type": kind,
        "uuid": f"uuid-{number}",
        "parentUuid": None,
        "isSidechain": False,
        "timestamp": f"2026-03-01T10:{number // 60 % 60:02}:{number % 60:02}.500Z",
        "sessionId": "session-1",
        "cwd": "/repo",
        "version": "2.1.197",
    }
    return base | fields


def prompt(content: Any = "hello", **fields: Any) -> Line:
    return _line("user", message={"role": "user", "content": content}, **fields)


def result(tool_use_id: str, content: Any = "out", *, is_error: bool = False) -> Line:
    block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
    blocks = [block | ({"is_error": True} if is_error else {})]
    return prompt(blocks, sourceToolAssistantUUID="uuid-x", toolUseResult={"stdout": "out"})


def reply(
    *blocks: Line, id: str = "msg_1", output: int = 5, usage: Any = None, **fields: Any
) -> Line:
    message = {
        "id": id,
        "role": "assistant",
        "model": fields.pop("model", "claude-opus-4-8"),
        "content": list(blocks),
        "usage": usage
        or {
            "input_tokens": 10,
            "cache_read_input_tokens": 2000,
            "cache_creation_input_tokens": 300,
            "cache_creation": {"ephemeral_1h_input_tokens": 100},
            "output_tokens": output,
        },
    }
    return _line("assistant", message=message, requestId="req_1", **fields)


def text(value: str) -> Line:
    return {"type": "text", "text": value}


def call(id: str, name: str = "Bash", **arguments: Any) -> Line:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def attachment(kind: str, **fields: Any) -> Line:
    return _line("attachment", attachment={"type": kind, **fields})


def boundary(**meta: Any) -> Line:
    return _line("system", subtype="compact_boundary", compactMetadata=meta, content="compacted")


def other(kind: str, **fields: Any) -> Line:
    return _line(kind, **fields)
