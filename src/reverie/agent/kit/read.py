"""Read: a file as numbered lines, an image, or a document."""

from __future__ import annotations

import asyncio
import base64
import os
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

from reverie.agent.kit import files as disk
from reverie.agent.kit.files import TextFile, located, missing, plain, printable, real, shown
from reverie.agent.tools import Access, Arguments, FileRead, Tool, ToolOutput, Workplace
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
        access=_access,
        headline=_headline,
        # A stored result would have to be read with Read again.
        result_threshold=None,
        clearable=True,
    )


def _access(arguments: Arguments, workplace: Workplace) -> Access:
    return "read"


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
    picture = _picture(name, found.data)
    if picture is not None:
        return _Seen(ToolOutput((picture,)), path)
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


def _picture(name: str, data: bytes) -> ResultContent | None:
    """What a model looks at rather than reads."""
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
    """By the first bytes: endings lie."""
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
    """The lines that fit, each with its number, and what a reader cannot see."""
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
    """What must be known to edit the file, and cannot be seen."""
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


_UNSEEN = frozenset(("script", "style", "noscript", "template", "svg", "iframe", "head", "select"))
_PARAGRAPHS = re.compile(
    "address|article|aside|blockquote|body|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|"
    "form|h[1-6]|header|main|nav|ol|p|pre|section|summary|table|ul"
)
_DEEPEST = 64
_LINES = frozenset(("br", "hr", "li", "tr"))


def page_text(html: str, address: str) -> tuple[str, str]:
    """The title, and the text; links are made absolute from the page's address."""
    page = _Page(address)
    page.feed(html)
    page.close()
    return _squeezed("".join(page.title)), _tidy("".join(page.pieces))


class _Page(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self._address = address
        self._unseen: list[str] = []
        self._in_title = False
        self._preformatted = 0
        self._link: tuple[str, int] | None = None
        self.title: list[str] = []
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag in _UNSEEN:
            # No page nests so deep; a pile would be looked through at every end of a tag.
            if len(self._unseen) < _DEEPEST:
                self._unseen.append(tag)
        elif not self._unseen:
            self._open(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._unseen:
            # Whatever was left open inside ends with it.
            del self._unseen[self._unseen.index(tag) :]
        elif not self._unseen:
            self._close(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self.pieces.append(data if self._preformatted else re.sub(r"\s+", " ", data))

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        self._break(tag)
        if tag == "pre":
            self._preformatted += 1
        elif tag == "li":
            self.pieces.append("- ")
        elif tag == "a":
            self._end_link()
            self._link = (attributes.get("href", ""), len(self.pieces))
        elif tag == "img" and attributes.get("alt"):
            self.pieces.append(f"[{attributes['alt']}]")
        elif re.fullmatch("h[1-6]", tag):
            self.pieces.append("#" * int(tag[1]) + " ")

    def _close(self, tag: str) -> None:
        if tag == "pre":
            self._preformatted = max(0, self._preformatted - 1)
        elif tag in ("td", "th"):
            self.pieces.append(" | ")
        elif tag == "a":
            self._end_link()
        if tag not in ("li", "tr"):
            self._break(tag)

    def _break(self, tag: str) -> None:
        if _PARAGRAPHS.fullmatch(tag):
            self.pieces.append("\n\n")
        elif tag in _LINES:
            self.pieces.append("\n")

    def _end_link(self) -> None:
        """What stands in a link becomes its text; links do not nest."""
        if self._link is None:
            return
        target, start = self._link
        self._link = None
        text = _squeezed("".join(self.pieces[start:]))
        if text and target and not target.startswith(("#", "javascript:")):
            self.pieces[start:] = [f"[{text}]({_absolute(self._address, target)})"]


def _absolute(address: str, target: str) -> str:
    try:
        return urljoin(address, target)
    except ValueError:
        return target


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _tidy(text: str) -> str:
    """No blanks at the ends of lines, no more than one empty line in a row."""
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()
