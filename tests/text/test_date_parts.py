"""Parts of months and weeks, feasts, spans and sentence openings, in four languages, on Wednesday 2026-11-18."""

from __future__ import annotations

from datetime import date

import pytest

from reverie.text.date_parts import easter_sunday
from reverie.text.dates import absolute_dates
from reverie.text.validity import validity

WEDNESDAY = date(2026, 11, 18)

CHANGE = [
    # the end of a month
    ("Bis Ende März ist die Straße gesperrt", "Bis 2027-03-31 ist die Straße gesperrt"),
    ("Jusqu'à fin mars la rue est fermée", "Jusqu'au 2027-03-31 la rue est fermée"),
    ("Hasta finales de marzo la calle está cerrada", "Hasta el 2027-03-31 la calle está cerrada"),
    # a part of a month keeps its words
    ("We move mid-December", "We move mid-December 2026"),
    ("The new office opens in mid-December", "The new office opens in mid-December 2026"),
    ("Ende März ziehen wir um", "Ende März 2027 ziehen wir um"),
    ("Bis Mitte März ist die Straße gesperrt", "Bis Mitte März 2027 ist die Straße gesperrt"),
    ("Fin mars nous déménageons", "Fin mars 2027 nous déménageons"),
    ("Nous déménageons mi-décembre", "Nous déménageons mi-décembre 2026"),
    (
        "Hasta mediados de marzo no hay obras en la calle",
        "Hasta mediados de marzo de 2027 no hay obras en la calle",
    ),
    # the end of a week
    ("By the end of the week I need it", "By the end of the week of 2026-11-16 I need it"),
    (
        "Until the end of next week the lift is out",
        "Until the end of the week of 2026-11-23 the lift is out",
    ),
    (
        "Bis Ende der Woche ist der Lift kaputt",
        "Bis Ende der Woche vom 2026-11-16 ist der Lift kaputt",
    ),
    (
        "D'ici la fin de la semaine il faut les photos",
        "D'ici la fin de la semaine du 2026-11-16 il faut les photos",
    ),
    (
        "Hasta el final de la semana no hay ascensor",
        "Hasta el final de la semana del 2026-11-16 no hay ascensor",
    ),
    ("Ab nächster Woche gilt der Plan", "Ab der Woche vom 2026-11-23 gilt der Plan"),
    ("Übernächste Woche ist die Messe", "Die Woche vom 2026-11-30 ist die Messe"),
    # the end of this month
    ("Bis Ende des Monats ist die Straße zu", "Bis 2026-11-30 ist die Straße zu"),
    ("Jusqu'à la fin du mois la cantine est fermée", "Jusqu'au 2026-11-30 la cantine est fermée"),
    ("Hasta fin de mes la cantina está cerrada", "Hasta el 2026-11-30 la cantina está cerrada"),
    # spans
    ("In zwei Wochen beginnt die Messe", "Am 2026-12-02 beginnt die Messe"),
    ("Das Paket kommt in drei Tagen", "Das Paket kommt am 2026-11-21"),
    ("Dentro de dos semanas empieza la feria", "El 2026-12-02 empieza la feria"),
    ("En dos semanas empieza la feria", "El 2026-12-02 empieza la feria"),
    # a month from which something holds
    ("From April on the meeting is in room 4", "From 2027-04 on the meeting is in room 4"),
    ("From 1 January Ravi is the treasurer", "From 2027-01-01 Ravi is the treasurer"),
    ("Tariff B applies from February", "Tariff B applies from 2027-02"),
    ("Jana works part-time from February.", "Jana works part-time from 2027-02."),
    (
        "À partir de mai Jana travaille quatre jours",
        "À partir de 2027-05 Jana travaille quatre jours",
    ),
    # feasts keep their names
    ("Until Easter the pool is closed", "Until Easter (2027-03-28) the pool is closed"),
    ("Bis Ostern ist das Becken zu", "Bis Ostern (2027-03-28) ist das Becken zu"),
    ("Jusqu'à Pâques la piscine est fermée", "Jusqu'à Pâques (2027-03-28) la piscine est fermée"),
    ("Hasta Navidad no hay clases en la escuela", "Hasta Navidad (2026-12-25) no hay clases en la escuela"),
    ("Before Christmas we ship 2.0", "Before Christmas (2026-12-25) we ship 2.0"),
    ("We will visit Gran at Christmas", "We will visit Gran at Christmas (2026-12-25)"),
    ("À Noël nous irons chez mamie et papi", "À Noël (2026-12-25) nous irons chez mamie et papi"),
    ("After New Year the shop moves", "After New Year (2027-01-01) the shop moves"),
    ("Nach Neujahr zieht der Laden um", "Nach Neujahr (2027-01-01) zieht der Laden um"),
    ("Since Christmas the boiler leaks", "Since Christmas (2025-12-25) the boiler leaks"),
    # a day of a month beside a verb in the present
    ("The choir sings in Delft on 9 February", "The choir sings in Delft on 2027-02-09"),
    ("Ana has her driving test on 9 February", "Ana has her driving test on 2027-02-09"),
    ("The school trip is on 21 June", "The school trip is on 2027-06-21"),
    ("Das Konzert ist am 9. Februar", "Das Konzert ist am 2027-02-09"),
    ("Le concert est le 9 février", "Le concert est le 2027-02-09"),
    ("El concierto es el 9 de febrero", "El concierto es el 2027-02-09"),
    ("Ravi takes over on 1 January", "Ravi takes over on 2027-01-01"),
    ("Ravi übernimmt am 1. Januar die Kasse", "Ravi übernimmt am 2027-01-01 die Kasse"),
    ("Ravi devient trésorier le 1er janvier", "Ravi devient trésorier le 2027-01-01"),
    ("Ana tiene su examen el 9 de febrero", "Ana tiene su examen el 2027-02-09"),
    # the preposition of a rewritten phrase
    ("Next Tuesday the substation gets relays", "On 2026-11-24 the substation gets relays"),
    ("- Tomorrow the plumber comes", "- On 2026-11-19 the plumber comes"),
    ("Demain le plombier passe à la maison", "Le 2026-11-19 le plombier passe à la maison"),
    ("Übermorgen kommt der Klempner und misst", "Am 2026-11-20 kommt der Klempner und misst"),
    ("I moved to Ghent last month", "I moved to Ghent in 2026-10"),
    ("We moved last October", "We moved in 2026-10"),
    ("Next month the team moves", "In 2026-12 the team moves"),
    ("Je l'ai vu le mois dernier", "Je l'ai vu en 2026-10"),
    ("El mes pasado me mudé a Gante", "En 2026-10 me mudé a Gante"),
    ("Nächsten Monat ist das Büro zu", "In 2026-12 ist das Büro zu"),
    # a phrase with a preposition, or as a subject, needs none
    ("Tomorrow is the demo", "2026-11-19 is the demo"),
    ("The plan for next month is ready", "The plan for 2026-12 is ready"),
    ("Next month's plan is ready", "2026-12's plan is ready"),
]  # fmt: skip

