"""Reads Codex rollouts as our records, tolerantly, as the format may change.

Every line is `{timestamp, type, payload}`. The model saw the `response_item`s; events repeat them for
display. Codex adds instruction files and the environment as user messages; compaction appends a
`compacted` line and never removes anything. Lines have no ids, so each message gets one made of its
content and position.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.conversation.journal import Loaded, read_lines, time_of
from reverie.conversation.records import Compacted, Opened, Record, Said
from reverie.core.messages import (
    Attachment,
    Block,
    Image,
    Message,
    Text,
    ToolResult,
    ToolUse,
    new_message,
)

Json = dict[str, Any]

PROVIDER = "codex"

TYPES = frozenset(
    ["session_meta", "response_item", "event_msg", "turn_context", "world_state", "compacted"]
)

_LONGEST_NAME = 40

# Records and items that are known to hold nothing of the conversation.
_SILENT = frozenset(["event_msg", "turn_context", "world_state", "token_usage_record"])
_SILENT_ITEMS = frozenset(["reasoning", "ghost_snapshot", "compaction"])

# User messages that Codex writes itself: tagged text, or instruction files.
_BY_CLIENT = re.compile(r"\s*(?:<[a-z][\w-]*[\s/>]|# AGENTS\.md instructions)")


def load(path: Path) -> Loaded:
    """The messages of the conversation, in order. Never fails on the content of a line."""
    notes: list[str] = []
    lines = (value for _, value in read_lines(path, notes) if isinstance(value, dict))
    passed: Counter[str] = Counter()
    meta: list[Json] = []
    records = _without_summaries(_records(_noting(lines, meta), passed))
    unknown = [f"{count} × {kind}" for kind, count in sorted(passed.items())]
    if unknown:
        notes.append(f"{path.name}: passed over {', '.join(unknown)}")
    return Loaded(tuple(records), tuple(notes), of_agent=any(map(_of_agent, meta)))


def _without_summaries(records: Iterable[Record]) -> list[Record]:
    """The records without the answer a summary was taken from, which was not an answer to the person."""
    found: list[Record] = []
    for record in records:
        if isinstance(record, Said) and record.message.origin == "reverie" and len(found) > 1:
            written = found[-2]
            if isinstance(written, Said) and _repeated(written.message, record.message.text):
                del found[-2]
        found.append(record)
    return found


def _repeated(message: Message, summary: str) -> bool:
    text = message.text.strip()
    return message.role == "assistant" and bool(text) and text in summary


def _noting(lines: Iterable[Json], meta: list[Json]) -> Iterator[Json]:
    """The lines; the payloads of `session_meta` lines are also added to `meta`."""
    for line in lines:
        if line.get("type") == "session_meta" and isinstance(line.get("payload"), dict):
            meta.append(line["payload"])
        yield line


def _of_agent(meta: Json) -> bool:
    """Whether another session started this one, by its `source`."""
    source = meta.get("source")
    return "subagent" in source if isinstance(source, dict | str) else False


def _records(lines: Iterable[Json], passed: Counter[str]) -> Iterator[Record]:
    last: Message | None = None
    for line in lines:
        kind, payload = str(line.get("type")), line.get("payload")
        if kind in _SILENT:
            continue
        try:
            records = _understood(kind, payload, time_of(line), last)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            records = None
        if records is None:
            passed[_named(kind, payload)] += 1
            continue
        for record in records:
            if isinstance(record, Said):
                last = record.message
            yield record


def _understood(kind: str, payload: Any, at: float, last: Message | None) -> list[Record] | None:
    """The records of a line; None when it is not understood."""
    match kind:
        case "session_meta":
            return [Opened(_text(payload["id"]), at, _text(payload.get("cwd") or ""))]
        case "compacted":
            summary = new_message(
                "user", Text(_text(payload["message"])), after=last, at=at, origin="reverie"
            )
            return [Compacted((), None, "auto", 0, at), Said(summary)]
        case "response_item":
            item = str(payload.get("type"))
            if item in _SILENT_ITEMS:
                return []
            message = _ITEMS[item](payload, at, last)
            return [] if message is None else [Said(message)]
        case _:
            return None


def _spoken(item: Json, at: float, last: Message | None) -> Message | None:
    blocks = tuple(_blocks(item.get("content")))
    if not blocks:
        return None
    match item.get("role"):
        case "assistant":
            return new_message("assistant", *blocks, after=last, at=at)
        case "user":
            texts = [block.text for block in blocks if isinstance(block, Text)]
            by_client = bool(texts) and all(_BY_CLIENT.match(text) for text in texts)
            return new_message(
                "user", *blocks, after=last, at=at, origin="hook" if by_client else "user"
            )
        case role:
            text = "\n".join(block.text for block in blocks if isinstance(block, Text))
            block = Attachment(str(role or "developer"), text)
            return new_message("user", block, after=last, at=at, origin="hook")


def _blocks(content: object) -> Iterator[Block]:
    if isinstance(content, str):
        yield Text(content)
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("text"), str):
            yield Text(part["text"])
        elif isinstance(part.get("image_url"), str):
            yield Image("", url=part["image_url"])


def _called(item: Json, at: float, last: Message | None) -> Message:
    name = ".".join(part for part in (item.get("namespace"), item["name"]) if part)
    arguments = item.get("arguments", item.get("input"))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return _call(item, name, arguments, at, last)


def _shell(item: Json, at: float, last: Message | None) -> Message:
    command = item["action"].get("command")
    return _call(item, "shell", json.dumps({"command": command}, ensure_ascii=False), at, last)


def _call(item: Json, name: str, arguments: str, at: float, last: Message | None) -> Message:
    use = ToolUse(_text(item.get("call_id") or item["id"]), name, arguments)
    return new_message("assistant", use, after=last, at=at)


def _returned(item: Json, at: float, last: Message | None) -> Message:
    output = item.get("output")
    if isinstance(output, dict):
        output = output.get("content", output.get("output"))
    blocks = tuple(block for block in _blocks(output) if isinstance(block, Text | Image))
    result = ToolResult(_text(item["call_id"]), blocks)
    return new_message("user", result, after=last, at=at, origin="tool")


_ITEMS: Mapping[str, Callable[[Json, float, Message | None], Message | None]] = {
    "message": _spoken,
    "function_call": _called,
    "custom_tool_call": _called,
    "local_shell_call": _shell,
    "function_call_output": _returned,
    "custom_tool_call_output": _returned,
    "local_shell_call_output": _returned,
}


def _named(kind: str, payload: object) -> str:
    inner = payload.get("type") if isinstance(payload, dict) else None
    return (f"{kind}/{inner}" if isinstance(inner, str) else kind)[:_LONGEST_NAME]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, not {type(value).__name__}")
    return value
