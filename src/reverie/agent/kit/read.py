"""Read: returns a file as numbered lines, an image or a document, or the names in a folder."""

from __future__ import annotations

import asyncio
import base64
import os
from dataclasses import dataclass
from pathlib import Path

from reverie.agent.kit import files as disk
from reverie.agent.kit.files import TextFile, located, missing, plain, printable, real, shown
from reverie.agent.tools import Arguments, FileRead, Tool, ToolOutput, Workplace, always
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
    {
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "description": "The file; relative paths start at the working directory.",
            },
            "offset": {"type": "integer", "minimum": 1, "description": "The first line, from 1."},
            "limit": {"type": "integer", "minimum": 1, "description": "How many lines."},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
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
    return where if last == total else f"{where}; go on with offset {last + 1}"


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
