"""The facts of a conversation, as values."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.layers.facts.outcomes import Status


@dataclass(frozen=True, slots=True)
class FileTouch:
    """A file that was read or changed, and how often."""

    path: str
    reads: int = 0
    edits: int = 0
    writes: int = 0

    @property
    def changed(self) -> bool:
        return self.edits + self.writes > 0


@dataclass(frozen=True, slots=True)
class Command:
    """A command that was run; `exit` is its status where the result told it."""

    line: str
    status: Status
    exit: int | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A call that failed, what it said, and what made it work: changed files, then the success."""

    call: str
    lines: tuple[str, ...]
    times: int = 1
    changed: tuple[str, ...] = ()
    fixed_by: str = ""


@dataclass(frozen=True, slots=True)
class Todo:
    text: str
    status: str = "pending"

    @property
    def open(self) -> bool:
        return self.status not in ("completed", "done", "cancelled", "deleted")


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything in the order it happened; files in the order of their last touch."""

    user_messages: tuple[str, ...] = ()
    last_request: str = ""
    files: tuple[FileTouch, ...] = ()
    commands: tuple[Command, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    decisions: tuple[str, ...] = ()
    plan: str = ""
    todos: tuple[Todo, ...] = ()
    open_question: str = ""
    last_words: str = ""
    work_log: tuple[str, ...] = ()
    tool_calls: int = 0
    last_message: str | None = None
