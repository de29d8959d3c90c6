"""What waits for a model: turns of ended sessions, and batches at the provider. Both are durable.

A batch is stored before it is submitted, with the tickets of its reserved money, so that a process
that dies between any two steps leaves enough to recover. The file holds ids, no text.

A model reads a session's turns when that costs a small share of what the session has cost
(`learning.share`). If the session ends first, the turns wait for the project's next sessions. Only
their ids are kept here; the words stay in the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.conversation import journal
from reverie.conversation.records import Said
from reverie.core.messages import Message
from reverie.errors import ReverieError
from reverie.files.atomic import read_json, write_json

if TYPE_CHECKING:
    from reverie.workspace import Workspace

FILE = "learning-batches.json"
LOCK = ".learning-batches-lock"


@dataclass(frozen=True, slots=True)
class Piece:
    """One request: the messages from `first` to `last` of a session.

    `most` is what it can cost, in dollars; None if the price is not known. `again` is set before a piece
    without an answer is read in the ordinary way, which happens once.
    """

    id: str
    session: str
    path: str
    first: str
    last: str
    most: float | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch: the token it is submitted under, and the provider's id, empty before it is known."""

    token: str
    model: str
    at: float
    pieces: tuple[Piece, ...]
    id: str = ""

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(piece.session for piece in self.pieces))

    @property
    def most(self) -> float | None:
        """What it can cost, in dollars; None if a price is not known."""
        known = [piece.most for piece in self.pieces]
        return None if None in known else sum(most or 0.0 for most in known)

    def without(self, piece: str) -> Batch:
        return replace(self, pieces=tuple(one for one in self.pieces if one.id != piece))

    def with_again(self, piece: str) -> Batch:
        """A copy in which this piece is marked as read in the ordinary way."""
        marked = (replace(one, again=one.again or one.id == piece) for one in self.pieces)
        return replace(self, pieces=tuple(marked))


@dataclass(frozen=True, slots=True)
class Pending:
    """The file of one project's batches, and when background work last looked after them."""

    file: Path

    @classmethod
    def of(cls, app: Workspace) -> Pending:
        return cls(app.memory_location.state / FILE)

    @property
    def lock(self) -> Path:
        return self.file.with_name(LOCK)

    def load(self) -> list[Batch]:
        """The batches, oldest first."""
        found = (_batch(one) for one in self._data().get("batches", ()))
        return [batch for batch in found if batch is not None]

    def put(self, batch: Batch) -> None:
        """Store a batch as it is now; one without pieces is removed."""
        others = [one for one in self.load() if one.token != batch.token]
        kept = [*others, batch] if batch.pieces else others
        ordered = sorted(kept, key=lambda one: one.at)
        self._write({"batches": [asdict(one) for one in ordered]})

    @property
    def sessions(self) -> frozenset[str]:
        """The sessions that are in a batch, which are not read again meanwhile."""
        return frozenset(name for batch in self.load() for name in batch.sessions)

    def time(self, key: str) -> float:
        """A noted time; 0 if there is none."""
        found = self._data().get(key)
        return float(found) if isinstance(found, int | float) else 0.0

    def note_time(self, **times: float) -> None:
        self._write(times)

    def _write(self, change: dict[str, Any]) -> None:
        write_json(self.file, self._data() | change)

    def _data(self) -> dict[str, Any]:
        data = read_json(self.file)
        return data if isinstance(data, dict) else {}


def _batch(data: Any) -> Batch | None:
    try:
        pieces = tuple(Piece(**piece) for piece in data["pieces"])
        return Batch(**{**data, "pieces": pieces})
    except (TypeError, KeyError, AttributeError):
        return None


if TYPE_CHECKING:
    from reverie.workspace import Workspace

UNREAD_FILE = "unread-turns.json"
# The oldest sessions beyond this many are left to `reverie extract`.
_MOST_SESSIONS = 20


@dataclass(frozen=True, slots=True)
class Unread:
    """The unread turns of one session, and its cost in dollars since a model last read it."""

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
        return cls(app.memory_location.state / UNREAD_FILE, app.project.journal)

    def add(self, session: str, messages: Sequence[Message], spent: float) -> None:
        """Keep these messages of a session for a later one."""
        known = self._known()
        known[session] = {"messages": [message.id for message in messages], "spent": spent}
        write_json(self.file, dict(list(known.items())[-_MOST_SESSIONS:]))

    def load(self) -> list[Unread]:
        """The unread turns, read from their transcripts; deleted ones are left out."""
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
        """Drop these sessions: a model has read them, or they continue."""
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
