"""When a note holds, from its own words: said on Sunday 2026-11-15."""

from __future__ import annotations

import json
import os
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.text.validity import Validity, validity

SUNDAY = date(2026, 11, 15)
PERIODS = (
    Path(os.environ.get("REVERIE_DATA", Path(__file__).parents[2] / "../shared/data"))
    / "dates/DatePeriodParser.json"
)


def told(text: str, said: date = SUNDAY) -> tuple[str, str]:
    found = validity(text, said)
    return str(found.valid_from or ""), str(found.valid_until or "")


HOLDS = [
    # an end
    ("No deploys until 1 December.", "", "2026-12-01"),
    ("No deploys through Friday.", "", "2026-11-20"),
    ("Until tomorrow use port 8443.", "", "2026-11-16"),
    ("Freeze the schema until the audit on 2026-11-24.", "", "2026-11-24"),
    ("The price is 5 euros until the end of March.", "", "2027-03-31"),
    ("The staging cluster is down until 20 November 2026.", "", "2026-11-20"),
    ("The licence is valid until May 5, 2027.", "", "2027-05-05"),
    ("The trial expires on 2026-11-30.", "", "2026-11-30"),
    ("For the next two weeks I'm on call.", "", "2026-11-29"),
    ("Until Friday, every deploy needs a second pair of eyes.", "", "2026-11-20"),
    ("It was decided to freeze the schema until 2026-12-01.", "", "2026-12-01"),
    ("Bis 1. Dezember gilt ein Codefreeze.", "", "2026-12-01"),
    ("Der Vertrag läuft bis zum 31.12.2027.", "", "2027-12-31"),
    ("Jusqu'au 1er décembre, pas de déploiement.", "", "2026-12-01"),
    ("Hasta el 1 de diciembre no desplegamos.", "", "2026-12-01"),
    # a beginning
    ("From Monday on we use pnpm.", "2026-11-16", ""),
    ("Starting 2027-01-01 we bill in euros.", "2027-01-01", ""),
    ("Starting Monday, every pull request needs two reviews.", "2026-11-16", ""),
    ("As of 2026-12-01 the limit is 50.", "2026-12-01", ""),
    ("The flag is no longer needed from 2027-06-01.", "2027-06-01", ""),
    ("Since 2026-10-01 we use pnpm.", "2026-10-01", ""),
    ("Ab Montag gilt der neue Prozess.", "2026-11-16", ""),
    ("À partir de lundi, on utilise pnpm.", "2026-11-16", ""),
    ("A partir del lunes usamos pnpm.", "2026-11-16", ""),
    ("Desde el lunes usaremos pnpm.", "2026-11-16", ""),
    # both
    ("No releases from 20 December to 6 January.", "2026-12-20", "2027-01-06"),
    ("The office is closed between 24 December and 1 January.", "2026-12-24", "2027-01-01"),
    ("Vom 20. Dezember bis 6. Januar gibt es keine Releases.", "2026-12-20", "2027-01-06"),
    ("Pas de livraison du 20 décembre au 6 janvier.", "2026-12-20", "2027-01-06"),
    ("No hay despliegues del 20 de diciembre al 6 de enero.", "2026-12-20", "2027-01-06"),
    ("Next week I'm on vacation.", "2026-11-16", "2026-11-22"),
    ("No deploys next month.", "2026-12-01", "2026-12-31"),
    ("I'm out of office next Friday.", "2026-11-20", "2026-11-20"),
    # a plan is known before its time comes
    ("Audrey is planning a hike next month.", "", "2026-12-31"),
    # what has begun has only an end
    ("This week I'm on call.", "", "2026-11-15"),
    ("No deploys this week.", "", "2026-11-15"),
    ("Use the backup server only today.", "", "2026-11-15"),
    ("During November the schema is frozen.", "", "2026-11-30"),
    ("Diese Woche bin ich im Urlaub.", "", "2026-11-15"),
    ("Cette semaine je suis absent.", "", "2026-11-15"),
    ("Esta semana estoy de vacaciones.", "", "2026-11-15"),
    ("Nur heute: Kantine geschlossen", "", "2026-11-15"),
    # events and deadlines are over the day after
    ("The demo is on Friday.", "", "2026-11-20"),
    ("The demo is in two weeks.", "", "2026-11-29"),
    ("We will meet Mira on Thursday.", "", "2026-11-19"),
    ("The report is due on Friday.", "", "2026-11-20"),
    ("The deadline is 3 May.", "", "2027-05-03"),
    ("Die Frist ist am 3. Mai.", "", "2027-05-03"),
    # a reason below does not matter
    ("No schema changes until 2026-11-24.\n\n**Why:** never trust a moving target.", "", "2026-11-24"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "first", "last"), HOLDS)
def test_its_words_say_when_it_holds(text: str, first: str, last: str) -> None:
    assert told(text) == (first, last)


ALWAYS = [
    # habits
    "We deploy every Friday.",
    "On Fridays we do not deploy.",
    "The weekly demo is on Friday.",
    "The office is open Monday through Friday.",
    # history
    "It was down until Friday.",
    "We used pnpm until yesterday.",
    "The data from 2026-01-01 to 2026-03-31 is in S3.",
    "Mira was on leave from 2026-10-01 to 2026-10-20.",
    # what changes stays changed
    "Mira joins next week.",
    "We switch to pnpm next week.",
    "By end of March the old API goes away.",
    "The demo moved from 2026-11-20 to 2026-11-27.",
    # dates that are not about the rule
    "The release notes for 2026-11 are in docs.",
    "Next month is too late for the audit.",
    "See the report from 2026-12-01 for the numbers.",
    'Mira said "until 2026-12-01" is too late.',
    "Run `at 2026-12-01 until 2026-12-02`.",
    "I'll be out from 4 to 23 next month.",
    "What is the limit as of 1 December 2026?",
    "Andrew wants to check out a cozy cafe on Friday.",
    # a rule of its own beside it
    "We freeze deploys until 2026-11-24. Always use pnpm.",
    "Use pnpm. The demo is on 2026-11-20.",
    "",
    "until",
]


