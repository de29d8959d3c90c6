"""A topic file: one memory. Reading never fails, and edits keep all other bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from reverie.errors import InputError
from reverie.memory.format import frontmatter
from reverie.memory.format.frontmatter import (
    LONGEST_RENDERED,
    one_line,
    parse_list,
    parse_text,
    render_list,
    render_text,
    writable,
)
from reverie.memory.format.taxonomy import ORIGINS, TYPES, MemoryType, Origin, parse_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reverie.memory.format.frontmatter import Document

FORMAT_VERSION = 1
LARGEST_FILE = 64 * 1024

Value: TypeAlias = str | float | bool | tuple[str, ...] | None
Shape = Literal["text", "type", "origin", "moment", "number", "flag", "list"]

# All known keys, in the order of a new file.
KEYS: Mapping[str, Shape] = {
    "name": "text",
    "description": "text",
    "type": "type",
    "created": "moment",
    "updated": "moment",
    "valid_from": "moment",
    "valid_until": "moment",
    "confidence": "number",
    "origin": "origin",
    "source": "list",
    "supersedes": "list",
    "superseded_by": "text",
    "archived": "moment",
    "cues": "list",
    "entities": "list",
    "links": "list",
    "anchors": "list",
    "paths": "list",
    "pinned": "flag",
}

_WIKILINK = re.compile(r"\[\[([^\[\]|#\r\n]+)(?:[#|][^\[\]\r\n]*)?\]\]")
_CODE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|`[^`\r\n]*`", re.MULTILINE | re.DOTALL)
_NESTED_TYPE = re.compile(r"^[ \t]+type:[ \t]*([\w-]+)", re.MULTILINE)
_ANCHOR = re.compile(r"(?P<target>.+)@(?P<seen>(?:[a-z0-9]+:)?[0-9a-f]{7,64})")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A path or symbol that a memory mentions, with its content hash: `src/a.py::run@1f2e3d4`."""

    target: str
    seen: str | None = None

    @classmethod
    def parse(cls, text: str) -> Anchor:
        found = _ANCHOR.fullmatch(text)
        return cls(found["target"], found["seen"]) if found else cls(text)

    def render(self) -> str:
        return f"{self.target}@{self.seen}" if self.seen else self.target


@dataclass(frozen=True, slots=True)
class Topic:
    """The parsed content of a file, and its exact text (`document`)."""

    file: str
    name: str
    description: str
    type: MemoryType | None
    body: str
    document: Document = field(repr=False)
    created: str | None = None
    updated: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    confidence: float | None = None
    origin: Origin | None = None
    source: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    archived: str | None = None
    cues: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    pinned: bool = False
    problem: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def listed(self) -> bool:
        """Whether it belongs in the index: neither superseded nor archived."""
        return self.superseded_by is None and self.archived is None

    @property
    def wikilinks(self) -> tuple[str, ...]:
        """Targets of `[[links]]` in the body, outside code, each once, in order."""
        prose = _CODE.sub(" ", self.body)
        return tuple(dict.fromkeys(found.strip() for found in _WIKILINK.findall(prose)))

    @property
    def linked(self) -> tuple[str, ...]:
        """Every memory this one points to: the `links` key, then the body."""
        return tuple(dict.fromkeys((*self.links, *self.wikilinks)))

    def with_(self, **changes: Value) -> Topic:
        """The same file with these keys (or `body`) changed; None removes a key."""
        document = self._editable()
        for key, value in changes.items():
            if key == "body":
                document = replace(document, body=writable(str(value)))
            elif value != getattr(self, key, None) or key not in KEYS:
                document = document.with_entry(key, _render_value(key, value))
        return _read(document, self.file)

    def _editable(self) -> Document:
        if self.document.problem in {None, frontmatter.ABSENT}:
            return self.document
        raise InputError(
            f"{self.file} cannot be edited: {self.document.problem}. "
            "Nothing was changed; correct the frontmatter by hand, then try again."
        )


def parse(data: bytes, file: str = "memory.md") -> Topic:
    """Parse any bytes as a topic; `problem` and `warnings` say what is wrong."""
    return _read(frontmatter.parse(data.decode("utf-8", "surrogateescape")), file)


def render(topic: Topic) -> bytes:
    """The file's bytes: those that were parsed, except where `with_` changed them."""
    return topic.document.text.encode("utf-8", "surrogateescape")


