"""The tools Read, Edit and Write: files as numbered lines, images and documents, and changes to them."""

from __future__ import annotations

import asyncio
import base64
import os
import re
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.kit import files
from reverie.agent.kit import files as disk
from reverie.agent.kit.files import TextFile, located, missing, plain, printable, real, shown
from reverie.agent.tools import (
    Arguments,
    FileRead,
    Tool,
    ToolOutput,
    Workplace,
    always,
    parameters,
    string,
)
from reverie.core.messages import Document, Image, ResultContent
from reverie.core.request import ToolSpec
from reverie.errors import InputError

MOST_LINES = 2_000
MOST_CHARACTERS = 256_000
LONGEST_LINE = 2_000
LARGEST_IMAGE = 3_750_000
LARGEST_DOCUMENT = 20_000_000
_MOST_NAMES = 200

_SPEC = ToolSpec.of(
    "Read",
    f"Read a file. Text comes with line numbers (number, tab, line), {MOST_LINES:,} lines at most "
    "unless you ask for others with offset and limit. Images (PNG, JPEG, GIF, WebP) and PDF files "
    "are shown as they are. A folder gives the names in it. Read a file before you edit it; when "
    "you know several files you need, read them in one go.",
    parameters(
        "path",
        path=string("The file; relative paths start at the working directory."),
        offset={"type": "integer", "minimum": 1, "description": "The first line, from 1."},
        limit={"type": "integer", "minimum": 1, "description": "How many lines."},
    ),
)


@dataclass(frozen=True, slots=True)
class _Seen:
    output: ToolOutput
    path: Path
    read: FileRead | None = None


def read_tool() -> Tool:
    return Tool(
        _SPEC,
        run=_run,
        access=always("read"),
        headline=_headline,
        # A result stored in a file would have to be read with Read again.
        result_threshold=None,
        clearable=True,
    )


def _headline(arguments: Arguments) -> str:
    first, limit = arguments.get("offset"), arguments.get("limit")
    if first is None and limit is None:
        return f"Read {arguments['path']}"
    first = first or 1
    last = f"–{first + limit - 1}" if limit else " on"
    return f"Read {arguments['path']} (line {first}{last})"


async def _run(arguments: Arguments, workplace: Workplace) -> ToolOutput:
    seen = await asyncio.to_thread(_look, arguments, workplace)
    if seen.read is not None:
        workplace.reads.remember(seen.path, seen.read)
    return seen.output


def _look(arguments: Arguments, workplace: Workplace) -> _Seen:
    path = located(arguments["path"], workplace)
    if path.is_dir():
        return _Seen(ToolOutput.of(_names_in(path, workplace)), path)
    found = disk.load(path)
    if found is None:
        return _Seen(ToolOutput.error(missing(path, workplace)), path)
    name = shown(path, workplace)
    shown_whole = picture(name, found.data)
    if shown_whole is not None:
        return _Seen(ToolOutput((shown_whole,)), path)
    text = TextFile.parse(found.data)
    if text is None:
        return _Seen(ToolOutput.error(_binary(name, len(found.data))), path)
    lines = _numbered(text, arguments.get("offset", 1), arguments.get("limit", MOST_LINES))
    return _Seen(ToolOutput.of(lines), real(path), found.read)


def _names_in(folder: Path, workplace: Workplace) -> str:
    with os.scandir(folder) as entries:
        names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    head = f"{shown(folder, workplace)} is a folder with {len(names):,} entries:"
    more = len(names) - _MOST_NAMES
    tail = [f"[{more:,} more; use Glob]"] if more > 0 else []
    return "\n".join([head, *map(printable, names[:_MOST_NAMES]), *tail])


