"""Parse and edit frontmatter, keeping every other byte; plain values need no YAML library."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

# Longer values are not parsed.
LONGEST_VALUE = 16_384
# Values we write are shorter, to leave room for a comment after them.
LONGEST_RENDERED = 15_000

_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#")
_SIMPLE_QUOTED = re.compile(r"\"([^\"\\]*)\"|'([^']*)'")
_ITEM = re.compile(r"[\w./](?:[\w./@+#:$()-]*[\w./@+#$()-])?(?: [\w./@+()-]+)*")
_PLAIN = re.compile(r"[\w(/.][^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*")
_NUMBER_LIKE = re.compile(r"[-+.\d][\d_.,:/eExXoTZa-fA-F+ -]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n", "~"})
_ESCAPED = re.compile(r"[\x00-\x1f\"\\\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
# Characters that a YAML reader refuses, and those that it takes for a line end, even in a comment.
_NOT_YAML = re.compile(r"[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_YAML_ENDS = re.compile(r"[\x85\u2028\u2029]")
_UNWRITABLE = re.compile(r"[\ud800-\udc7f\udd00-\udfff]")


def readable(text: str) -> str:
    """Text that can be shown or sent: bytes that are not UTF-8 become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


def writable(text: str) -> str:
    """Text that can be encoded: surrogates that do not stand for a byte become U+FFFD."""
    return _UNWRITABLE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Replace every run of white space, including line breaks, by one space."""
    return " ".join(text.split())


def without_comment(line: str) -> str:
    """A one-line plain value without its YAML comment."""
    found = _COMMENT.search(line) if "#" in line else None
    return (line[: found.start()] if found else line).strip(" \t\r\n")


def parse_text(source: str) -> str:
    """The text of a value, from everything after its colon; never fails on one line."""
    line = source.strip(" \t\r\n")
    if not line or (line[0] not in "\"'[{|>" and "\n" not in line and "\r" not in line):
        return one_line(readable(without_comment(line)))
    quoted = _SIMPLE_QUOTED.fullmatch(line)
    if quoted and "\n" not in line and "\r" not in line:
        return one_line(readable(quoted[1] or quoted[2] or ""))
    loaded = _load(source)
    # Models write `description: "Foo" bar` and `name: [draft] x`: invalid YAML, but clear.
    return one_line(readable(loaded if isinstance(loaded, str) else line))


def parse_list(source: str) -> tuple[str, ...]:
    """The items of a value; a single text is a list of one."""
    line = source.strip(" \t\r\n")
    if line.startswith("[") and line.endswith("]"):
        items = [item.strip() for item in line[1:-1].split(",")]
        if all(_ITEM.fullmatch(item) for item in items):
            return tuple(items)
    elif line and line[0] not in "\"'[{|>-" and "\n" not in line and "\r" not in line:
        text = parse_text(source)
        return (text,) if text else ()
    loaded = _load(source)
    if isinstance(loaded, list):
        return tuple(one_line(readable(item)) for item in loaded if isinstance(item, str) and item)
    text = parse_text(source)
    return (text,) if text else ()


def _load(source: str) -> object:
    if len(source) > LONGEST_VALUE:
        return None
    # Import lazily: hooks read only plain values and should not pay 20 ms.
    import yaml  # noqa: PLC0415

    text = _YAML_ENDS.sub(" ", _NOT_YAML.sub("\ufffd", readable(source)))
    try:
        # BaseLoader keeps every scalar as text, also dates and `yes`.
        loaded = yaml.load("value:" + text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        return None
    return loaded.get("value") if isinstance(loaded, dict) else None


def render_text(text: str) -> str:
    """One line of text as a YAML scalar that every reader parses as text."""
    line = one_line(writable(text))
    plain = (
        _PLAIN.fullmatch(line)
        and ": " not in line
        and " #" not in line
        and not line.endswith(":")
        and line.lower() not in _WORDS
        and not _NUMBER_LIKE.fullmatch(line)
    )
    return line if plain else f'"{_ESCAPED.sub(_escape, line)}"'


def render_list(items: tuple[str, ...]) -> str:
    """A flow sequence on one line."""
    return f"[{', '.join(_render_item(item) for item in items)}]"


def _render_item(item: str) -> str:
    line = one_line(writable(item))
    if _ITEM.fullmatch(line) and render_text(line) == line:
        return line
    return f'"{_ESCAPED.sub(_escape, line)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in '"\\':
        return "\\" + char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


BOM = "\ufeff"
ABSENT = "there is no frontmatter: the first line is not '---'"
UNCLOSED = "the frontmatter opened on line 1 is never closed with '---'"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_FENCE = re.compile(r"---[ \t]*(?:\r\n|\n|\r|\Z)")
_END = re.compile(r"(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
# Matched in steps, not with one pattern: a line of 60,000 spaces must not take a minute.
_COLON = re.compile(r":(?=[ \t\r\n]|\Z)")
_KEY = re.compile(r"[^\s\"'#\-\[\]{}&*!|>%@`?:,][^\"'\r\n]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """The exact text of a key with its value, or of a comment, blank or unreadable line (no key)."""

    key: str | None
    text: str
    value_at: int = 0

    @property
    def value(self) -> str:
        """Everything after the colon."""
        return self.text[self.value_at :]

    def with_value(self, rendered: str) -> Entry:
        """The same key with another value; a one-line entry keeps spacing, comment and line end."""
        head, eol = self.text[: self.value_at], line_end(self.text)
        own, value = self.value.removesuffix(eol), without_comment(self.value)
        if "\n" in own or "\r" in own or not value or value[0] in "|>\"'[{":
            return replace(self, text=f"{head} {rendered}{eol}")
        at = own.index(value)
        return replace(self, text=f"{head}{own[:at]}{rendered}{own[at + len(value) :]}{eol}")


@dataclass(frozen=True, slots=True)
class Document:
    """A whole file; `text` is always its exact text."""

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
        # After the last key, so that trailing comments stay at the end.
        at = max((n for n, e in enumerate(opened.entries, 1) if e.key is not None), default=0)
        return replace(opened, entries=(*opened.entries[:at], new, *opened.entries[at:]))

    def _opened(self) -> Document:
        eol = line_end(self.body)
        mark = BOM if self.body.startswith(BOM) else ""
        body = self.body.removeprefix(BOM)
        return Document(f"{mark}---{eol}", (), f"---{eol}", body)


def line_end(text: str) -> str:
    """The first line end in a text; a newline if it has none."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def parse(text: str, *, partial: bool = False) -> Document:
    """Split a file into its exact parts; `partial` accepts text that ends before the closing line."""
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
    """Group lines by key; comments and blank lines between keys are entries of their own."""
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
    # A block sequence may start at the left margin under a key without a value.
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
