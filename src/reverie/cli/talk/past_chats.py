"""Past conversations of a project: list them, and find one by number or id to resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from reverie.cli.formatting import printable, when
from reverie.conversation import journal
from reverie.conversation.record_json import parse
from reverie.conversation.records import Said
from reverie.core.messages import Message
from reverie.errors import InputError, TranscriptError

if TYPE_CHECKING:
    from reverie.workspace import Workspace

MOST_LISTED = 9
_FIRST_WORDS = 60
# From this many columns on, the list has room for ids.
_WIDE = 100


@dataclass(frozen=True, slots=True)
class PastChat:
    """One conversation: its journal, the time of its last message, and its first words."""

    path: Path
    at: float
    begins: str

    @property
    def session(self) -> str:
        return self.path.stem


def recent(app: Workspace, limit: int = MOST_LISTED) -> list[PastChat]:
    """Conversations with messages, newest first."""
    found: list[PastChat] = []
    for path in app.journals():
        words = _first_words(path)
        if words:
            found.append(PastChat(path, path.stat().st_mtime, words))
        if len(found) == limit:
            break
    return found


def newest(app: Workspace) -> Path:
    found = recent(app, 1)
    if not found:
        raise InputError("there is no conversation to go on with in this project; start one")
    return found[0].path


def chosen(app: Workspace, word: str) -> Path:
    """Find a conversation by its number in the list, its id, or the start of its id."""
    listed = recent(app)
    if word.isdecimal() and len(word) <= 2:
        if not 1 <= int(word) <= len(listed):
            raise InputError(f"there is no conversation {word} in the list of {len(listed)}")
        return listed[int(word) - 1].path
    return app.transcript(word)


def table(listed: Sequence[PastChat], width: int = _WIDE) -> Table:
    """The list; a narrow terminal has no room for the ids, and the numbers are enough."""
    rows = Table(box=None, pad_edge=False, show_header=False)
    rows.add_column(justify="right", no_wrap=True, min_width=len(str(len(listed))))
    if width >= _WIDE:
        rows.add_column(no_wrap=True)
    rows.add_column(no_wrap=True, min_width=len(when(1.0)))
    rows.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for number, past in enumerate(listed, 1):
        id_ = [Text(past.session, "dim")] if width >= _WIDE else []
        rows.add_row(
            Text(str(number), "bold"),
            *id_,
            Text(when(past.at), "dim"),
            Text(printable(past.begins)),
        )
    return rows


def _first_words(path: Path) -> str:
    """The start of the user's first message; the rest of the journal is not read."""
    try:
        for _, value in journal.read_lines(path, []):
            message = _message(value)
            if message is not None and message.origin == "user" and message.text.strip():
                return " ".join(message.text.split())[:_FIRST_WORDS]
    except TranscriptError:
        return ""
    return ""


def _message(value: object) -> Message | None:
    try:
        record = parse(value)
    except TranscriptError:
        return None
    return record.message if isinstance(record, Said) else None