def new(
    name: str,
    description: str,
    type: MemoryType,
    body: str,
    *,
    file: str = "memory.md",
    **optional: Value,
) -> Topic:
    """Create a topic with keys in the usual order and a body that ends with a newline."""
    text = writable(body).strip("\r\n")
    document = frontmatter.Document("---\n", (), "---\n", f"{text}\n" if text else "")
    given: dict[str, Value] = {"name": name, "description": description, "type": type, **optional}
    unknown = given.keys() - KEYS.keys()
    if unknown:
        raise InputError(f"{min(unknown)!r} is not a key of a topic file; known: {', '.join(KEYS)}")
    for key in KEYS:
        if given.get(key) not in (None, (), False):
            document = document.with_entry(key, _render_value(key, given[key]))
    return _read(document, file)


def _read(document: Document, file: str) -> Topic:
    if document.problem is not None:
        return Topic(file, file, "", None, document.body, document, problem=document.problem)
    values: dict[str, Value] = {}
    warnings: list[str] = []
    for entry in document.entries:
        shape = KEYS.get(entry.key or "")
        if entry.key is None or shape is None:
            continue
        value = _READERS[shape](entry.value)
        if value is None and parse_text(entry.value):
            warnings.append(
                f"{entry.key}: {parse_text(entry.value)[:80]!r} is not {_EXPECTED[shape]}"
            )
        values[entry.key] = value
    defaults: dict[str, Value] = {"name": file, "description": "", "type": read_type(document)}
    known = defaults | {key: value for key, value in values.items() if value is not None}
    # The readers return the right types, but the type checker cannot see that in a mapping.
    return Topic(file, body=document.body, document=document, warnings=tuple(warnings), **known)  # type: ignore[arg-type]


def read_type(document: Document) -> MemoryType | None:
    """The type of a memory; some clients write it inside a `metadata:` mapping."""
    own = document.entry("type")
    if own is not None:
        return parse_type(parse_text(own.value))
    nested = document.entry("metadata")
    found = _NESTED_TYPE.search(nested.value) if nested else None
    return parse_type(found[1]) if found else None


def read_moment(source: str) -> str | None:
    """A date or time as written; None for anything else."""
    text = parse_text(source)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text


def _number(source: str) -> float | None:
    try:
        number = float(parse_text(source))
    except ValueError:
        return None
    return number if 0.0 <= number <= 1.0 else None


def _flag(source: str) -> bool | None:
    return {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(
        parse_text(source).lower()
    )


def _origin(source: str) -> Origin | None:
    word = parse_text(source).lower()
    return next((known for known in ORIGINS if known == word), None)


_READERS: Mapping[Shape, Callable[[str], Value]] = {
    "text": lambda source: parse_text(source) or None,
    "type": lambda source: parse_type(parse_text(source)),
    "origin": _origin,
    "moment": read_moment,
    "number": _number,
    "flag": _flag,
    "list": parse_list,
}

_EXPECTED: Mapping[Shape, str] = {
    "text": "text",
    "type": f"one of {', '.join(TYPES)}",
    "origin": f"one of {', '.join(ORIGINS)}",
    "moment": "a date or time in ISO 8601",
    "number": "a number from 0 to 1",
    "flag": "true or false",
    "list": "a list",
}


def _render_value(key: str, value: Value) -> str | None:
    """A value as frontmatter; InputError if it could not be read back."""
    shape = KEYS.get(key)
    if shape is None:
        raise InputError(f"{key!r} is not a key of a topic file; known: {', '.join(KEYS)}")
    if value is None:
        return None
    if isinstance(value, bool):
        rendered = "true" if value else "false"
    elif isinstance(value, (int, float)):
        rendered = f"{value:g}"
    elif isinstance(value, tuple):
        rendered = render_list(value)
    else:
        rendered = one_line(value) if shape in {"moment", "type", "origin"} else render_text(value)
    if _READERS[shape](rendered) is None:
        raise InputError(f"{key}: {value!r} is not {_EXPECTED[shape]}")
    if len(rendered) > LONGEST_RENDERED:
        raise InputError(
            f"{key}: {rendered[:80]}… has {len(rendered):,} characters; a value of a topic file has at "
            f"most {LONGEST_RENDERED:,}: keep the point and move the rest into the body"
        )
    return rendered
