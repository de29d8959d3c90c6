"""Write: a new file, or all of an old one that was read and has not changed since."""

from __future__ import annotations

import asyncio

from reverie.agent.kit import disk
from reverie.agent.kit.changes import compact_diff
from reverie.agent.kit.places import located, printable, real, shown, written
from reverie.agent.kit.seen import check_seen, rendered
from reverie.agent.kit.text_files import TextFile, plain, with_endings
from reverie.agent.tools import Access, Arguments, Tool, Workplace
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
        access=_access,
        headline=lambda arguments: f"Write {arguments['path']}",
        clearable=True,
        paths=written,
    )


def _access(arguments: Arguments, workplace: Workplace) -> Access:
    return "edit"


async def _run(arguments: Arguments, workplace: Workplace) -> str:
    path = real(located(arguments["path"], workplace))
    name = shown(located(arguments["path"], workplace), workplace)
    content = arguments["content"]
    before = await asyncio.to_thread(disk.load, path)
    if before is None:
        data = rendered(TextFile(""), content, name)
        workplace.reads.remember(path, await asyncio.to_thread(disk.save, path, data, None))
        return f"Created {name} ({_size(content)})"
    old = TextFile.parse(before.data)
    if old is None:
        raise InputError(f"{name} is a binary file; remove it first if text shall take its place")
    check_seen(name, workplace.reads.last(path), before.read)
    text = with_endings(content, like=old.text)
    data = rendered(old, text, name)
    if data == before.data:
        return f"{name} already holds exactly this; nothing was written"
    workplace.reads.remember(path, await asyncio.to_thread(disk.save, path, data, before))
    changes = compact_diff(plain(old.text), plain(text))
    return printable(f"Replaced {name} ({_size(content)})\n{changes}")


def _size(content: str) -> str:
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    return "1 line" if lines == 1 else f"{lines:,} lines"
