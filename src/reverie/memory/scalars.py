"""Frontmatter values: text, lists, numbers; plain ones without loading a YAML library."""

from __future__ import annotations

import re

# A value longer than this is not a frontmatter value; parsing it would only cost time.
LONGEST_VALUE = 16_384
# What we write leaves room for a comment that stands behind it.
LONGEST_RENDERED = 15_000

_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#")
_SIMPLE_QUOTED = re.compile(r"\"([^\"\\]*)\"|'([^']*)'")
_ITEM = re.compile(r"[\w./](?:[\w./@+#:$()-]*[\w./@+#$()-])?(?: [\w./@+()-]+)*")
_PLAIN = re.compile(r"[\w(/.][^\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]*")
_NUMBER_LIKE = re.compile(r"[-+.\d][\d_.,:/eExXoTZa-fA-F+ -]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n", "~"})
_ESCAPED = re.compile(r"[\x00-\x1f\"\\\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
# What a YAML reader refuses, and what it takes for the end of a line; even in a comment.
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
    """Text that can be encoded: surrogates that stand for no byte become U+FFFD."""
    return _UNWRITABLE.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Every run of white space, line breaks included, as one space."""
    return " ".join(text.split())


def without_comment(line: str) -> str:
    """A one-line plain value without its YAML comment."""
    found = _COMMENT.search(line) if "#" in line else None
    return (line[: found.start()] if found else line).strip(" \t\r\n")


def parse_text(source: str) -> str:
    """The text of a value, given everything after its colon; never fails on one line."""
    line = source.strip(" \t\r\n")
    if not line or (line[0] not in "\"'[{|>" and "\n" not in line and "\r" not in line):
        return one_line(readable(without_comment(line)))
    quoted = _SIMPLE_QUOTED.fullmatch(line)
    if quoted and "\n" not in line and "\r" not in line:
        return one_line(readable(quoted[1] or quoted[2] or ""))
    loaded = _load(source)
    # Models write `description: "Foo" bar` and `name: [draft] x`: not YAML, but plain to a reader.
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
    # Loaded here because the hook path reads only plain values and cannot spare 20 ms.
    import yaml  # noqa: PLC0415

    text = _YAML_ENDS.sub(" ", _NOT_YAML.sub("\ufffd", readable(source)))
    try:
        # BaseLoader: every scalar stays text, so no date or `yes` is turned into something else.
        loaded = yaml.load("value:" + text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError, TypeError):
        return None
    return loaded.get("value") if isinstance(loaded, dict) else None


def render_text(text: str) -> str:
    """One line of text as a YAML scalar that every reader takes for text."""
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
