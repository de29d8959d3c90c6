"""Cut a markdown text into pieces, each of which may become a memory: bullets and paragraphs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from textwrap import dedent

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
