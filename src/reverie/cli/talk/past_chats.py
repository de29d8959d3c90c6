"""Past conversations of a project: list them, and find one by number or id to resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
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


def table(listed: Sequence[PastChat], width: int = _WIDE) -> RenderableType:
    """The list; a narrow terminal has no room for the ids, and the numbers are enough."""
    rows = []
    for number, past in enumerate(listed, 1):
        row = Text(f"{number:>{len(str(len(listed)))}}", "bold", no_wrap=True, overflow="ellipsis")
        if width >= _WIDE:
            row.append(f"  {past.session}", "not bold dim")
        row.append(f"  {when(past.at)}", "not bold dim")
        rows.append(row.append(f"  {printable(past.begins)}", "not bold"))
    return Group(*rows)


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
