"""Write: creates a file, or replaces one that was read and has not changed since."""

from __future__ import annotations

import asyncio
from pathlib import Path

from reverie.agent.kit import files as disk
from reverie.agent.kit.files import (
    TextFile,
    Written,
    check_seen,
    compact_diff,
    located,
    plain,
    printable,
    real,
    rendered,
    shown,
    with_endings,
    written,
)
from reverie.agent.tools import Arguments, FileRead, Tool, Workplace, always
from reverie.core.request import ToolSpec
from reverie.errors import InputError

_SPEC = ToolSpec.of(
    "Write",
    "Create a file, or replace all of one. Missing folders are created. A file that exists must "
    "have been read first; to change part of it, use Edit. Line endings and encoding of a file "
    "that exists are kept.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file to write."},
            "content": {"type": "string", "description": "All that the file shall hold."},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
)


def write_tool() -> Tool:
    return Tool(
        _SPEC,
        run=_run,
        access=always("edit"),
        headline=lambda arguments: f"Write {arguments['path']}",
        clearable=True,
        paths=written,
    )


async def _run(arguments: Arguments, workplace: Workplace) -> str:
    named = located(arguments["path"], workplace)
    path = real(named)
    last = workplace.reads.last(path)
    name = shown(named, workplace)
    done = await asyncio.to_thread(_write, path, name, arguments["content"], last)
    workplace.reads.remember(path, done.read)
    return done.report


def _write(path: Path, name: str, content: str, last: FileRead | None) -> Written:
    before = disk.load(path)
    if before is None:
        read = disk.save(path, rendered(TextFile(""), content, name), None)
        return Written(f"Created {name} ({_size(content)})", read)
    old = TextFile.parse(before.data)
    if old is None:
        raise InputError(f"{name} is a binary file; remove it first if text shall take its place")
    check_seen(name, last, before.read)
    text = with_endings(content, like=old.text)
    data = rendered(old, text, name)
    if data == before.data:
        return Written(f"{name} already holds exactly this; nothing was written", before.read)
    read = disk.save(path, data, before)
    changes = compact_diff(plain(old.text), plain(text))
    return Written(printable(f"Replaced {name} ({_size(content)})\n{changes}"), read)


def _size(content: str) -> str:
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    return "1 line" if lines == 1 else f"{lines:,} lines"
