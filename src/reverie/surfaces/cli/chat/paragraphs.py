"""Markdown as it streams in, given out in blocks that are finished and can be rendered. Pure."""

from __future__ import annotations

import re

_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


class Paragraphs:
    """Cuts a stream at blank lines, but never inside a code block or before an indented line."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._tail = ""
        self._fence = ""
        self._gap = False

    @property
    def draft(self) -> str:
        """What has come of the block that is not finished."""
        return "\n".join([*self._lines, self._tail])

    def add(self, text: str) -> list[str]:
        """Take in more; the blocks it finished."""
        *whole, self._tail = (self._tail + text).split("\n")
        done = [block for line in whole if (block := self._line(line))]
        if self._gap and self._tail[:1].strip():
            done += self._cut()
        return done

    def end(self) -> list[str]:
        """Nothing more comes: what is left, if anything."""
        self._lines.append(self._tail)
        self._tail, self._fence = "", ""
        return self._cut()

    def _line(self, line: str) -> str:
        """Take in a whole line; the block before it, if that is finished now."""
        if self._fence:
            self._lines.append(line)
            if _closes(line, self._fence):
                self._fence = ""
            return ""
        if not line.strip():
            self._gap = True
            self._lines.append("")
            return ""
        done = self._cut() if self._gap and not line[0].isspace() else []
        self._gap = False
        self._lines.append(line)
        if opened := _FENCE.fullmatch(line):
            # A line of inline code may begin with three backticks; its own end is on it.
            self._fence = "" if opened[1][0] in opened[2] else opened[1]
        return done[0] if done else ""

    def _cut(self) -> list[str]:
        block = "\n".join(self._lines).strip("\n")
        self._lines, self._gap = [], False
        return [block] if block.strip() else []


def _closes(line: str, fence: str) -> bool:
    found = line.strip()
    return len(found) >= len(fence) and set(found) == {fence[0]}
