"""Reminders for the model between messages: facts that change and so cannot be in the frozen head."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, tzinfo

from reverie.conversation.conversation import Conversation
from reverie.conversation.records import DateChanged
from reverie.core.messages import Attachment
from reverie.memory.changes.daily_log import date_message
from reverie.ports import Clock

DATE = "date"


class Announcements:
    """The date when it changed, and what other sources report, once each."""

    def __init__(
        self,
        conversation: Conversation,
        clock: Clock,
        zone: tzinfo | None = None,
        *,
        daily_log: Callable[[], bool] = lambda: False,
        sources: tuple[Callable[[], Attachment | None], ...] = (),
    ) -> None:
        self._conversation = conversation
        self._clock = clock
        self._zone = zone
        self._daily_log = daily_log
        self._sources = sources

    def __call__(self) -> tuple[Attachment, ...]:
        found = (self._date(), *(source() for source in self._sources))
        return tuple(attachment for attachment in found if attachment is not None)

    def _date(self) -> Attachment | None:
        today = datetime.fromtimestamp(self._clock.now(), UTC).astimezone(self._zone).date()
        previous = self._conversation.state.date
        if previous == today.isoformat():
            return None
        text = self._date_text(previous, today)
        self._conversation.record(DateChanged(today.isoformat()))
        return Attachment(DATE, text)

    def _date_text(self, previous: str | None, today: date) -> str:
        with_log = date_message(previous, today) if self._daily_log() else None
        changed = "Today is" if previous is None else "The date has changed: today is"
        return with_log or f"{changed} {today:%A}, {today.isoformat()}."
