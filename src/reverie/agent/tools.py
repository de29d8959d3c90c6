"""The agent's list of what is to be done."""

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
    """The list as people write it: one box a line."""
    return "\n".join(f"{_BOXES[todo.status]} {todo.text}" for todo in todos)


def objection(todos: Iterable[Todo]) -> str | None:
    """What is wrong with a list; None when it is fine."""
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
        """A file that was only touched has not changed."""
        return (self.digest, self.size) == (other.digest, other.size)


class FileReads:
    """The files read last, oldest forgotten first. Paths are real paths, without links."""

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
        """What the file was when it was last seen; None when it was not."""
        return self._reads.get(path)

    def recent(self) -> tuple[Path, ...]:
        """The newest first."""
        return tuple(reversed(self._reads))

    def clone(self) -> FileReads:
        return FileReads(self._reads.items(), self._most)


# What a call would do; permission is decided by this.
Access: TypeAlias = Literal["read", "edit", "run", "network"]

Arguments: TypeAlias = Mapping[str, Any]

RESULT_THRESHOLD = 50_000


@dataclass(frozen=True, slots=True)
class FolderCopy:
    """A copy of a folder to work on instead: a fork names the folder, and gets the copy."""

    folder: Path
    copy: Path

    def inside(self, path: Path) -> Path:
        """Where a path really leads."""
        return (
            self.copy / path.relative_to(self.folder) if path.is_relative_to(self.folder) else path
        )

    def outside(self, path: Path) -> Path:
        """How a path is called."""
        return self.folder / path.relative_to(self.copy) if path.is_relative_to(self.copy) else path


@dataclass(slots=True)
class Workplace:
    """Where an agent works, and what it has done there. A fork works on a clone.

    `shell_folder` is where the last shell command ended up; None is the root.
    """

    root: Path
    reads: FileReads = field(default_factory=FileReads)
    todos: tuple[Todo, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    workshop: FolderCopy | None = None
    shell_folder: Path | None = None
    # Where a command that only reads was found to do so: it runs in that folder.
    judged: dict[str, Path] = field(default_factory=dict)

    def clone(self) -> Workplace:
        return replace(self, reads=self.reads.clone(), judged={})

    def knows(self, path: Path) -> None:
        """The agent was shown this file as it is now: it may edit it without reading it again."""
        real = path.resolve()
        with suppress(OSError):
            self.reads.remember(real, FileRead.of(real.read_bytes(), real.stat().st_mtime_ns))


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back to the model."""

    content: tuple[ResultContent, ...]
    is_error: bool = False

    @classmethod
    def of(cls, text: str) -> ToolOutput:
        return cls((Text(text),) if text else ())

    @classmethod
    def error(cls, text: str) -> ToolOutput:
        return cls((Text(text),), is_error=True)


def writes_nothing(arguments: Arguments, workplace: Workplace) -> tuple[Path, ...]:
    """For tools that write no file of their own."""
    return ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool and what must be known to run it safely.

    `headline` is a call in one line, for people. `paths` are the files a call would write.
    Results longer than `result_threshold` characters go to a file (None: never), and old results
    of a `clearable` tool may be cleared from the window. A `social` tool deals with
    other agents, in the name of whoever has it.
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
