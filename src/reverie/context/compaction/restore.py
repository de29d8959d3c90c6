"""What is put back after a compaction: obligations, files as they are now, skills, the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reverie.context.compaction import parts as sizes
from reverie.context.facts import FileTouch, Todo
from reverie.context.facts.calls import action_of
from reverie.context.user_messages import clipped
from reverie.core.messages import Attachment, Message, ToolResult, ToolUse
from reverie.core.window import Window, text_tokens

FILE_LABEL = "file"

# Returns a file's current text, or None when it can no longer be read.
ReadFile: TypeAlias = Callable[[str], str | None]

_PIECES = frozenset({"offset", "limit", "view_range", "pages"})
_NOT_WHOLE = ("<persisted-output>", "[Old tool result content cleared")


@dataclass(frozen=True, slots=True)
class Restorable:
    """Other loaded content that is needed again: a skill, the plan, tools loaded later."""

    label: str
    text: str


def wanted(files: Sequence[FileTouch], kept: Sequence[Message]) -> tuple[str, ...]:
    """The last read files, newest first, without those whose whole text is in the kept messages."""
    there = whole_files(kept)
    recent = (touch.path for touch in reversed(files) if touch.reads and touch.path not in there)
    return tuple(recent)[: sizes.FILES]


def whole_files(messages: Iterable[Message]) -> frozenset[str]:
    """The files whose whole text is in these messages."""
    reading: dict[str, str] = {}
    found: set[str] = set()
    for message in messages:
        for block in message.blocks:
            match block:
                case ToolUse() if not _PIECES & block.input.keys():
                    action = action_of(block)
                    if action.kind == "read":
                        reading[block.id] = action.target
                case ToolResult(id_, _, False) if id_ in reading:
                    if block.text and not block.text.startswith(_NOT_WHOLE):
                        found.add(reading[id_])
                case _:
                    pass
    return frozenset(found)


def restored(
    paths: Sequence[str], extras: Sequence[Restorable], read_file: ReadFile, window: Window
) -> tuple[Attachment, ...]:
    """Build the attachments, each cut to its limit: skills and plan first, then files."""
    guides = (
        Attachment(extra.label, clipped(extra.text, sizes.scaled(sizes.EXTRA, window)))
        for extra in extras
    )
    files = (
        file(path, text, sizes.scaled(sizes.FILE, window))
        for path in paths
        if (text := read_file(path)) is not None
    )
    return (
        *fitting(guides, sizes.scaled(sizes.ALL_EXTRAS, window)),
        *fitting(files, sizes.scaled(sizes.ALL_FILES, window)),
    )


def fitting(attachments: Iterable[Attachment], room: int) -> tuple[Attachment, ...]:
    """As many attachments as fit, in order; one that does not fit is skipped."""
    kept: list[Attachment] = []
    for attachment in attachments:
        size = text_tokens(attachment.text)
        if size <= room:
            kept.append(attachment)
            room -= size
    return tuple(kept)


def file(path: str, text: str, room: int) -> Attachment:
    lead = f"{path}, as it is on disk now:\n"
    return Attachment(FILE_LABEL, lead + clipped(text, room - text_tokens(lead), "read the file"))


LABEL = "obligations"

_LEAD = "Still owed at this point, from the session's own records."
_REQUEST = "The user's last request, word for word:"
_REQUEST_ELSEWHERE = (
    "The user's last request is the last of their messages, word for word beside this."
)


@dataclass(frozen=True, slots=True)
class Running:
    """A running sub-agent or background task; `id` is its address."""

    id: str
    what: str


@dataclass(frozen=True, slots=True)
class Obligations:
    """What is still open. `request` is empty when the conversation still contains it."""

    request: str = ""
    todos: tuple[Todo, ...] = ()
    running: tuple[Running, ...] = ()
    questions: tuple[str, ...] = ()


def render(owed: Obligations, room: int) -> Attachment | None:
    """Render the obligations within `room` tokens; None when there are none.

    A long request is not repeated, because the user's messages are carried verbatim anyway.
    """
    lists = [
        *_listed("Open todos:", [_todo(todo) for todo in owed.todos if todo.open]),
        *_listed("Running now:", [f"{running.id}: {running.what}" for running in owed.running]),
        *_listed("Questions that wait for an answer:", list(owed.questions)),
    ]
    quoted = "\n".join([_REQUEST, *(f"> {line}" for line in owed.request.split("\n"))])
    for request in (quoted, _REQUEST_ELSEWHERE):
        parts = [request, *lists] if owed.request else lists
        text = "\n\n".join([_LEAD, *parts])
        if text_tokens(text) <= room:
            break
    return Attachment(LABEL, clipped(text, room)) if parts else None


def _listed(title: str, items: list[str]) -> list[str]:
    return ["\n".join([title, *(f"- {item}" for item in items)])] if items else []


def _todo(todo: Todo) -> str:
    return f"{todo.text} ({todo.status.replace('_', ' ')})"
