"""Relative dates become dates; everything else stays as it was."""

import json
import os
import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.text.dates import DateChange, absolute_dates

SUNDAY = date(2026, 11, 15)
CORPUS = (
    Path(os.environ.get("REVERIE_DATA", Path(__file__).parents[2] / "../shared/data"))
    / "dates/DateParser.json"
)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("The freeze starts next Thursday.", "The freeze starts 2026-11-19."),
        ("We ship tomorrow", "We ship 2026-11-16"),
        ("The day after tomorrow we rest", "On 2026-11-17 we rest"),
        ("It broke yesterday, or the day before yesterday", "It broke 2026-11-14, or 2026-11-13"),
        ("Today's demo", "2026-11-15's demo"),
        (
            "It failed last night and this morning",
            "It failed the night of 2026-11-14 and the morning of 2026-11-15",
        ),
        ("Tonight we deploy", "The night of 2026-11-15 we deploy"),
        ("Decided two weeks ago", "Decided on 2026-11-01"),
        ("since 3 days ago", "since 2026-11-12"),
        ("a year and 2 months ago", "on 2025-09-15"),
        ("Ready two weeks from now", "Ready on 2026-11-29"),
        ("3 business days from today", "on 2026-11-18"),
        ("2 working days ago", "on 2026-11-12"),
        ("two days before yesterday", "on 2026-11-12"),
        ("The demo is in 3 weeks", "The demo is on 2026-12-06"),
        ("I'll be back in two weeks' time", "I'll be back on 2026-11-29"),
        ("this Friday", "2026-11-20"),
        ("this coming Sunday", "2026-11-22"),
        ("last Friday", "2026-11-13"),
        ("last Sunday", "2026-11-08"),
        ("Tuesday next week", "2026-11-17"),
        ("next week on Friday", "2026-11-20"),
        ("on Sunday of this week", "2026-11-15"),
        ("The report is due Friday", "The report is due 2026-11-20"),
        ("We will meet on Monday", "We will meet on 2026-11-16"),
        ("We met on Monday", "We met on 2026-11-09"),
        ("Down since Thursday", "Down since 2026-11-12"),
        ("Done by Monday", "Done by 2026-11-16"),
        ("It will start on March 5", "It will start on 2027-03-05"),
        ("It started on Oct. 2nd", "It started on 2026-10-02"),
        ("Due by the 5th of March", "Due by 2027-03-05"),
        ("It will be Feb 29", "It will be 2028-02-29"),
        ("Pay by the 20th", "Pay by 2026-11-20"),
        ("We met Friday the 13th", "We met 2026-11-13"),
        ("the 20th of next month", "2026-12-20"),
        ("the first Friday of next month", "2026-12-04"),
        ("the last Friday of this month", "2026-11-27"),
        ("next week", "the week of 2026-11-16"),
        ("last weekend", "the weekend of 2026-11-07"),
        ("next month, last quarter, this year", "2026-12, 2026-Q3, 2026"),
        ("next quarter", "2027-Q1"),
        ("the year after next", "2028"),
        ("the end of the month", "2026-11-30"),
        ("start of next quarter", "2027-01-01"),
        ("end of last year", "2025-12-31"),
        ("next June and last September and this December", "2027-06 and 2026-09 and 2026-12"),
        (
            "Die Freigabe ist nächsten Donnerstag und wir starten morgen",
            "Die Freigabe ist am 2026-11-19 und wir starten 2026-11-16",
        ),
        (
            "Das war am letzten Freitag, vor zwei Wochen und vor 3 Tagen",
            "Das war am 2026-11-13, am 2026-11-01 und am 2026-11-12",
        ),
        (
            "La réunion est jeudi prochain, dans 3 semaines",
            "La réunion est le 2026-11-19, le 2026-12-06",
        ),
        (
            "Le serveur est tombé hier, il y a un an",
            "Le serveur est tombé 2026-11-14, le 2025-11-15",
        ),
        (
            "El plan es para el próximo jueves y hace dos meses",
            "El plan es para el 2026-11-19 y el 2026-09-15",
        ),
        (
            "La reunión es el jueves que viene, no ayer",
            "La reunión es el 2026-11-19, no 2026-11-14",
        ),
    ],
)
def test_made_absolute(text, after):
    assert absolute_dates(text, SUNDAY)[0] == after


