"""What is sent for one request: decided once, recorded with its reply, and repeated when time is short."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.proxy.turns import Sent, is_unchanged, outgoing, read_turns, shared_turns

if TYPE_CHECKING:
    from reverie.conversation.conversation import Assembled
    from reverie.proxy.body import Body
    from reverie.proxy.dialects import Dialect
    from reverie.proxy.savings import Saving


class Claim:
    """Decides once whether a request is sent as prepared or unchanged.

    The worker takes it before it changes anything; the waiting side gives up when its time is over.
    Only one of the two can be first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: str | None = None

    def take(self) -> bool:
        return self._set("worker")

    def give_up(self) -> bool:
        return self._set("client")

    def _set(self, owner: str) -> bool:
        with self._lock:
            self._owner = self._owner or owner
            return self._owner == owner


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The last request sent: enough to repeat it without the session."""

    sent: tuple[Sent, ...]
    known: tuple[str, ...]
    changed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The body for one request (None: unchanged), and what is needed to record its reply."""

    text: str | None
    asked: Assembled
    ticket: int
    saving: Saving | None = None


def replayed(dialect: Dialect, body: Body, snapshot: Snapshot, *, by_person: bool) -> str | None:
    """The body with earlier decisions and nothing new; None if it does not continue the last request."""
    turns = read_turns(dialect, body.elements, by_person=by_person)
    if shared_turns(snapshot.known, turns) < len(snapshot.known):
        return None
    new = (Sent(turns[i].message, i) for i in range(len(snapshot.known), len(turns)))
    sent = (*snapshot.sent, *new)
    elements = outgoing(dialect, body.elements, turns, sent, snapshot.changed)
    if is_unchanged(elements, len(body.elements)):
        return None
    return body.text([one.text(dialect) for one in elements])
