"""Reads Claude Code transcripts as our records, tolerantly, as the format may change.

Observed: one API response is several lines that share `message.id`, one for each content block; a
fork copies old lines with their uuids; compaction appends a `compact_boundary` and never removes
anything; sub-agents' lines have `isSidechain`; most other record types hold nothing the model saw.
Lines that are not understood are skipped and counted in a note.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from reverie.conversation.journal import Loaded, read_lines, time_of
from reverie.conversation.records import Compacted, Opened, Record, Said, Used
from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Origin,
    ResultContent,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.core.usage import Usage

Json = dict[str, Any]

PROVIDER = "claude-code"

_LONGEST_NAME = 40


# Record types that are known to hold nothing the model saw.
_SILENT = frozenset(
    [
        "progress",
        "file-history-snapshot",
        "queue-operation",
        "summary",
        "pr-link",
        "last-prompt",
        "mode",
        "custom-title",
        "agent-name",
        "tag",
        "atis-latch",
        "tools-used",
        "cost-state",
        "api-request",
        "api-request-shape",
        "api-request-blob",
        "content-replacement",
    ]
)


def load(path: Path) -> Loaded:
    """The messages of the main conversation, in order. Never fails on the content of a line."""
    notes: list[str] = []
    lines = [value for _, value in read_lines(path, notes) if isinstance(value, dict)]
    # In a sub-agent's own file, every line is a side chain.
    spoken = [line for line in lines if line.get("type") in ("user", "assistant")]
    alone = bool(spoken) and all(line.get("isSidechain") for line in spoken)
    passed: Counter[str] = Counter()
    records = list(_records(lines, passed, side_chain=alone))
    unknown = [f"{count} × {kind}" for kind, count in sorted(passed.items())]
    if unknown:
        notes.append(f"{path.name}: passed over {', '.join(unknown)}")
    return Loaded(tuple(records), tuple(notes), of_agent=alone)


def _records(lines: Iterable[Json], passed: Counter[str], *, side_chain: bool) -> Iterator[Record]:
    seen: set[str] = set()
    pending: Used | None = None
    opened = False
    for line in lines:
        if bool(line.get("isSidechain")) != side_chain or _repeated(line, seen):
            continue
        record, used = _understood(line, passed)
        if record is None:
            continue
        if not opened:
            opened = True
            yield Opened(
                str(line.get("sessionId") or ""), time_of(line), str(line.get("cwd") or "")
            )
        if pending is not None and not _continues(line, used, pending):
            yield pending
            pending = None
        yield record
        if used is not None:
            pending = _larger(pending, used)
    if pending is not None:
        yield pending


def _understood(line: Json, passed: Counter[str]) -> tuple[Record | None, Used | None]:
    """The record and the usage of a line; lines that are not understood are counted."""
    kind = str(line.get("type"))
    if kind in _SILENT or _synthetic(line):
        return None, None
    try:
        record, used = _record(line), _used(line)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        record = used = None
    if record is None and kind != "system":
        passed[kind[:_LONGEST_NAME]] += 1
    return record, used


def _continues(line: Json, used: Used | None, pending: Used) -> bool:
    """Whether a line is part of the pending response, whose usage is final after its last line.

    Results of parallel calls and output of hooks come between the lines of one response.
    """
    if used is not None:
        return used.response == pending.response
    return line["type"] == "attachment" or (
        line["type"] == "user" and bool(line.get("sourceToolAssistantUUID"))
    )


def _larger(pending: Used | None, used: Used) -> Used:
    """Every line has the usage so far: the one with the largest output is final."""
    if pending is None or pending.usage.output < used.usage.output:
        return used
    return pending


def _repeated(line: Json, seen: set[str]) -> bool:
    uuid = line.get("uuid")
    if not isinstance(uuid, str):
        return False
    if uuid in seen:
        return True
    seen.add(uuid)
    return False


def _synthetic(line: Json) -> bool:
    message = line.get("message")
    return isinstance(message, dict) and message.get("model") == "<synthetic>"


def _record(line: Json) -> Record | None:
    match line.get("type"):
        case "user" | "assistant":
            return _said(line)
        case "attachment":
            return _attached(line)
        case "system" if line.get("subtype") == "compact_boundary":
            meta = line.get("compactMetadata") or {}
            tokens = int(meta.get("preTokens") or 0)
            return Compacted((), None, str(meta.get("trigger") or "auto"), tokens, time_of(line))
        case _:
            return None


def _said(line: Json) -> Said | None:
    raw = line["message"]
    content = raw.get("content")
    blocks: tuple[Block, ...]
    if isinstance(content, str):
        blocks = (Text(content),)
    else:
        blocks = tuple(_block(block) for block in content or () if isinstance(block, dict))
    if not blocks:
        return None
    message = Message(
        id=_text(line["uuid"]),
        role="assistant" if line["type"] == "assistant" else "user",
        blocks=blocks,
        parent=_optional_text(line.get("parentUuid")),
        at=time_of(line),
        origin=_origin(line, blocks),
        response=_optional_text(raw.get("id")) if line["type"] == "assistant" else None,
    )
    return Said(message)


def _attached(line: Json) -> Said | None:
    raw = line["attachment"]
    content = raw.get("rendered") or raw.get("content")
    text = "\n".join(content) if isinstance(content, list) else content
    if not isinstance(text, str) or not text:
        return None
    block = Attachment(_text(raw.get("type")) or "attachment", text)
    parent = _optional_text(line.get("parentUuid"))
    message = Message(_text(line["uuid"]), "user", (block,), parent, time_of(line), "hook")
    return Said(message)


def _origin(line: Json, blocks: tuple[Block, ...]) -> Origin:
    if line["type"] == "assistant":
        return "assistant"
    if any(isinstance(block, ToolResult) for block in blocks):
        return "tool"
    if line.get("isCompactSummary"):
        return "reverie"
    return "hook" if line.get("isMeta") else "user"


def _block(raw: Json) -> Block:  # noqa: PLR0911 - one return a block kind
    match raw.get("type"):
        case "text":
            return Text(_text(raw["text"]))
        case "thinking":
            return Thinking(_text(raw["thinking"]), _optional_text(raw.get("signature")))
        case "redacted_thinking":
            return Thinking("", _text(raw["data"]), redacted=True)
        case "tool_use":
            arguments = json.dumps(raw.get("input") or {}, ensure_ascii=False)
            return ToolUse(_text(raw["id"]), _text(raw["name"]), arguments)
        case "tool_result":
            error = raw.get("is_error") is True
            return ToolResult(_text(raw["tool_use_id"]), _result(raw.get("content")), error)
        case "image" | "document":
            return _media(raw)
        case _:
            return Opaque(PROVIDER, json.dumps(raw, ensure_ascii=False))


def _result(content: object) -> tuple[ResultContent, ...]:
    if isinstance(content, str):
        return (Text(content),)
    parts = [_block(part) for part in content if isinstance(part, dict)] if content else []  # type: ignore[attr-defined]
    return tuple(
        part if isinstance(part, Text | Image | Document) else Text(f"[{part.kind}]")
        for part in parts
    )


def _media(raw: Json) -> Image | Document:
    source = raw.get("source") or {}
    media_type, data = str(source.get("media_type") or ""), str(source.get("data") or "")
    if raw["type"] == "image":
        return Image(media_type, data, str(source.get("url") or ""))
    return Document(media_type, data, str(raw.get("title") or ""))


def _used(line: Json) -> Used | None:
    raw = line.get("message") or {}
    usage = raw.get("usage") if line.get("type") == "assistant" else None
    if not isinstance(usage, dict) or not raw.get("id"):
        return None
    written = int(usage.get("cache_creation_input_tokens") or 0)
    hour = int((usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0)
    counted = Usage(
        input=int(usage.get("input_tokens") or 0),
        cache_read=int(usage.get("cache_read_input_tokens") or 0),
        cache_write_5m=written - hour,
        cache_write_1h=hour,
        output=int(usage.get("output_tokens") or 0),
    )
    return Used(_text(raw["id"]), "main", str(raw.get("model") or ""), counted, time_of(line))


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"expected text, not {type(value).__name__}")
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)
