"""The daily log: one bullet per entry, days in local time, concurrent writers, midnight."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.place import FixedClock

from reverie.errors import InputError
from reverie.memory.changes.daily_log import DailyLog, date_message, log_file
from reverie.memory.format.paths import Accepted, check_name
from reverie.memory.format.revisions import Author
from reverie.memory.history import GitHistory
from reverie.memory.store import FileStore

MAIN = Author("main", session="s1")
TOKYO, NEW_YORK = timezone(timedelta(hours=9)), timezone(timedelta(hours=-5))
EVENING = datetime(2026, 11, 15, 23, 59, 30, tzinfo=UTC)
FILE = "logs/2026/11/2026-11-15.md"


@dataclass(frozen=True)
class Clean:
    text: str
    kinds: tuple[str, ...]


class PasswordScrubber:
    def scrub(self, text: str) -> Clean:
        found = "hunter2" in text
        return Clean(text.replace("hunter2", "[redacted]"), ("password",) if found else ())


class Setup:
    """A store and its log, at a time of the test's choosing."""

    def __init__(self, folder: Path, moment: datetime = EVENING, zone: timezone = UTC) -> None:
        self.clock = FixedClock(moment.timestamp())
        self.root = folder / "memory"
        self.store = FileStore(self.root, GitHistory(folder / "history.git", self.clock))
        self.log = DailyLog(self.store, self.clock, PasswordScrubber(), zone)

    def text(self, file: str = FILE) -> str:
        return (self.root / file).read_text()


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def test_the_first_entry_makes_the_file_and_the_next_one_follows(setup: Setup) -> None:
    first = setup.log.append("Shipped the importer.", MAIN)
    assert (first.file, first.entry) == (FILE, "- 23:59 Shipped the importer.\n")
    setup.log.append("Two lines:\nthe second one\r\n\nand a last", MAIN)
    assert setup.text() == (
        "# 2026-11-15\n\n"
        "- 23:59 Shipped the importer.\n"
        "- 23:59 Two lines:\n  the second one\n\n  and a last\n"
    )


def test_an_entry_is_one_revision_and_leaves_the_index_alone(setup: Setup) -> None:
    (setup.root).mkdir()
    (setup.root / "MEMORY.md").write_text("- [a](a.md)\n")
    setup.store.notice_hand_edits()
    before = len(list(setup.store.history.log()))
    logged = setup.log.append("Shipped the importer.", MAIN)
    assert len(list(setup.store.history.log())) == before + 1
    assert logged.revision.files == (FILE,)
    assert logged.revision.author == MAIN
    assert (setup.root / "MEMORY.md").read_text() == "- [a](a.md)\n"


@pytest.mark.parametrize(
    ("zone", "file", "time"),
    [
        (UTC, "logs/2026/11/2026-11-15.md", "23:59"),
        (TOKYO, "logs/2026/11/2026-11-16.md", "08:59"),
        (NEW_YORK, "logs/2026/11/2026-11-15.md", "18:59"),
    ],
)
def test_the_day_is_the_persons_own(tmp_path: Path, zone: timezone, file: str, time: str) -> None:
    logged = Setup(tmp_path, zone=zone).log.append("x", MAIN)
    assert (logged.file, logged.entry) == (file, f"- {time} x\n")


def test_midnight_starts_a_new_file_and_the_model_is_told_once(setup: Setup) -> None:
    setup.log.append("before", MAIN)
    first = date_message(None, setup.log.today())
    known = setup.log.today().isoformat()
    assert date_message(known, setup.log.today()) is None
    setup.clock.advance(60)
    message = date_message(known, setup.log.today())
    assert setup.log.append("after", MAIN).file == "logs/2026/11/2026-11-16.md"
    assert (
        first
        == "Today is 2026-11-15, a Sunday. The log of the day is `logs/2026/11/2026-11-15.md`."
    )
    assert message == (
        "The date has changed: today is 2026-11-16, a Monday. "
        "From now on the log is `logs/2026/11/2026-11-16.md`."
    )
    assert date_message("2026-11-16", setup.log.today()) is None


