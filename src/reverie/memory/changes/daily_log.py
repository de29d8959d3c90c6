"""The append-only daily log of a long-lived assistant; a nightly dream condenses it into memory.

The prompt contains the pattern of the path, never a date. A message tells the model when the date
changes, so that the cached prefix stays valid at midnight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from reverie.errors import InputError, WriteConflict
from reverie.memory.format.frontmatter import readable, writable
from reverie.memory.format.prompt import LOG_PATTERN
from reverie.memory.format.revisions import Author, Put, Revision, version
from reverie.memory.format.topic import LARGEST_FILE
from reverie.ports import Clock, Scrubber, TopicStore

FOLDER = LOG_PATTERN.partition("/")[0]

# Each retry means that another process wrote an entry; this many in a row do not happen.
_ATTEMPTS = 50
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Day:
    """The log of one day, and its files."""

    date: date
    text: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Logged:
    """A written entry: its file and text, and the kinds of secrets removed from it."""

    file: str
    entry: str
    revision: Revision
    secrets: tuple[str, ...] = ()


def log_file(day: date, part: int = 1) -> str:
    """The file of a day; a log that outgrows one file continues in part 2."""
    more = "" if part == 1 else f"_{part}"
    return f"{FOLDER}/{day:%Y}/{day:%m}/{day.isoformat()}{more}.md"


def date_message(previous: str | None, today: date) -> str | None:
    """The message that tells the model the new date; None if the date did not change."""
    if previous == today.isoformat():
        return None
    named = f"{today.isoformat()}, a {_DAYS[today.weekday()]}"
    if previous is None:
        return f"Today is {named}. The log of the day is `{log_file(today)}`."
    return f"The date has changed: today is {named}. From now on the log is `{log_file(today)}`."


class DailyLog:
    """The logs of one memory directory. `zone` is the user's time zone; None: the machine's."""

    def __init__(
        self, store: TopicStore, clock: Clock, scrubber: Scrubber, zone: tzinfo | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._scrubber = scrubber
        self._zone = zone

    def today(self) -> date:
        return self._now().date()

    def append(self, text: str, author: Author) -> Logged:
        """Append an entry to the current day's log, after entries that others wrote meanwhile."""
        if not text.strip():
            raise InputError("there is nothing to log; say what, in a sentence")
        # Read the clock once: an entry from before midnight stays on its day, even after retries.
        now = self._now()
        scrubbed = self._scrubber.scrub(writable(text.strip()))
        entry = _entry(now, scrubbed.text)
        for _ in range(_ATTEMPTS):
            put = self._grown(now.date(), entry)
            try:
                made = self._store.apply((put,), author, f"log {_shown(scrubbed.text)}")
            except WriteConflict:
                continue
            if made is not None:
                return Logged(put.file, entry, made, scrubbed.kinds)
        raise InputError(f"{put.file} changes faster than an entry can be added; try again")

    def days(self, first: date, last: date) -> tuple[Day, ...]:
        """The logs of a range of days, both ends included; days without one are left out."""
        if first > last:
            raise InputError(f"the log cannot be read from {first} to {last}: that is backwards")
        number = (last - first).days + 1
        wanted = (first + timedelta(days=n) for n in range(number))
        return tuple(found for day in wanted if (found := self.day(day)) is not None)

    def day(self, day: date) -> Day | None:
        """One day's log, with its parts joined."""
        parts = list(self._parts(day))
        if not parts:
            return None
        text = "".join(_ended(data).decode("utf-8", "surrogateescape") for _, data in parts)
        return Day(day, readable(text), tuple(file for file, _ in parts))

    def _grown(self, day: date, entry: str) -> Put:
        """Append the entry to the day's last file, or start a new file if it does not fit."""
        parts = list(self._parts(day))
        if parts:
            file, data = parts[-1]
            grown = _ended(data) + entry.encode("utf-8", "surrogateescape")
            if len(grown) <= LARGEST_FILE:
                return Put(file, grown, version(data))
        fresh = f"# {day.isoformat()}\n\n{entry}".encode("utf-8", "surrogateescape")
        return Put(log_file(day, len(parts) + 1), fresh)

    def _parts(self, day: date) -> Iterator[tuple[str, bytes]]:
        part = 1
        while (data := self._store.current(log_file(day, part))) is not None:
            yield log_file(day, part), data
            part += 1

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now()).astimezone(self._zone)


def _entry(now: datetime, text: str) -> str:
    """A bullet with the time of day; further lines are indented."""
    first, *rest = re.split(r"\r\n|\n|\r", text)
    lines = [f"- {now:%H:%M} {first}", *(f"  {line}".rstrip() for line in rest)]
    return "\n".join(lines) + "\n"


def _ended(data: bytes) -> bytes:
    """The data with a final newline, so that the next entry starts on its own line."""
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"
