"""Reads from a tool result whether the call worked and, if not, which lines say why."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from reverie.context.facts.calls import Action, shortened
from reverie.core.messages import ToolResult
from reverie.core.transcript import INTERRUPTED

Status: TypeAlias = Literal["ok", "failed", "not run"]

MOST_LINES = 3
LONGEST_LINE = 200
# A shorter line names no error.
_SHORTEST_ERROR = 12

# The reason for a failure is near the start or the end of the output.
_END = 20_000

_NOT_RUN = (
    INTERRUPTED,
    "The user did not allow",
    "The user doesn't want to proceed",
    "The user doesn't want to take this action",
    "Sibling tool call errored",
)
_SAYS = re.compile(r"\w")
_TAGS = re.compile(r"</?(?:tool_use_error|output|error)>")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EXIT = re.compile(
    r"<returncode>(-?\d{1,10})</returncode>"
    r"|\W{0,3}[\w ]{0,40}\b(?:exit(?:ed)?|return)(?: with)?[ _-]?(?:code|status)\W{1,3}(-?\d{1,10})\W{0,3}",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(r"[\w.]{1,80}(?:Error|Exception|Interrupt)\b(?::|$)")
# Output of compilers, linters and test runners: a place, then the problem.
_PLACED = re.compile(r"(?:\[[\w:-]{1,30}\] )?[^\s:]{1,150}\.\w{1,10}:\d+(?::\d+)?: \S")
_TELLING = re.compile(
    r"\b(?:error|exception|fatal|panic|failed|failure|cannot|can't|could not|couldn't|not found"
    r"|no such|does not exist|denied|undefined|unexpected|invalid|refused|unknown)\b"
    r"|\b\w{1,80}(?:Error|Exception)\b\s?[:(\[]|^(?:-+ )?FAIL\b.|^E  ",
    re.IGNORECASE,
)
# Programs report their own errors at the start of a line; code and prose mention errors elsewhere.
_REPORTS = re.compile(
    r"\W{0,6}(?:[\w.]{0,80}(?:Error|Exception|Interrupt)\b:|(?:error|fatal|panic|fail(?:ed|ure)?)\b|E  )",
    re.IGNORECASE,
)
_NAMES_ERRORS = re.compile(r"\b\w{0,80}(?:error|exception)\b\s?[:(\[]", re.IGNORECASE)
_NOTHING_FAILED = re.compile(r"\b(?:0|no) (?:errors?|failed|failures?)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended. `lines` say what went wrong, even where the status does not show it."""

    status: Status
    exit: int | None = None
    lines: tuple[str, ...] = ()


def outcome_of(result: ToolResult, action: Action) -> Outcome:
    """Determine how a call ended; an exit status in the text counts only for commands."""
    text = _ends(result.text)
    if result.is_error and _TAGS.sub("", text[:LONGEST_LINE]).lstrip().startswith(_NOT_RUN):
        return Outcome("not run")
    if action.kind != "run":
        return Outcome("failed", None, _lines(text)[:1]) if result.is_error else Outcome("ok")
    status = _exit_status(text)
    if result.is_error or status:
        lines = _lines(text)
        return Outcome("failed", status, _most_informative(lines) or lines[-1:])
    return Outcome("ok", status, _most_informative(_lines(text)) if action.piped else ())


# Results of these are other people's text, which mentions errors that did not happen here.
_OTHERS_TEXT = frozenset({"read", "search"})


def errors_in(result: ToolResult, action: Action) -> tuple[str, ...]:
    """The lines of a result that mention errors, verbatim: the clearest first, then in order."""
    if action.kind in _OTHERS_TEXT and not result.is_error:
        return ()
    lines = _lines(_ends(result.text))
    found = [line for line in lines if _speaks_of_errors(line) and len(line) > _SHORTEST_ERROR]
    return tuple(sorted(found, key=_vagueness)) or (lines[:1] if result.is_error else ())


def _vagueness(line: str) -> int:
    if _REPORTS.match(line) or _PLACED.match(line):
        return 0
    return 1 if _NAMES_ERRORS.search(line) else 2


def error_lines(text: str) -> tuple[str, ...]:
    """The lines of an output that report a problem; empty if none does."""
    return _most_informative(_lines(_ends(text)))


def _lines(text: str) -> tuple[str, ...]:
    """Each non-empty line once, shortened."""
    clean = _COLOURS.sub("", _TAGS.sub("", text))
    short = (shortened(line, LONGEST_LINE) for line in clean.splitlines())
    return tuple(
        dict.fromkeys(line for line in short if _SAYS.search(line) and not _EXIT.fullmatch(line))
    )


def _most_informative(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The most informative lines: exceptions, else places in files, else lines about errors."""
    found = [line for line in lines if _EXCEPTION.match(line)][-MOST_LINES:]
    found = found or [line for line in lines if _PLACED.match(line)]
    found = found or [line for line in lines if _speaks_of_errors(line)]
    return tuple(found[:MOST_LINES])


def _speaks_of_errors(line: str) -> bool:
    return bool(_TELLING.search(line)) and not _NOTHING_FAILED.search(line)


def _exit_status(text: str) -> int | None:
    lines = text.strip().splitlines()
    for line in (*lines[:1], *lines[-1:]):
        found = _EXIT.fullmatch(line.strip()[:LONGEST_LINE])
        if found:
            return int(found[1] or found[2])
    return None


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _END else f"{text[:_END]}\n{text[-_END:]}"


@dataclass(frozen=True, slots=True)
class FileTouch:
    """How often a file was read and changed."""

    path: str
    reads: int = 0
    edits: int = 0
    writes: int = 0

    @property
    def changed(self) -> bool:
        return self.edits + self.writes > 0


@dataclass(frozen=True, slots=True)
class Command:
    """A command that was run; `exit` is its status, if the result shows it."""

    line: str
    status: Status
    exit: int | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A failed call, its error lines, and what fixed it: changed files and the call that succeeded."""

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
    """All facts in the order of events; files in the order of their last use."""

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


Item = TypeVar("Item")


class HeadAndTail(Generic[Item]):
    """Keeps the first `head` and the last `tail` of all added items."""

    def __init__(self, head: int, tail: int) -> None:
        self._head: list[Item] = []
        self._tail: deque[Item] = deque(maxlen=tail)
        self._most_head = head
        self.dropped = 0

    def add(self, item: Item) -> None:
        if len(self._head) < self._most_head:
            self._head.append(item)
            return
        self.dropped += len(self._tail) == self._tail.maxlen
        self._tail.append(item)

    @property
    def head(self) -> tuple[Item, ...]:
        return tuple(self._head)

    @property
    def tail(self) -> tuple[Item, ...]:
        return tuple(self._tail)

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self._head, *self._tail)

    @property
    def last(self) -> Item | None:
        found = self._tail or self._head
        return found[-1] if found else None

    def replace_last(self, item: Item) -> None:
        (self._tail or self._head)[-1] = item