def test_an_entry_said_before_midnight_stays_on_its_day(setup: Setup) -> None:
    """Midnight passes while another process writes its entry first."""
    real = setup.store.current

    def slow(file: str) -> bytes | None:
        data = real(file)
        if setup.clock.at == EVENING.timestamp():
            setup.clock.advance(3600)
            Setup(setup.root.parent).log.append("quicker", MAIN)
        return data

    setup.store.current = slow  # type: ignore[method-assign]
    logged = setup.log.append("said at 23:59", MAIN)
    assert logged.file == FILE
    assert setup.text().splitlines()[2:] == ["- 23:59 quicker", "- 23:59 said at 23:59"]


def test_a_hand_edit_is_kept_and_goes_into_history_first(setup: Setup) -> None:
    setup.log.append("one", MAIN)
    (setup.root / FILE).write_text(setup.text() + "- my own note, no newline")
    setup.log.append("two", MAIN)
    assert setup.text().splitlines()[2:] == [
        "- 23:59 one",
        "- my own note, no newline",
        "- 23:59 two",
    ]
    writers = [revision.author.writer for revision in setup.store.history.log(FILE)]
    assert writers == ["main", "user", "main"]


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    def write(writer: int) -> None:
        log = Setup(tmp_path).log
        for number in range(6):
            log.append(f"writer {writer} entry {number}", MAIN)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    lines = Setup(tmp_path).text().splitlines()[2:]
    assert sorted(lines) == sorted(
        f"- 23:59 writer {w} entry {n}" for w in range(4) for n in range(6)
    )
    for writer in range(4):
        own = [line for line in lines if f"writer {writer} " in line]
        assert own == sorted(own)


def test_the_same_words_twice_are_two_entries(setup: Setup) -> None:
    for _ in range(2):
        setup.log.append("again", MAIN)
    assert setup.text().count("again") == 2


def test_a_secret_is_taken_out_everywhere(setup: Setup) -> None:
    logged = setup.log.append("the password is hunter2", MAIN)
    assert logged.secrets == ("password",)
    assert "hunter2" not in setup.text()
    assert all("hunter2" not in revision.summary for revision in setup.store.history.log())


@pytest.mark.parametrize("text", ["", "  \n "])
def test_nothing_is_no_entry(setup: Setup, text: str) -> None:
    with pytest.raises(InputError, match="nothing to log"):
        setup.log.append(text, MAIN)


def test_a_long_day_goes_on_in_a_second_file(setup: Setup) -> None:
    for letter in "abc":
        setup.log.append(letter * 30_000, MAIN)
    day = setup.log.day(date(2026, 11, 15))
    assert day is not None
    assert day.files == (FILE, "logs/2026/11/2026-11-15_2.md")
    assert [found[0] for found in re.findall(r"(a|b|c)\1{29999}", day.text)] == ["a", "b", "c"]
    with pytest.raises(InputError, match="at most 65,536"):
        setup.log.append("x" * 70_000, MAIN)


def test_a_range_of_days_for_the_nightly_dream(setup: Setup) -> None:
    for _ in range(3):
        setup.log.append("x", MAIN)
        setup.clock.advance(2 * 86_400)
    days = setup.log.days(date(2026, 11, 14), date(2026, 11, 17))
    assert [day.date.day for day in days] == [15, 17]
    assert days[0].text == "# 2026-11-15\n\n- 23:59 x\n"
    assert setup.log.days(date(2026, 12, 1), date(2027, 1, 1)) == ()
    with pytest.raises(InputError, match="backwards"):
        setup.log.days(date(2026, 11, 17), date(2026, 11, 14))


def test_bytes_that_are_not_text_can_be_read_and_appended_to(setup: Setup) -> None:
    (setup.root / FILE).parent.mkdir(parents=True)
    (setup.root / FILE).write_bytes(b"- \xff\n")
    setup.log.append("x", MAIN)
    assert (setup.root / FILE).read_bytes() == b"- \xff\n- 23:59 x\n"
    day = setup.log.day(date(2026, 11, 15))
    assert day is not None
    assert day.text == "- \ufffd\n- 23:59 x\n"


@given(st.dates(), st.integers(1, 12))
def test_every_day_has_a_file_of_its_own(day: date, part: int) -> None:
    assert isinstance(check_name(log_file(day, part)), Accepted)
    assert f"{day.isoformat()}" in log_file(day, part)


@given(st.one_of(st.none(), st.dates().map(date.isoformat)), st.dates())
def test_the_model_is_told_exactly_when_the_date_differs(previous: str | None, today: date) -> None:
    message = date_message(previous, today)
    assert (message is None) == (previous == today.isoformat())
    assert message is None or (today.isoformat() in message and log_file(today) in message)
