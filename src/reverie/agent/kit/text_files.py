"""Bytes as text and back, so that what was not edited comes out byte for byte."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal, TypeAlias

LineEndings: TypeAlias = Literal["LF", "CRLF", "mixed"]

_SNIFFED = 8_192
# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text with its line endings as they are, and what is needed to write it back.

    Bytes that are not UTF-8 stand as lone surrogates in `text`, and become the same bytes again.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @classmethod
    def parse(cls, data: bytes) -> TextFile | None:
        """None when it is not text."""
        mark, encoding = next((one for one in _MARKS if data.startswith(one[0])), (b"", "utf-8"))
        if encoding == "utf-8" and b"\0" in data[:_SNIFFED]:
            return None
        try:
            return cls(data[len(mark) :].decode(encoding, _strictness(encoding)), encoding, mark)
        except UnicodeDecodeError:
            return None

    def render(self, text: str) -> bytes:
        """Another text in this file's encoding."""
        return self.mark + text.encode(self.encoding, _strictness(self.encoding))

    @property
    def is_exact(self) -> bool:
        """Is every byte part of a letter?"""
        return re.search("[\udc80-\udcff]", self.text) is None

    @property
    def line_endings(self) -> LineEndings:
        crlf = self.text.count("\r\n")
        if crlf == 0:
            return "LF"
        return "CRLF" if crlf == self.text.count("\n") else "mixed"

    def replaced(self, spans: list[tuple[int, int]], new: str) -> str:
        """The text with `new` in place of each span of `plain(text)`; the rest untouched.

        New lines end as those they replace, or else as most of the file does.
        """
        shifts = _crlf_positions(self.text)
        pieces: list[str] = []
        last = 0
        for start, end in spans:
            raw_start, raw_end = start + bisect_left(shifts, start), end + bisect_left(shifts, end)
            old = self.text[raw_start:raw_end]
            pieces += [self.text[last:raw_start], with_endings(new, like=old, otherwise=self.text)]
            last = raw_end
        return "".join([*pieces, self.text[last:]])


def plain(text: str) -> str:
    """Lines that all end in a single newline, as models write them."""
    return text.replace("\r\n", "\n")


def with_endings(new: str, *, like: str, otherwise: str = "") -> str:
    """The text with the line endings of another; if that has none, of a third."""
    model = like if "\n" in like else otherwise
    crlf = model.count("\r\n")
    ending = "\r\n" if crlf * 2 > model.count("\n") else "\n"
    return plain(new).replace("\n", ending)


def _strictness(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "surrogatepass"


def _crlf_positions(text: str) -> list[int]:
    """Where, in the plain text, the newlines stand that were CRLF."""
    positions: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        positions.append(at - len(positions))
        at = text.find("\r\n", at + 2)
    return positions
