"""When to dream: the time gate as a table, and how often sessions are counted."""

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
    "a time that cannot be": (NOON + 30 * 24 * HOUR, True),
}


@pytest.mark.parametrize("name", TIMES)
def test_the_time(name: str) -> None:
    last, expected = TIMES[name]
    assert (too_early(last, NOON, 24) is None) is expected


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
