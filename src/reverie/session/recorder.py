"""Writing down what happens, without stopping it: what a full disk refuses is kept and tried again."""

from __future__ import annotations

from reverie.errors import StorageError
from reverie.events import Announce, TroubleNoted, unheard
from reverie.session.journal import Journal
from reverie.session.records import Record


class Recorder:
    """A journal that never fails a turn. Records stay in order; none is skipped."""

    def __init__(self, journal: Journal, announce: Announce = unheard) -> None:
        self._journal = journal
        self._announce = announce
        self._waiting: list[Record] = []

    @property
    def behind(self) -> int:
        """How many records are not on disk yet."""
        return len(self._waiting)

    def append(self, *records: Record) -> None:
        self._waiting += records
        try:
            self._journal.append(*self._waiting)
        except StorageError as error:
            self._announce(TroubleNoted("transcript", f"{error}; {self.behind} records wait"))
            return
        self._waiting.clear()
