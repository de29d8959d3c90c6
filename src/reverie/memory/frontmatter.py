"""A topic file as exact source: entries of frontmatter and a body that always join to the input."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from reverie.memory.scalars import without_comment

BOM = "\ufeff"
ABSENT = "there is no frontmatter: the first line is not '---'"
UNCLOSED = "the frontmatter opened on line 1 is never closed with '---'"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_FENCE = re.compile(r"---[ \t]*(?:\r\n|\n|\r|\Z)")
_END = re.compile(r"(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
# Found in steps, not with one pattern: a line of 60,000 spaces must not take a minute.
_COLON = re.compile(r":(?=[ \t\r\n]|\Z)")
_KEY = re.compile(r"[^\s\"'#\-\[\]{}&*!|>%@`?:,][^\"'\r\n]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One key with its value, or a comment, blank or unreadable line (no key): exact text."""

    key: str | None
    text: str
    value_at: int = 0

    @property
    def value(self) -> str:
        """Everything after the colon."""
        return self.text[self.value_at :]

    def with_value(self, rendered: str) -> Entry:
        """The same key with another value; spacing, comment and line end stay when on one line."""
        head, eol = self.text[: self.value_at], line_end(self.text)
        own, value = self.value.removesuffix(eol), without_comment(self.value)
        if "\n" in own or "\r" in own or not value or value[0] in "|>\"'[{":
            return replace(self, text=f"{head} {rendered}{eol}")
        at = own.index(value)
        return replace(self, text=f"{head}{own[:at]}{rendered}{own[at + len(value) :]}{eol}")


@dataclass(frozen=True, slots=True)
class Document:
    """A whole file; `text` is the file's text exactly, whatever the file was."""

    opening: str
    entries: tuple[Entry, ...]
    closing: str
    body: str
    problem: str | None = None

    @property
    def text(self) -> str:
        return "".join((self.opening, *(e.text for e in self.entries), self.closing, self.body))

    def entry(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key == key), None)

    def with_entry(self, key: str, rendered: str | None) -> Document:
        """Set or (with None) remove one key; every other byte stays."""
        present = self.entry(key)
        if present is None:
            return self if rendered is None else self._with_new(key, rendered)
        changed = () if rendered is None else (present.with_value(rendered),)
        at = self.entries.index(present)
        return replace(self, entries=self.entries[:at] + changed + self.entries[at + 1 :])

    def _with_new(self, key: str, rendered: str) -> Document:
        opened = self if self.opening else self._opened()
        head = f"{key}:"
        new = Entry(key, f"{head} {rendered}{line_end(opened.opening)}", len(head))
        # After the last key rather than last of all: trailing comments keep their place.
        at = max((n for n, e in enumerate(opened.entries, 1) if e.key is not None), default=0)
        return replace(opened, entries=(*opened.entries[:at], new, *opened.entries[at:]))

    def _opened(self) -> Document:
        eol = line_end(self.body)
        mark = BOM if self.body.startswith(BOM) else ""
        body = self.body.removeprefix(BOM)
        return Document(f"{mark}---{eol}", (), f"---{eol}", body)


def line_end(text: str) -> str:
    """The line end a text uses first; a newline when it has none."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def parse(text: str, *, partial: bool = False) -> Document:
    """Split a file into its exact parts; `partial` accepts a head cut before the closing line."""
    lines = _LINE.findall(text)
    first = lines[0].removeprefix(BOM) if lines else ""
    if not _FENCE.fullmatch(first):
        return Document("", (), "", text, ABSENT)
    end = next((n for n, line in enumerate(lines[1:], 1) if _END.fullmatch(line)), None)
    if end is None and not partial:
        return Document("", (), "", text, UNCLOSED)
    inside = lines[1:end]
    entries = _entries(inside)
    closing, body = (lines[end], "".join(lines[end + 1 :])) if end is not None else ("", "")
    return Document(lines[0], entries, closing, body, _problem(entries))


def _entries(lines: list[str]) -> tuple[Entry, ...]:
    """Each key takes the lines that continue it; comments and blanks between keys stand alone."""
    entries: list[Entry] = []
    waiting: list[str] = []
    for line in lines:
        stripped = line.strip()
        if not stripped or line.startswith("#"):
            waiting.append(line)
        elif _continues(line, entries):
            last = entries.pop()
            entries.append(replace(last, text=last.text + "".join(waiting) + line))
            waiting = []
        else:
            entries.extend(Entry(None, idle) for idle in waiting)
            waiting = []
            entries.append(_entry(line))
    entries.extend(Entry(None, idle) for idle in waiting)
    return tuple(entries)


def _entry(line: str) -> Entry:
    colon = _COLON.search(line)
    key = line[: colon.start()].strip() if colon else ""
    if len(key) > 2 and key[0] == key[-1] and key[0] in "\"'":
        key = key[1:-1]
    if colon is None or line[0] in " \t" or not _KEY.fullmatch(key):
        return Entry(None, line)
    return Entry(key, line, colon.end())


def _continues(line: str, entries: list[Entry]) -> bool:
    if not entries or entries[-1].key is None:
        return False
    if line[0] in " \t":
        return True
    # A block sequence may stand at the left margin under a key with no value of its own.
    own = entries[-1].value.split("\n", 1)[0].split("\r", 1)[0]
    return line.startswith("-") and not without_comment(own)


def _problem(entries: tuple[Entry, ...]) -> str | None:
    seen: set[str] = set()
    for entry in entries:
        if entry.key is None:
            if entry.text.strip() and not entry.text.startswith("#"):
                return f"a frontmatter line is not 'key: value': {entry.text.strip()[:80]!r}"
        elif entry.key in seen:
            return f"the frontmatter has the key {entry.key[:80]!r} twice"
        else:
            seen.add(entry.key)
    return None