STAY = [
    "three times a day from now on",
    "We met in mid-December",
    "Mitte Mai war es kalt",
    "She is from May",
    "Send me the letter from May",
    "The invoice from February is unpaid",
    "The lease from February to June is signed",
    "The report was written by the end of the week",
    "We were in Rome until Christmas",
    "Every year until Easter we fast",
    "At Christmas we always go to Gran",
    "We buy gifts before Christmas Island is full",
    "Since Christmas 2024 the boiler leaks",
    "The dog is called Easter",
    "We celebrate Ana's name day on 26 July",
    "Ana put the key away on 3 May",
    "Ana hat ihren Job am 3. Mai verloren",
    "Cambiamos de oficina el 3 de mayo",
    "Die Tokens laufen in 30 Tagen ab",
    "Das Backup wurde in drei Tagen fertig",
    "Se aprende en dos semanas",
    "El fin de semana no hay nadie en la oficina",
]


@pytest.mark.parametrize(("text", "after"), CHANGE)
def test_a_date_in_it(text: str, after: str) -> None:
    assert absolute_dates(text, WEDNESDAY)[0] == after
    assert absolute_dates(after, WEDNESDAY)[0] == after


@pytest.mark.parametrize("text", STAY)
def test_no_date_in_it(text: str) -> None:
    assert absolute_dates(text, WEDNESDAY) == (text, ())


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Until Easter the pool is closed", None, date(2027, 3, 28)),
        ("Bis Ende März ist die Straße gesperrt", None, date(2027, 3, 31)),
        ("Until the end of the week the lift is out", None, date(2026, 11, 22)),
        ("Hasta el final de la semana no hay ascensor", None, date(2026, 11, 22)),
        ("Ravi takes over as treasurer on 1 January", date(2027, 1, 1), None),
        ("From 1 January Ravi is the treasurer", date(2027, 1, 1), None),
        ("Ravi wird am 1. Januar Kassenwart", date(2027, 1, 1), None),
        ("Ravi devient trésorier le 1er janvier", date(2027, 1, 1), None),
        ("Ravi asume la tesorería el 1 de enero", date(2027, 1, 1), None),
        ("Tariff B applies from February", date(2027, 2, 1), None),
        # Ana is the treasurer already.
        ("Ana is the treasurer, Ravi takes over on 1 January", None, None),
        ("Ravi takes over the flat on Mill Street, he is a nurse", None, None),
        ("I am moving to Ghent next month", None, None),
    ],
)
def test_when_it_holds(text: str, first: date | None, last: date | None) -> None:
    found = validity(text, WEDNESDAY)
    assert (found.valid_from, found.valid_until) == (first, last)


@pytest.mark.parametrize(
    ("year", "month", "day"),
    [(1818, 3, 22), (1943, 4, 25), (2000, 4, 23), (2024, 3, 31), (2027, 3, 28), (2038, 4, 25)],
)
def test_easter(year: int, month: int, day: int) -> None:
    assert easter_sunday(year) == date(year, month, day)
