"""What comes back into the window after a compaction: files as they are now, skills, the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reverie.core.messages import Attachment, Message, ToolResult, ToolUse
from reverie.core.tokens import text_tokens
from reverie.core.window import Window
from reverie.layers.clipping import clipped
from reverie.layers.compaction import sizes
from reverie.layers.facts import FileTouch
from reverie.layers.facts.calls import deed_of

FILE_LABEL = "file"

# A file's text as it is now; None when it cannot be read any more.
ReadFile: TypeAlias = Callable[[str], str | None]

_PIECES = frozenset({"offset", "limit", "view_range", "pages"})
_NOT_WHOLE = ("<persisted-output>", "[Old tool result content cleared")


@dataclass(frozen=True, slots=True)
class Restorable:
    """Something else that was loaded and is needed again: a skill, the plan, late tools."""

    label: str
    text: str


def wanted(files: Sequence[FileTouch], kept: Sequence[Message]) -> tuple[str, ...]:
    """The files read last, newest first, less those whose text is still whole in what is kept."""
    there = whole_files(kept)
    recent = (touch.path for touch in reversed(files) if touch.reads and touch.path not in there)
    return tuple(recent)[: sizes.FILES]


def whole_files(messages: Iterable[Message]) -> frozenset[str]:
    """The files whose whole text stands in these messages."""
    reading: dict[str, str] = {}
    found: set[str] = set()
    for message in messages:
        for block in message.blocks:
            match block:
                case ToolUse() if not _PIECES & block.input.keys():
                    deed = deed_of(block)
                    if deed.kind == "read":
                        reading[block.id] = deed.target
                case ToolResult(id_, _, False) if id_ in reading:
                    if block.text and not block.text.startswith(_NOT_WHOLE):
                        found.add(reading[id_])
                case _:
                    pass
    return frozenset(found)


def restored(
    paths: Sequence[str], extras: Sequence[Restorable], read_file: ReadFile, window: Window
) -> tuple[Attachment, ...]:
    """What there is to restore, each cut to its size, first what guides the work, then files."""
    guides = (
        Attachment(extra.label, clipped(extra.text, sizes.scaled(sizes.EXTRA, window)))
        for extra in extras
    )
    files = (
        _file(path, text, sizes.scaled(sizes.FILE, window))
        for path in paths
        if (text := read_file(path)) is not None
    )
    return (
        *fitting(guides, sizes.scaled(sizes.ALL_EXTRAS, window)),
        *fitting(files, sizes.scaled(sizes.ALL_FILES, window)),
    )


def fitting(attachments: Iterable[Attachment], room: int) -> tuple[Attachment, ...]:
    """As many as fit, in order; one that does not fit makes way for the next."""
    kept: list[Attachment] = []
    for attachment in attachments:
        size = text_tokens(attachment.text)
        if size <= room:
            kept.append(attachment)
            room -= size
    return tuple(kept)


def _file(path: str, text: str, room: int) -> Attachment:
    lead = f"{path}, as it is on disk now:\n"
    return Attachment(FILE_LABEL, lead + clipped(text, room - text_tokens(lead), "read the file"))