@pytest.mark.parametrize("text", ALWAYS)
def test_no_limit_is_made_up(text: str) -> None:
    assert told(text) == ("", "")


# A date in one clause does not limit what another clause states.
BESIDE = [
    "The car insurance is with Helvion, renewal is due on 15 January.",
    "The car insurance is with Helvion and the renewal is due on 15 January.",
    "Our dentist is Dr Moor; the next appointment is on 3 December.",
    "Rent goes to Kestrel Homes, due on 2026-12-01.",
    "The server is hosted at Orbo and the contract ends on 31 March.",
    "Ana, whose interview is on Friday, lives in Ghent.",
    "The demo is on Friday and Ana is the new designer.",
    "The gym is on Mill Street, it is closed until 4 January.",
    "Jana lives in Ghent and she works four days from 2027-02-01.",
    "Die Autoversicherung ist bei Helvion, die Frist ist am 15. Januar.",
    "Die Autoversicherung ist bei Helvion, fällig am 15. Januar.",
    "Ana wohnt in Gent und ihre Prüfung ist am 3. Dezember.",
    "L'assurance auto est chez Helvion, l'échéance est le 15 janvier.",
    "Le garage est chez Orbo et le contrat expire le 31 mars 2027.",
    "El seguro del coche es con Helvion, el plazo vence el 15 de enero.",
    "Ana vive en Gante y su entrevista es el 3 de diciembre.",
]


@pytest.mark.parametrize("text", BESIDE)
def test_a_date_in_one_clause_does_not_limit_another(text: str) -> None:
    assert told(text) == ("", "")


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("The demo is on Friday, at ten in the big room.", "2026-11-20"),
        ("The demo with Ana and Bo is on Friday.", "2026-11-20"),
        ("The insurance renewal is due on 15 January.", "2027-01-15"),
        ("No deploys until 1 December, the release branch is frozen.", "2026-12-01"),
        ("The gym is closed until 4 January, so we run outside.", "2027-01-04"),
        ("Der Vertrag endet am 31. März 2027.", "2027-03-31"),
    ],
)
def test_a_sentence_about_one_event_ends_with_it(text: str, last: str) -> None:
    assert told(text) == ("", last)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Use the old endpoint for the next release.", "for the next release"),
        ("No refactoring next sprint.", "next sprint"),
        ("Until further notice, ask Mira before merging.", "Until further notice"),
        ("Bis auf weiteres ist die Kantine zu.", "Bis auf weiteres"),
        ("Por ahora no hay servicio.", "Por ahora"),
    ],
)
def test_words_without_a_day_are_kept_as_words(text: str, words: str) -> None:
    assert validity(text, SUNDAY) == Validity(words=(words,))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Until Friday no deploys, starting 3 May again",
            ("starting 2027-05-03", "Until 2026-11-20"),
        ),
        ("Bis Freitag keine Deploys, ab 3. Mai wieder.", ("ab 2027-05-03", "Bis 2026-11-20")),
    ],
)
def test_a_beginning_after_the_end_gives_no_day(text: str, words: tuple[str, ...]) -> None:
    assert validity(text, SUNDAY) == Validity(words=words)


def test_the_words_that_say_so_are_told() -> None:
    found = validity("Starting Monday, no deploys until 1 December", SUNDAY)
    assert found.words == ("Starting 2026-11-16", "until 2026-12-01")


def test_a_range_that_is_going_on_ends_with_this_one() -> None:
    assert told("No releases from 20 December to 6 January.", date(2026, 12, 28)) == (
        "",
        "2027-01-06",
    )


@given(st.text(), st.dates(date(1900, 1, 1), date(2200, 1, 1)))
def test_any_text_on_any_day(text: str, said: date) -> None:
    validity(text, said)


@given(st.sampled_from([text for text, *_ in HOLDS]), st.dates(date(2000, 1, 1), date(2100, 1, 1)))
def test_nothing_is_born_expired_or_ends_before_it_begins(text: str, said: date) -> None:
    found = validity(text, said)
    if found.valid_until is not None:
        assert found.valid_until >= max(said, found.valid_from or said)


@pytest.mark.skipif(
    not PERIODS.exists(), reason=f"date phrases not found at {PERIODS} (set REVERIE_DATA)"
)
def test_public_periods_are_read_right_or_not_at_all() -> None:
    right, wrong = 0, []
    for case in json.loads(PERIODS.read_text("utf-8")):
        if "Context" not in case:
            continue
        found = validity(case["Input"], _day(case["Context"]["ReferenceDateTime"]))
        if found.valid_from or found.valid_until:
            fits = any(_fits(found, result["Value"]) for result in case["Results"])
            right += fits
            wrong += [] if fits else [case["Input"]]
    # Those that differ: an end that is a month means its last day here, its first day there.
    assert right >= 19
    assert len(wrong) <= 3, wrong


def _fits(found: Validity, value: dict[str, dict[str, str]]) -> bool:
    for side in ("FutureResolution", "PastResolution"):
        span = value.get(side, {})
        first = found.valid_from is None or str(found.valid_from) == span.get("startDate")
        ends = {span.get("endDate")}
        if span.get("endDate", "")[:4].isdigit():
            ends.add(str(_day(span["endDate"]) - timedelta(days=1)))
        if first and (found.valid_until is None or str(found.valid_until) in ends):
            return True
    return False


def _day(text: str) -> date:
    return date.fromisoformat(text[:10])
