"""What a tool is, and the state that tools share: files read, todos, the working directory."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from reverie.core.messages import ResultContent, Text
from reverie.core.request import ToolSpec

Status: TypeAlias = Literal["open", "doing", "done"]

_BOXES: dict[Status, str] = {"open": "[ ]", "doing": "[>]", "done": "[x]"}


@dataclass(frozen=True, slots=True)
class Todo:
    text: str
    status: Status = "open"


def render(todos: Iterable[Todo]) -> str:
    """The list as text, one checkbox a line."""
    return "\n".join(f"{_BOXES[todo.status]} {todo.text}" for todo in todos)


def objection(todos: Iterable[Todo]) -> str | None:
    """What is wrong with a list; None when it is valid."""
    listed = list(todos)
    texts = [todo.text.strip() for todo in listed]
    if not all(texts):
        return f"item {texts.index('') + 1} has no text"
    twice = next((text for n, text in enumerate(texts) if text in texts[:n]), None)
    if twice is not None:
        return f"{twice!r} is on the list twice"
    doing = [todo.text for todo in listed if todo.status == "doing"]
    if len(doing) > 1:
        return f"only one item can be in progress, not {len(doing)}: {', '.join(map(repr, doing))}"
    return None


MOST_FILES = 1_000


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file as it was when it was read or written."""

    digest: str
    mtime_ns: int
    size: int

    @classmethod
    def of(cls, data: bytes, mtime_ns: int) -> FileRead:
        return cls(hashlib.blake2b(data, digest_size=16).hexdigest(), mtime_ns, len(data))

    def same_content(self, other: FileRead) -> bool:
        """Compare content only: a new mtime is not a change."""
        return (self.digest, self.size) == (other.digest, other.size)


class FileReads:
    """The most recently read files, by their resolved paths."""

    def __init__(self, reads: Iterable[tuple[Path, FileRead]] = (), most: int = MOST_FILES) -> None:
        self._most = most
        self._reads: OrderedDict[Path, FileRead] = OrderedDict()
        for path, read in reads:
            self.remember(path, read)

    def remember(self, path: Path, read: FileRead) -> None:
        self._reads[path] = read
        self._reads.move_to_end(path)
        while len(self._reads) > self._most:
            self._reads.popitem(last=False)

    def last(self, path: Path) -> FileRead | None:
        """The file as it was last read; None when it was not read."""
        return self._reads.get(path)

    def recent(self) -> tuple[Path, ...]:
        """The newest first."""
        return tuple(reversed(self._reads))

    def clone(self) -> FileReads:
        return FileReads(self._reads.items(), self._most)


# What a call does; permissions depend on it.
Access: TypeAlias = Literal["read", "edit", "run", "network"]

Arguments: TypeAlias = Mapping[str, Any]

RESULT_THRESHOLD = 50_000


@dataclass(frozen=True, slots=True)
class FolderCopy:
    """A copy of a folder to work on: a fork uses the folder's paths, and gets the copy's files."""

    folder: Path
    copy: Path

    def inside(self, path: Path) -> Path:
        """The path in the copy for a path in the folder."""
        return (
            self.copy / path.relative_to(self.folder) if path.is_relative_to(self.folder) else path
        )

    def outside(self, path: Path) -> Path:
        """The path in the folder for a path in the copy."""
        return self.folder / path.relative_to(self.copy) if path.is_relative_to(self.copy) else path


@dataclass(slots=True)
class Workplace:
    """An agent's working directory and the state of its tools. A fork works on a clone.

    `shell_folder` is the directory the last shell command ended in; None is the root.
    """

    root: Path
    reads: FileReads = field(default_factory=FileReads)
    todos: tuple[Todo, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    workshop: FolderCopy | None = None
    shell_folder: Path | None = None
    # The folder in which a command was judged to be read-only: it runs there.
    judged: dict[str, Path] = field(default_factory=dict)

    def clone(self) -> Workplace:
        return replace(self, reads=self.reads.clone(), judged={})

    def knows(self, path: Path) -> None:
        """Mark a file as read, as it is now, so that the agent may edit it."""
        real = path.resolve()
        with suppress(OSError):
            self.reads.remember(real, FileRead.of(real.read_bytes(), real.stat().st_mtime_ns))


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a tool for the model."""

    content: tuple[ResultContent, ...]
    is_error: bool = False

    @classmethod
    def of(cls, text: str) -> ToolOutput:
        return cls((Text(text),) if text else ())

    @classmethod
    def error(cls, text: str) -> ToolOutput:
        return cls((Text(text),), is_error=True)


def writes_nothing(arguments: Arguments, workplace: Workplace) -> tuple[Path, ...]:
    """For tools that write no files."""
    return ()


def parameters(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments: an object with these properties and no others."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return schema | {"additionalProperties": False}


def string(about: str = "", **limits: Any) -> dict[str, Any]:
    return {"type": "string", **limits} | ({"description": about} if about else {})


def integer(about: str, low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high, "description": about}


def always(access: Access) -> Callable[[Arguments, Workplace], Access]:
    """The `access` of a tool whose calls all do the same kind of thing."""
    return lambda arguments, workplace: access


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, with what is needed to run it safely.

    `headline` describes a call in one line, for people. `paths` are the files a call would write.
    Results longer than `result_threshold` characters go to a file (None: never), and old results
    of a `clearable` tool may be cleared from the window. A `social` tool starts other agents or
    writes to them.
    """

    spec: ToolSpec
    run: Callable[[Arguments, Workplace], Awaitable[ToolOutput | str]]
    access: Callable[[Arguments, Workplace], Access]
    headline: Callable[[Arguments], str]
    result_threshold: int | None = RESULT_THRESHOLD
    clearable: bool = False
    social: bool = False
    paths: Callable[[Arguments, Workplace], tuple[Path, ...]] = writes_nothing

    @property
    def name(self) -> str:
        return self.spec.name
