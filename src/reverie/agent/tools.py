"""What a tool is: a declaration the model sees, and a function that does the work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from reverie.agent.file_reads import FileRead, FileReads
from reverie.agent.todos import Todo
from reverie.core.messages import ResultContent, Text
from reverie.core.request import ToolSpec

# What a call would do; permission is decided by this.
Access: TypeAlias = Literal["read", "edit", "run", "network"]

Arguments: TypeAlias = Mapping[str, Any]

RESULT_THRESHOLD = 50_000


@dataclass(frozen=True, slots=True)
class Workshop:
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
    workshop: Workshop | None = None
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
