"""Age in words."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from reverie.memory.format import attachment
from reverie.memory.format.attachment import caveat, words

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (-3, "today"),
        (0, "today"),
        (1, "yesterday"),
        (2, "2 days ago"),
        (3, "3 days ago"),
        (13, "13 days ago"),
        (14, "2 weeks ago"),
        (35, "5 weeks ago"),
        (60, "8 weeks ago"),
        (61, "2 months ago"),
        (400, "13 months ago"),
        (730, "2 years ago"),
        (3700, "10 years ago"),
    ],
)
def test_words(days, expected):
    assert words(NOW - timedelta(days=days), NOW) == expected


def test_a_late_evening_is_yesterday_an_hour_after_midnight():
    now = datetime(2026, 11, 15, 1, 0)
    assert words(datetime(2026, 11, 14, 23, 30), now) == "yesterday"


def test_days_are_counted_where_the_reader_is():
    tokyo = timezone(timedelta(hours=9))
    then = datetime(2026, 11, 14, 16, 0, tzinfo=UTC)
    assert words(then, datetime(2026, 11, 15, 9, 0, tzinfo=tokyo)) == "today"


@pytest.mark.parametrize(
    ("hours", "expected"), [(-5, False), (0, False), (24, False), (25, True), (900, True)]
)
def test_only_what_is_older_than_a_day_carries_a_caveat(hours, expected):
    text = caveat(NOW - timedelta(hours=hours), NOW)
    assert (text is not None) == expected


def test_the_caveat_says_when_and_what_to_do():
    text = caveat(NOW - timedelta(days=3), NOW)
    assert text.startswith("Saved 3 days ago:")
    assert "file:line" in text
    assert "check before" in text


# --- period of validity ---

NOON = datetime(2026, 11, 1, 12).astimezone()


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, ""),
        ("2026-11-01", "2026-11-01", ""),
        (None, "2026-10-31", "expired 2026-10-31"),
        ("2026-11-02", None, "from 2026-11-02"),
        ("2020-01-01", "2020-02-01T10:00:00Z", "expired 2020-02-01"),
        ("2027-01-01T00:00:00Z", None, "from 2027-01-01"),
        ("0001-01-01", "9999-12-31", ""),
        ("soon", "later", ""),
    ],
)
def test_a_day_counts_to_its_end(first, last, expected):
    assert attachment.term(first, last, NOON) == expected


def test_limits_in_words():
    assert attachment.holds("2026-12-20", "2027-01-06") == "holds from 2026-12-20 until 2027-01-06"
    assert attachment.holds(None, "2026-11-01") == "holds until 2026-11-01"
    # The time of a replacement is not a limit that the user gave.
    assert attachment.holds("2026-11-01T12:00:00+00:00", None) == ""


def test_the_day_before():
    assert attachment.day_before("2026-11-01") == "2026-10-31"
    assert attachment.day_before("2026-11-01T12:00:00Z") == "2026-11-01T12:00:00Z"
    assert (attachment.day_before(None), attachment.day_before("0001-01-01")) == (
        None,
        "0001-01-01",
    )


def test_a_time_without_a_zone_is_in_utc():
    assert attachment.over_at("2026-11-15T12:00") == NOW
    east = timezone(timedelta(hours=9))
    assert attachment.over_at("2026-11-15T21:00+09:00") == NOW.astimezone(east)
    assert attachment.expired("2026-11-15T21:00+09:00", NOW + timedelta(minutes=1))
    assert not attachment.expired("2026-11-15T12:00", NOW - timedelta(minutes=1))


@pytest.mark.parametrize(
    ("then", "zone", "days"),
    [
        # A time without a zone is taken as it stands.
        (datetime(2026, 11, 14, 23, 30), timezone(timedelta(hours=14)), 1),
        (datetime(2026, 11, 14, 23, 30), timezone(timedelta(hours=-12)), 1),
        (datetime(2026, 11, 14, 23, 30, tzinfo=UTC), timezone(timedelta(hours=14)), 0),
        (datetime(2026, 11, 14, 23, 30, tzinfo=UTC), None, 1),
    ],
)
def test_days_are_counted_where_one_is(then, zone, days):
    assert attachment.days_between(then, datetime(2026, 11, 15, 0, 30, tzinfo=zone)) == days


@pytest.mark.parametrize(
    ("seconds", "expired", "pending"), [(-1, False, True), (0, True, False), (1, True, False)]
)
def test_a_moment_belongs_to_what_follows_it(seconds, expired, pending):
    moment = datetime(2026, 11, 14, 10, tzinfo=UTC)
    now = moment + timedelta(seconds=seconds)
    assert attachment.expired(moment.isoformat(), now) is expired
    assert attachment.pending(moment.isoformat(), now) is pending
