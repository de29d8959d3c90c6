"""Converts a web page to text: headings, paragraphs, lists and links, without scripts or styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

_UNSEEN = frozenset(("script", "style", "noscript", "template", "svg", "iframe", "head", "select"))
_PARAGRAPHS = re.compile(
    "address|article|aside|blockquote|body|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|"
    "form|h[1-6]|header|main|nav|ol|p|pre|section|summary|table|ul"
)
_DEEPEST = 64
_LINES = frozenset(("br", "hr", "li", "tr"))


def page_text(html: str, address: str) -> tuple[str, str]:
    """The title and the text of a page; links are made absolute."""
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
            # Limit the depth: the list is searched at every end tag.
            if len(self._unseen) < _DEEPEST:
                self._unseen.append(tag)
        elif not self._unseen:
            self._open(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._unseen:
            # Tags left open inside it end, too.
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
        """Turn the text since the link began into a markdown link; links do not nest."""
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
    """Strip trailing blanks, and collapse empty lines to one."""
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()
