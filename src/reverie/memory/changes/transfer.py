"""Export all memories without secrets, and cut a markdown text into pieces that may become memories."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from textwrap import dedent
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from reverie.core.foreign_text import printable_json
from reverie.memory.format import topic
from reverie.memory.format.manifest import is_index
from reverie.ports import Scrubber

EXPORT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Exported:
    """The files to export, and the kinds of secrets removed from each."""

    files: Mapping[str, bytes]
    secrets: Mapping[str, tuple[str, ...]]

    @property
    def memories(self) -> tuple[str, ...]:
        return tuple(name for name in self.files if not is_index(name))


def exported(files: Mapping[str, bytes], scrubber: Scrubber) -> Exported:
    """Copy files byte for byte, except for secrets."""
    clean: dict[str, bytes] = {}
    secrets: dict[str, tuple[str, ...]] = {}
    for name, data in sorted(files.items()):
        scrubbed = scrubber.scrub(data.decode("utf-8", "surrogateescape"))
        clean[name] = scrubbed.text.encode("utf-8", "surrogateescape") if scrubbed.kinds else data
        if scrubbed.kinds:
            secrets[name] = scrubbed.kinds
    return Exported(clean, secrets)


def as_zip(export: Exported, at: float) -> bytes:
    """A zip archive; its bytes depend only on the memories and the time."""
    made = BytesIO()
    # A .zip cannot store times before 1980, and only even seconds.
    stamp = max(datetime.fromtimestamp(at, UTC), datetime(1980, 1, 1, tzinfo=UTC)).timetuple()[:6]
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for name, data in export.files.items():
            item = ZipInfo(name, stamp)
            item.external_attr = 0o600 << 16
            item.compress_type = ZIP_DEFLATED
            archive.writestr(item, data)
    return made.getvalue()


def as_json(export: Exported, at: float) -> str:
    """A JSON object; `text` is the whole file, so that an import loses nothing."""
    memories = []
    for name in export.memories:
        memory = topic.parse(export.files[name], name)
        about = {"file": name, "name": memory.name, "type": memory.type}
        text = export.files[name].decode("utf-8", "surrogateescape")
        memories.append({**about, "description": memory.description, "text": text})
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    data = {"reverie_export": EXPORT_VERSION, "exported": stamp, "memories": memories}
    return printable_json(data, indent=2) + "\n"


_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*")
_BULLET = re.compile(r"(?:[-*+]|\d+[.)])[ \t]+(?=\S)")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_EMPTY = re.compile(r"[-=_* \t]*|<!--.*-->|!\[[^\]]*\]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class Piece:
    """One bullet or paragraph of a file, and the headings above it."""

    text: str
    under: str = ""


@dataclass(slots=True)
class _Reader:
    """Splits lines into pieces; tracks headings and the sentence that introduces a list."""

    pieces: list[Piece] = field(default_factory=list)
    headings: dict[int, str] = field(default_factory=dict)
    intro: str = ""
    lines: list[str] = field(default_factory=list)
    fence: str = ""
    in_item: bool = False
    after_blank: bool = False

    def read(self, line: str) -> None:
        if self.fence or _FENCE.match(line):
            self._read_code(line)
        elif found := _HEADING.fullmatch(line):
            self._read_heading(len(found[1]), found[2])
        elif not line.strip():
            self._read_blank()
        else:
            self._read_prose(line)

    def flush(self) -> None:
        first, rest = "".join(self.lines[:1]), dedent("\n".join(self.lines[1:]))
        text = f"{first}\n{rest}".strip()
        self.lines = []
        if all(_EMPTY.fullmatch(line) for line in text.splitlines()):
            return
        if not self.in_item and text.endswith(":") and "\n" not in text:
            self.intro = text.removesuffix(":")
            return
        self.pieces.append(Piece(text, self._under()))

    def _under(self) -> str:
        headings = [self.headings[level] for level in sorted(self.headings) if level > 1]
        return ", ".join(filter(None, (*headings[-1:], self.intro)))

    def _read_code(self, line: str) -> None:
        """Add code to the piece before it, even across a blank line."""
        if not self.lines and self.pieces and self.pieces[-1].under == self._under():
            self.lines = [*self.pieces.pop().text.splitlines(), ""]
        self.lines += ["", line] if self.after_blank else [line]
        self.after_blank = False
        found = _FENCE.match(line)
        if not self.fence:
            self.fence = found[1] if found else ""
        elif found and found[1] == self.fence:
            self.fence = ""

    def _read_heading(self, level: int, title: str) -> None:
        self.flush()
        kept = {known: text for known, text in self.headings.items() if known < level}
        self.headings = {**kept, level: title.strip()}
        self.intro, self.in_item = "", False

    def _read_blank(self) -> None:
        if self.in_item:
            self.after_blank = True
        else:
            self.flush()

    def _read_prose(self, line: str) -> None:
        bullet = _BULLET.match(line)
        indented = line[0] in " \t"
        if bullet or (self.in_item and self.after_blank and not indented):
            self.flush()
            if not bullet:
                self.intro = ""
            self.in_item = bool(bullet)
            line = line[bullet.end() :] if bullet else line
        elif self.after_blank and self.lines:
            self.lines.append("")
        self.after_blank = False
        self.lines.append(line.strip() if not indented else line.rstrip())


def pieces(text: str) -> list[Piece]:
    """Every bullet and paragraph with its last heading; the file's title does not count."""
    reader = _Reader()
    for line in text.splitlines():
        reader.read(line)
    reader.flush()
    return reader.pieces
