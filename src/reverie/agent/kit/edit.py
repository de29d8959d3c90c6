"""Edit and Write: change a file that was read and has not changed since, or create one."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.kit import files
from reverie.agent.tools import Arguments, FileRead, Tool, Workplace, always
from reverie.core.request import ToolSpec
from reverie.errors import InputError

_MOST_PLACES_NAMED = 10

_EDIT = ToolSpec.of(
    "Edit",
    "Replace text in a file. old_text must be exactly what is in the file, without line numbers, "
    "and must occur once: add lines around it until it does, or set replace_all to change every "
    "occurrence. The file must have been read; if it changed since, read it again. Line endings, "
    "encoding and permissions stay as they are.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file to edit."},
            "old_text": {"type": "string", "minLength": 1, "description": "What is there now."},
            "new_text": {"type": "string", "description": "What shall be there."},
            "replace_all": {"type": "boolean", "description": "Change every occurrence."},
        },
        "required": ["path", "old_text", "new_text"],
        "additionalProperties": False,
    },
)


def edit_tool() -> Tool:
    return Tool(
        _EDIT,
        run=_run_edit,
        access=always("edit"),
        headline=lambda arguments: f"Edit {arguments['path']}",
        clearable=True,
        paths=files.written,
    )


@dataclass(frozen=True, slots=True)
class Replacement:
    old: str
    new: str
    everywhere: bool = False


async def _run_edit(arguments: Arguments, workplace: Workplace) -> str:
    named = files.located(arguments["path"], workplace)
    path = files.real(named)
    wanted = Replacement(
        arguments["old_text"], arguments["new_text"], arguments.get("replace_all", False)
    )
    last = workplace.reads.last(path)
    done = await asyncio.to_thread(_edit, path, files.shown(named, workplace), wanted, last)
    if done is None:
        raise InputError(f"{files.missing(named, workplace)} To create a file, use Write.")
    workplace.reads.remember(path, done.read)
    return done.report


def _edit(
    path: Path, name: str, wanted: Replacement, last: FileRead | None
) -> files.Written | None:
    """None when there is no such file."""
    before = files.load(path)
    if before is None:
        return None
    file = files.TextFile.parse(before.data)
    if file is None:
        raise InputError(f"{name} is a binary file; it cannot be edited as text")
    files.check_seen(name, last, before.read)
    text, places = replaced(file, wanted, name)
    read = files.save(path, files.rendered(file, text, name), before)
    changes = files.compact_diff(files.plain(file.text), files.plain(text))
    return files.Written(files.printable(f"Edited {name} ({_times(places)})\n{changes}"), read)


def replaced(file: files.TextFile, wanted: Replacement, name: str) -> tuple[str, int]:
    """The new text and the number of replacements; InputError when it cannot be replaced."""
    text, old = files.plain(file.text), files.plain(wanted.old)
    if old == files.plain(wanted.new):
        raise InputError("old_text and new_text are the same; nothing was changed")
    starts = [found.start() for found in re.finditer(re.escape(old), text)]
    if not starts:
        raise InputError(f"old_text is not in {name}; nothing was changed.{_hint(text, old)}")
    if len(starts) > 1 and not wanted.everywhere:
        raise InputError(
            f"old_text occurs {len(starts)} times in {name} ({_lines_of(text, starts)}); nothing "
            "was changed. Add lines around it until it is unique, or set replace_all"
        )
    return file.replaced([(at, at + len(old)) for at in starts], wanted.new), len(starts)


def _hint(text: str, old: str) -> str:
    """The likely reason why a text was not found."""
    lines = old.split("\n")
    if all(re.match(r"\s*\d+\t", line) for line in lines if line):
        return " Leave out the line numbers that Read shows."
    stripped = [line.strip() for line in lines if line.strip()]
    present = [line.strip() for line in text.split("\n")]
    at = next((n for n, line in enumerate(present) if stripped and line == stripped[0]), None)
    if at is None:
        return " Read the file again and copy the text from there."
    if [line for line in present[at:] if line][: len(stripped)] == stripped:
        return f" At line {at + 1} it stands with other spaces or blank lines: copy it exactly."
    return f" Its first line is at line {at + 1}, but what follows differs: read it again."


def _lines_of(text: str, starts: list[int]) -> str:
    named = [str(text.count("\n", 0, at) + 1) for at in starts[:_MOST_PLACES_NAMED]]
    more = ", …" if len(starts) > _MOST_PLACES_NAMED else ""
    return f"lines {', '.join(named)}{more}"


def _times(places: int) -> str:
    return "1 place" if places == 1 else f"{places:,} places"


_WRITE = ToolSpec.of(
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
        _WRITE,
        run=_run_write,
        access=always("edit"),
        headline=lambda arguments: f"Write {arguments['path']}",
        clearable=True,
        paths=files.written,
    )


async def _run_write(arguments: Arguments, workplace: Workplace) -> str:
    named = files.located(arguments["path"], workplace)
    path = files.real(named)
    last = workplace.reads.last(path)
    name = files.shown(named, workplace)
    done = await asyncio.to_thread(_write, path, name, arguments["content"], last)
    workplace.reads.remember(path, done.read)
    return done.report


def _write(path: Path, name: str, content: str, last: FileRead | None) -> files.Written:
    before = files.load(path)
    if before is None:
        read = files.save(path, files.rendered(files.TextFile(""), content, name), None)
        return files.Written(f"Created {name} ({_size(content)})", read)
    old = files.TextFile.parse(before.data)
    if old is None:
        raise InputError(f"{name} is a binary file; remove it first if text shall take its place")
    files.check_seen(name, last, before.read)
    text = files.with_endings(content, like=old.text)
    data = files.rendered(old, text, name)
    if data == before.data:
        return files.Written(f"{name} already holds exactly this; nothing was written", before.read)
    read = files.save(path, data, before)
    changes = files.compact_diff(files.plain(old.text), files.plain(text))
    return files.Written(files.printable(f"Replaced {name} ({_size(content)})\n{changes}"), read)


def _size(content: str) -> str:
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    return "1 line" if lines == 1 else f"{lines:,} lines"
