"""Turns of ended sessions that wait until having a model read them is worth its price.

A model reads what was said when that costs a small share of what the session has cost
(`learning.share`). Turns of a session that ended before wait for the project's next sessions. Only
their ids are kept here; the words stay in the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.conversation import journal
from reverie.conversation.records import Said
from reverie.core.messages import Message
from reverie.errors import ReverieError
from reverie.files.atomic import read_json, write_json

if TYPE_CHECKING:
    from reverie.workspace import Workspace

FILE = "unread-turns.json"
# The oldest sessions beyond this many are left to `reverie extract`.
_MOST_SESSIONS = 20


@dataclass(frozen=True, slots=True)
class Unread:
    """The unread turns of one session, and what it cost, in dollars, since a model last read it."""

    session: str
    messages: tuple[Message, ...]
    spent: float


@dataclass(frozen=True, slots=True)
class UnreadTurns:
    """The list of unread turns of a project; `transcript` names a session's journal."""

    file: Path
    transcript: Callable[[str], Path]

    @classmethod
    def of(cls, app: Workspace) -> UnreadTurns:
        """The unread turns of the workspace's project."""
        return cls(app.memory_location.state / FILE, app.project.journal)

    def add(self, session: str, messages: Sequence[Message], spent: float) -> None:
        """Keep these messages of a session for a later one."""
        known = self._known()
        known[session] = {"messages": [message.id for message in messages], "spent": spent}
        write_json(self.file, dict(list(known.items())[-_MOST_SESSIONS:]))

    def load(self) -> list[Unread]:
        """The unread turns as they stand in their transcripts; what is gone from there is left out."""
        found: list[Unread] = []
        for session, entry in self._known().items():
            wanted = set(map(str, entry["messages"]))
            try:
                records = journal.load(self.transcript(session)).records
            except (ReverieError, OSError):
                continue
            said = (record.message for record in records if isinstance(record, Said))
            messages = tuple(message for message in said if message.id in wanted)
            if messages:
                found.append(Unread(session, messages, float(entry["spent"])))
        return found

    def drop(self, sessions: Iterable[str]) -> None:
        """Forget these sessions: a model has read them, or they go on."""
        known, gone = self._known(), set(sessions)
        if gone & known.keys():
            left = {name: entry for name, entry in known.items() if name not in gone}
            write_json(self.file, left)

    def _known(self) -> dict[str, dict[str, Any]]:
        data = read_json(self.file)
        if not isinstance(data, dict):
            return {}
        return {name: entry for name, entry in data.items() if _is_entry(entry)}


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("messages"), list)
        and isinstance(entry.get("spent"), int | float)
    )
