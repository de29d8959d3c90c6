"""When to dream: the time gate as a table, and how often sessions are counted."""

import os
from dataclasses import replace

import pytest
from tests.place import NOON, FixedClock, Place

from reverie.context import NotDue
from reverie.learning.dreaming.dream import due
from reverie.learning.dreaming.gates import (
    REST_SECONDS,
    SCAN_EVERY,
    Due,
    Gates,
    Thresholds,
    gate_with_rest,
    gates_for,
    lock_of,
    too_early,
)

HOUR = 3600.0

TIMES = {
    "never dreamt": (None, True),
    "just now": (NOON, False),
    "almost a day": (NOON - 24 * HOUR + 1, False),
    "a day": (NOON - 24 * HOUR, True),
    "long ago": (1.0, True),
    "a clock a little ahead": (NOON + 60, False),
    "a clock five minutes ahead": (NOON + 300, False),
    "a clock further ahead": (NOON + 301, True),
    "a time that cannot be": (NOON + 30 * 24 * HOUR, True),
}


@pytest.mark.parametrize("name", TIMES)
def test_the_time(name: str) -> None:
    last, expected = TIMES[name]
    assert (too_early(last, NOON, 24) is None) is expected


def test_what_is_said_of_a_dream_that_a_clock_puts_ahead() -> None:
    assert too_early(NOON + 60, NOON, 24) == NotDue("the last dream was 0.0 h ago, under 24 h")
    assert too_early(NOON - 5400, NOON, 2.5) == NotDue("the last dream was 1.5 h ago, under 2.5 h")


def test_a_day_and_five_sessions_are_the_usual_gates() -> None:
    assert Thresholds() == Thresholds(hours=24.0, sessions=5)
    assert (REST_SECONDS, SCAN_EVERY) == (3_600, 600)


def test_which_sessions_count(place: Place) -> None:
    app = place.app("dream.hours=1", "dream.sessions=2")
    since = gates_for(app, app.memory(), "mine").sessions_since
    assert since(0.0) == 0
    for folder, names in (
        (app.project.sessions, ("mine.jsonl", "a.jsonl", "b.jsonl", "old.jsonl", "notes.txt")),
        (app.project.folder / "hooks", ("c", "d", "old")),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            (folder / name).write_text("x")
            moment = NOON if name.startswith("old") else NOON + 1
            os.utime(folder / name, (moment, moment))
    assert since(NOON) == 4
    assert since(NOON - 1) == 6
    assert since(NOON + 1) == 0
    assert gates_for(app, app.memory(), "mine").thresholds == Thresholds(1, 2)


def test_the_lock_lies_beside_our_memories_and_never_among_those_of_others(place: Place) -> None:
    ours = place.app().memory().place
    assert lock_of(ours, place.clock).path == ours.directory / ".consolidate-lock"
    theirs = replace(ours, directory=place.person / "theirs")
    assert lock_of(theirs, place.clock).path == ours.state / ".consolidate-lock"


class CountedSessions:
    """A number of sessions, and the times from which they were counted."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.counted: list[float] = []

    def since(self, moment: float) -> int:
        self.counted.append(moment)
        return self.number


def gates(sessions: CountedSessions, clock: FixedClock, last: float | None = None) -> Gates:
    return Gates(lambda: last, sessions.since, clock, Thresholds(24, 5))


def test_before_its_time_nothing_is_counted() -> None:
    sessions = CountedSessions(50)
    found = gates(sessions, FixedClock(), NOON - HOUR).due()
    assert found == NotDue("the last dream was 1.0 h ago, under 24 h")
    assert sessions.counted == []


@pytest.mark.parametrize(
    ("number", "expected"),
    [(4, NotDue("4 of 5 sessions since the last dream")), (5, Due(None, 5)), (60, Due(None, 60))],
)
def test_the_sessions(number: int, expected: object) -> None:
    sessions = CountedSessions(number)
    assert gates(sessions, FixedClock()).due() == expected
    assert sessions.counted == [0.0]


def test_sessions_are_counted_once_in_ten_minutes() -> None:
    clock, sessions = FixedClock(), CountedSessions(1)
    asked = gates(sessions, clock)
    for _ in range(3):
        asked.due()
    assert len(sessions.counted) == 1
    clock.advance(SCAN_EVERY)
    asked.due()
    assert len(sessions.counted) == 2
    clock.advance(-HOUR)
    asked.due()
    assert len(sessions.counted) == 3


def test_a_switch_closes_them_all() -> None:
    sessions = CountedSessions(50)
    assert due(gates(sessions, FixedClock()), enabled=False) == NotDue("dreams are off")
    assert sessions.counted == []


def test_a_try_at_the_end_of_a_turn_is_followed_by_an_hour_of_rest(place: Place) -> None:
    app = place.app("dream.hours=24", "dream.sessions=0")
    memory = app.memory()

    def due_now() -> Due | NotDue:
        return gate_with_rest(app, memory, "s0")()

    assert isinstance(due_now(), Due)
    place.clock.advance(REST_SECONDS - 1)
    assert due_now() == NotDue("the last try was less than an hour ago")
    place.clock.advance(1)
    assert isinstance(due_now(), Due)