@pytest.mark.parametrize(
    "text",
    [
        # absolute already
        "The audit is on 2026-11-24.",
        "On Tuesday 2026-11-24 and May 5, 2024 and 5 May 2024",
        "next Thursday (2026-11-19)",
        "2026-11-19 (next Thursday)",
        "Monday, January 12, 2026",
        # somebody's exact words, code, addresses
        "Run `git log --since yesterday`",
        'Mira said "next week"',
        "Mira said “tomorrow” and ‘next Friday’",
        "> we ship tomorrow",
        "```\ntoday\n```",
        "https://example.org/next week/today and notes/today.md",
        "see [[next week]] and [plan](next week)",
        "the today_view and next-day delivery, today-ish",
        # habits
        "Never deploy on Friday.",
        "We deploy on Friday",
        "The report goes out every Monday; on Mondays we rest",
        "Her birthday is on May 3",
        "The last Friday of every month we demo",
        "The invoice is always due Friday",
        "on Monday mornings",
        # durations and vague
        "Tokens expire in 30 days",
        "It took 3 days; it was done in 3 days",
        "a few days ago, some weeks ago, in the last month, over the next year",
        "the next day, the last Monday of the project",
        # words that only look like dates
        "I may march on; the second sun sat on wed",
        "May 35 will not come",
        "",
        # other languages
        "Wir sind hier und das ist der Morgen, heute morgen nicht",
        "Es por la mañana y no en la tarde",
    ],
)
def test_left_alone(text):
    after, changes = absolute_dates(text, SUNDAY)
    assert (after, changes) == (text, ())


def test_what_was_changed_is_told():
    after, changes = absolute_dates("Next Thursday, then tomorrow.", SUNDAY)
    assert after == "2026-11-19, then 2026-11-16."
    assert changes == (
        DateChange("Next Thursday", "2026-11-19", 0),
        DateChange("tomorrow", "2026-11-16", 20),
    )


def test_near_the_end_of_time_nothing_breaks():
    assert absolute_dates("It will end in 999 years", date(9999, 12, 31))[1] == ()
    assert absolute_dates("Das ist vor 999 Jahren und der Rest", date(500, 1, 1))[1] == ()


@given(st.text(), st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_any_text_on_any_day(text, today):
    absolute_dates(text, today)


_PHRASES = st.sampled_from(
    [
        "next Friday",
        "tomorrow",
        "3 days ago",
        "last week",
        "by Monday",
        "Friday the 13th",
        "will",
        "on May 31",
        "the end of next month",
        "this weekend",
        "the last Monday of next month",
        "in 2 months",
        "31st of this month",
        "next May",
        "was",
        ".",
    ]
)


@given(st.lists(_PHRASES).map(" ".join), st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_a_second_pass_never_touches_a_date(text, today):
    once, _ = absolute_dates(text, today)
    _, changes = absolute_dates(once, today)
    assert [change for change in changes if re.search(r"\d{4}-\d{2}-\d{2}", change.before)] == []


@pytest.mark.skipif(
    not CORPUS.exists(), reason=f"date phrases not found at {CORPUS} (set REVERIE_DATA)"
)
def test_public_date_phrases_are_never_resolved_wrongly():
    right, wrong = 0, []
    for case in json.loads(CORPUS.read_text("utf-8")):
        today = date.fromisoformat(case["Context"]["ReferenceDateTime"][:10])
        values = [result["Value"] for result in case["Results"]]
        expected = {
            v[side]["date"] for v in values for side in ("FutureResolution", "PastResolution")
        }
        _, changes = absolute_dates(case["Input"], today)
        found = {match for c in changes for match in re.findall(r"\d{4}-\d\d-\d\d", c.after)}
        right += bool(found & expected)
        if found - expected:
            wrong.append((case["Input"], found))
    assert wrong == []
    assert right >= 50


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("Tickets are 20 euros from September on", "Tickets are 20 euros from 2027-09 on"),
        ("The freeze holds until March", "The freeze holds until 2027-03"),
        ("Starting December invoices go by mail", "Starting 2026-12 invoices go by mail"),
        ("Since May Jonas runs the bar", "Since 2026-05 Jonas runs the bar"),
        ("Nadia was away until March", "Nadia was away until 2026-03"),
        ("Closed until the end of January", "Closed until 2027-01-31"),
        ("The bar was closed until the end of January", "The bar was closed until 2026-01-31"),
        ("Das Lager bleibt bis März zu", "Das Lager bleibt bis 2027-03 zu"),
        ("Depuis mai c'est Jonas qui tient le bar", "Depuis 2026-05 c'est Jonas qui tient le bar"),
        ("A partir de abril cobramos 20 euros", "A partir de 2027-04 cobramos 20 euros"),
    ],
)
def test_a_month_that_limits_gets_its_year(text, after):
    assert absolute_dates(text, SUNDAY)[0] == after


@pytest.mark.parametrize(
    "text",
    [
        "The letter from May on Friday 2026-11-20",
        "The mail from April arrived",
        "We worked from March to June",
        "Every order until March gets a gift",
        "Die Bar war bis März geschlossen",
    ],
)
def test_other_months_stay(text):
    assert absolute_dates(text, SUNDAY)[0] == text