def picture(name: str, data: bytes) -> ResultContent | None:
    """An image or PDF as content for the model; None for any other file."""
    kind = _media_type(data)
    if kind is None:
        return None
    most = LARGEST_DOCUMENT if kind == "application/pdf" else LARGEST_IMAGE
    if len(data) > most:
        raise InputError(
            f"{name} is too large to show ({len(data):,} bytes, the most is {most:,}); "
            "make a smaller copy with a shell command and read that"
        )
    encoded = base64.b64encode(data).decode("ascii")
    if kind == "application/pdf":
        return Document(kind, encoded, title=name)
    return Image(kind, encoded)


def _media_type(data: bytes) -> str | None:
    """The type by the file's first bytes; its name may be wrong."""
    match data[:12]:
        case head if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return "image/png"
        case head if head.startswith(b"\xff\xd8\xff"):
            return "image/jpeg"
        case head if head.startswith((b"GIF87a", b"GIF89a")):
            return "image/gif"
        case head if head.startswith(b"RIFF") and head.endswith(b"WEBP"):
            return "image/webp"
        case head if head.startswith(b"%PDF-"):
            return "application/pdf"
    return None


def _binary(name: str, size: int) -> str:
    return (
        f"{name} is a binary file ({size:,} bytes) and cannot be shown as text; "
        "look at it with a shell command such as file or xxd"
    )


def _numbered(file: TextFile, first: int, limit: int) -> str:
    """The lines that fit, with their numbers, and notes on what cannot be seen."""
    lines = plain(printable(file.text)).split("\n")
    if lines[-1] == "":
        lines.pop()
    shown_lines: list[str] = []
    room = MOST_CHARACTERS
    for number, line in enumerate(lines[first - 1 : first - 1 + limit], first):
        text = f"{number}\t{_cut(line)}"
        room -= len(text) + 1
        if room < 0:
            break
        shown_lines.append(text)
    notes = (_extent(first, len(shown_lines), len(lines)), *_peculiarities(file))
    return "\n".join([*shown_lines, *(f"[{note}]" for note in notes if note)])


def _cut(line: str) -> str:
    more = len(line) - LONGEST_LINE
    return line if more <= 0 else f"{line[:LONGEST_LINE]}… [{more:,} more characters]"


def _extent(first: int, count: int, total: int) -> str:
    if total == 0:
        return "the file is empty"
    if count == 0:
        return f"the file has {total:,} lines: there is nothing from line {first:,} on"
    last = first + count - 1
    if (first, last) == (1, total):
        return ""
    where = f"lines {first:,}–{last:,} of {total:,}"
    return where if last == total else f"{where}; continue with offset {last + 1}"


def _peculiarities(file: TextFile) -> list[str]:
    """Notes on line endings and encoding, which edits keep."""
    notes = []
    if file.line_endings == "CRLF":
        notes.append("lines end in CRLF; edits keep that")
    elif file.line_endings == "mixed":
        notes.append("some lines end in CRLF, some in LF; edits keep each as it is")
    if file.encoding != "utf-8" or file.mark:
        notes.append(f"{file.encoding.upper()} with a byte order mark; edits keep it")
    if not file.is_exact:
        notes.append("bytes that are not UTF-8 are shown as �; edits keep them")
    return notes


_MOST_PLACES_NAMED = 10

_EDIT = ToolSpec.of(
    "Edit",
    "Replace text in a file. old_text must be exactly what is in the file, without line numbers, "
    "and must occur once: add lines around it until it does, or set replace_all to change every "
    "occurrence. The file must have been read; if it changed since, read it again. Line endings, "
    "encoding and permissions stay as they are.",
    parameters(
        *("path", "old_text", "new_text"),
        path=string("The file to edit."),
        old_text=string("The text to replace.", minLength=1),
        new_text=string("The new text."),
        replace_all={"type": "boolean", "description": "Change every occurrence."},
    ),
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
    parameters(
        *("path", "content"),
        path=string("The file to write."),
        content=string("The whole new content of the file."),
    ),
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
        raise InputError(f"{name} is a binary file; remove it first to replace it with text")
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
