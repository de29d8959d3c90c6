"""Values: one value in all its writings is the same, another of its dimension clashes."""

from __future__ import annotations

import pytest

from reverie.text.likeness import compare
from reverie.text.values import compare_values, values_in
from reverie.text.word_classes import alternatives

SAME = [
    ("english", "three quarters of an hour", "45 min"),
    ("english", "half past four", "16:30"),
    ("english", "quarter to five in the evening", "16:45"),
    ("english", "twice a year", "every six months"),
    ("english", "every other week", "fortnightly"),
    ("english", "a tenth of the price", "10 %"),
    ("english", "one in twenty", "5 percent"),
    ("english", "three hundred hens", "300 hens"),
    ("english", "15,000 dollars", "$15k"),
    ("english", "six weeks", "a month and a half"),
    ("english", "6 February 2019", "2019-02-06"),
    ("english", "on Christmas Eve", "24 December"),
    ("english", "the middle of May", "15 May"),
    ("german", "halb acht", "19:30 Uhr"),
    ("german", "um drei am Nachmittag", "15 Uhr"),
    ("german", "alle zwei Wochen", "14-tägig"),
    ("german", "1.500 Euro im Monat", "1500 € monatlich"),
    ("german", "eine Dreiviertelstunde", "45 Minuten"),
    ("french", "14 h 30", "deux heures et demie de l'après-midi"),
    ("french", "un mètre vingt", "1m20"),
    ("french", "trente jours", "un mois"),
    ("spanish", "una docena de olivos", "12 olivos"),
    ("spanish", "hasta las seis", "hasta las 18:00"),
    ("spanish", "el 1 de enero", "en Año Nuevo"),
    ("english", "2000 MB", "2 GB"),
    ("english", "6 miles", "just under ten kilometres"),
    ("english", "100 acres", "roughly 40 hectares"),
    ("english", "at 4 degrees Celsius", "about 39 °F"),
    ("english", "11 stone", "70 kilos"),
    ("english", "6 feet", "1.83 m"),
    ("english", "born in 1941", "born in '41"),
    ("german", "1500 Quadratmeter", "0,15 Hektar"),
    ("french", "dure une heure et demie", "dure 90 minutes"),
    ("spanish", "dura hora y media", "dura 90 minutos"),
    ("spanish", "a las nueve y media de la noche", "a las 21:30"),
    ("french", "jusqu'en mai 2026", "jusque 05/2026"),
    ("english", "after a minute and a half", "after 90 seconds"),
]


@pytest.mark.parametrize(("language", "ours", "theirs"), SAME)
def test_one_value_in_two_writings_is_the_same(language: str, ours: str, theirs: str) -> None:
    found = compare_values(values_in(ours, language), values_in(theirs, language))
    assert found.common >= 1
    assert not found.clashing


OTHER = [
    ("due on 18 June", "due on 2 July", "date"),
    ("valid until May 2025", "valid until May 2034", "date"),
    ("at 7 am", "at 7 pm", "time"),
    ("30 euros", "35 euros", "sum"),
    ("90 days", "two months", "duration"),
    ("every day", "twice a day", "rate"),
    ("10 MB", "1 GB", "measure"),
    ("0 MB", "1 GB", "measure"),
    # The unit is the same, so nothing was rounded.
    ("80 kg", "81 kg", "measure"),
    ("6 miles", "11 kilometres", "measure"),
    ("on Mondays", "on Tuesdays", "weekday"),
]


@pytest.mark.parametrize(("ours", "theirs", "dimension"), OTHER)
def test_another_value_of_one_dimension_clashes(ours: str, theirs: str, dimension: str) -> None:
    found = compare_values(values_in(ours, "english"), values_in(theirs, "english"))
    assert dimension in found.clashing


def test_a_word_that_is_also_a_month_or_an_article_is_no_value() -> None:
    assert values_in("We may march on, an old man and a mar", "english")[1:] == ()
    assert values_in("mon oncle est là", "french") == ()


def test_the_same_with_its_value_in_other_words_is_told() -> None:
    for old, new in (
        ("Our set lasts three quarters of an hour.", "we play for 45 min"),
        ("300 hens live in the mobile coop.", "The mobile coop houses three hundred hens."),
        ("Der Schwimmkurs beginnt um 15 Uhr.", "Um drei am Nachmittag geht der Schwimmkurs los."),
    ):
        assert compare(new, old).likeness in ("restates", "duplicate")


@pytest.mark.parametrize(
    ("language", "ours", "theirs", "found"),
    [
        ("english", ["slate"], ["zinc"], True),
        ("english", ["pnpm"], ["npm"], True),
        # Names are the same in all languages, other words are not.
        ("german", ["pnpm"], ["npm"], True),
        ("german", ["schiefer"], ["zink"], True),
        ("german", ["slate"], ["zinc"], False),
        ("english", ["slate"], ["npm"], False),
    ],
)
def test_things_of_one_kind(language: str, ours: list[str], theirs: list[str], found: bool) -> None:
    assert alternatives(ours, theirs, language) is found


@pytest.mark.parametrize(
    "text", ["Backups run every 0 days.", "Der Job läuft alle 0 Stunden.", "0/0 done"]
)
def test_nothing_is_divided_by_zero(text: str) -> None:
    compare(text, "Backups run every 2 days.")
