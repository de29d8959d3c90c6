"""The odds: the same in other words is told, and neither refused nor retired."""

from __future__ import annotations

from datetime import date

import pytest

from reverie.text import likeness, weighing
from reverie.text.alignment import differing
from reverie.text.comparison import Verdict
from reverie.text.dates import absolute_dates
from reverie.text.likeness import Likeness, by_rules, compare, related
from reverie.text.numerals import number_words
from reverie.text.odds import Odds, odds, ruled
from reverie.text.signs import Signs, signs_of
from reverie.text.statements import change_in, statements
from reverie.text.word_classes import near_groups, opposed

SAME = [
    ("Nora is in charge of payroll", "Payroll is managed by Nora"),
    ("I detest mushrooms", "I can't stand mushrooms"),
    ("Das Auto muss alle 90 Tage zur Kontrolle", "Der Wagen muss alle drei Monate zur Kontrolle"),
    ("Le bail expire le 18 décembre", "Échéance du bail : 18/12"),
    ("El seguro caduca el 30 de noviembre", "Vencimiento del seguro: 30/11"),
]


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_in_other_words_is_told(old: str, new: str) -> None:
    assert compare(new, old).likeness in ("restates", "duplicate")


VALUES = [
    ("Nora's manager is Ivo", "Nora reports to Petra"),
    ("My wife works at Globex", "My wife is employed by Acme in Oslo"),
    ("The lease costs 900 euros", "We pay 950 euros for the lease"),
]


@pytest.mark.parametrize(("old", "new"), VALUES)
def test_another_value_in_other_words_is_told_and_retires_nothing(old: str, new: str) -> None:
    verdict = compare(new, old)
    assert (verdict.likeness, verdict.said) == ("update", False)


APART = [
    ("My left knee was operated on in 2015", "The right knee had surgery in 2020"),
    ("I play the guitar", "I play the piano"),
    ("My sister lives in Oslo", "My sisters live in Oslo"),
    ("The flight to Oslo leaves at 6:40", "The flight from Oslo goes at 21:15"),
    ("Le voisin a un chien", "La voisine a un chien"),
]


@pytest.mark.parametrize(("old", "new"), APART)
def test_what_tells_two_things_apart_is_no_duplicate(old: str, new: str) -> None:
    verdict = compare(new, old)
    assert verdict.likeness != "duplicate"
    assert not verdict.said


ANEW = [
    ("Invoices are checked by Petra", "Petra is the person who checks our invoices"),
    ("The greenhouse must be aired before noon", "Before noon someone has to air the greenhouse"),
    ("Die Werkstatt erreicht man nur durch den Hof", "Durch den Hof kommt man in die Werkstatt"),
]


@pytest.mark.parametrize(("old", "new"), ANEW)
def test_a_sentence_that_is_turned_round_is_told(old: str, new: str) -> None:
    assert compare(new, old).likeness in ("restates", "duplicate")


SAME_FRAME = [
    ("Tilda takes harp lessons at the abbey", "Tilda takes fencing lessons at the abbey"),
    ("Backups expire after 14 days", "Backups are stored in Oslo"),
    ("I take aspirin and a statin", "I take aspirin in the morning"),
]


@pytest.mark.parametrize(("old", "new"), SAME_FRAME)
def test_the_same_frame_with_something_else_in_it_does_not_seem_the_same(
    old: str, new: str
) -> None:
    assert compare(new, old).likeness not in ("restates", "duplicate")


def test_wording_tells_a_turned_sentence_from_a_frame() -> None:
    def signs(new: str, old: str) -> dict[str, float]:
        ours, theirs = (statements(text, "english") for text in (new, old))
        return signs_of((new, old), ours, theirs, change_in(new, "english"), "english")

    turned = signs("Petra is the person who checks our invoices", "Invoices are checked by Petra")
    frame = signs("Petra checks our parcels", "Petra checks our invoices")
    assert turned["turned round"] > 0 == frame["turned round"]
    assert frame["begin alike"] == frame["in place"] == 0.75
    assert turned["begin alike"] == turned["in place"] == 0
    assert frame["same place"] == 1
    assert turned["other words"] > frame["other words"] == 1


def test_odds_are_shares_of_one() -> None:
    texts = ("The port is 80", "The port is 81")
    ours, theirs = (statements(text, "english") for text in texts)
    change = change_in(texts[0], "english")
    signs = signs_of(texts, ours, theirs, change, "english")
    found = odds(signs | ruled(by_rules(ours, theirs, change)))
    assert found.value > max(found.same, found.more, found.other)
    assert found.same + found.value + found.more + found.other == pytest.approx(1)
    assert Odds().other == 1


def test_near_words_and_opposites_are_data() -> None:
    assert near_groups("gig", "english") & near_groups("concerts", "english")
    assert near_groups("teamleiter", "german") & near_groups("chefin", "german")
    assert not near_groups("gig", "english") & near_groups("boiler", "english")
    assert opposed(["left"], ["right"], "english")
    assert not opposed(["left"], ["knee"], "english")


@pytest.mark.parametrize(
    ("ours", "theirs", "language"),
    [
        ("every three months", "every 90 days", "english"),
        ("for 18 months", "for 1.5 years", "english"),
        ("on 30/11", "el 30 de noviembre", "spanish"),
        ("April 2nd-12th", "2 to 12 April", "english"),
        ("am 5.5.", "am 5. Mai", "german"),
        ("el 30/11", "el 2026-11-30", "spanish"),
    ],
)
def test_one_day_or_span_has_one_key(ours: str, theirs: str, language: str) -> None:
    sides = [
        tuple(token for one in statements(text, language) for token in one.tokens)
        for text in (ours, theirs)
    ]
    assert all(token.kind == "word" for side in differing(*sides) for token in side)


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("VAT is paid on the 7th", "VAT is paid on the 7th"),
        ("We paid the bill on the 7th", "We paid the bill on 2026-11-07"),
        ("The hearing was moved to Oct 12", "The hearing was moved to 2027-10-12"),
        ("We moved to Oslo on Oct 12", "We moved to Oslo on 2026-10-12"),
    ],
)
def test_what_recurs_stays_and_what_is_moved_lies_ahead(text: str, dated: str) -> None:
    assert absolute_dates(text, date(2026, 11, 16))[0] == dated


@pytest.mark.parametrize(
    ("word", "language", "number"),
    [
        ("fifteenth", "english", 15),
        ("ninety-first", "english", 91),
        ("einundneunzig", "german", 91),
        ("achtzigsten", "german", 80),
        ("soixante et onze", "french", 71),
        ("quatre-vingt-dix-sept", "french", 97),
        ("neuvieme", "french", 9),
        ("treinta y cinco", "spanish", 35),
        ("veintitres", "spanish", 23),
    ],
)
def test_number_words_are_read_in_four_languages(word: str, language: str, number: int) -> None:
    assert number_words(language)[word] == number
    assert not number_words("klingon")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A JWT lasts 15 minutes", "JWTs last 15 minutes"),
        ("Our lawyer is Ms. Lindgren", "Our lawyer is Ms Lindgren"),
        ("The box has 16 GB of memory", "The box has 16384 MB of memory"),
        ("The warranty lasts five years", "The warranty lasts 5 yrs"),
        ("Le mot de passe change tous les trois mois", "Le mot de passe change chaque trimestre"),
    ],
)
def test_what_is_written_otherwise_is_a_duplicate(old: str, new: str) -> None:
    assert compare(new, old).likeness == "duplicate"


def test_the_left_hand_is_no_change() -> None:
    assert not change_in("She writes with her left hand", "english").cue
    assert change_in("Petra left the team", "english").cue == "left"


def test_figures_that_say_which_one_are_never_told() -> None:
    facts = [(str(n), f"Harbour {n} closes at {n % 12 + 8}:00") for n in range(1, 20)]
    found = related("Harbour 31 closes at 9:00", facts)
    assert {match.likeness for match in found} == {"sibling"}


def test_only_the_nearest_candidates_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    near = [(f"near {n}", f"Invoices of branch {n} are checked by Petra") for n in range(9)]
    calls: list[Signs] = []

    def counted(signs: Signs) -> Odds:
        calls.append(signs)
        return odds(signs)

    monkeypatch.setattr(likeness, "odds", counted)
    related("Petra is the person who checks our invoices", near)
    assert len(calls) == likeness.MOST_WEIGHED == 6


# Two sentences told in other words by one speaker, with nothing in them that tells two things apart.
PLAIN = {
    **dict.fromkeys(
        (
            "cue anywhere",
            "opposed",
            "denied",
            "narrowed",
            "one of several",
            "beside anywhere",
            "both say more",
            "more sentences in new",
            "more sentences in old",
            "same values",
            "all values agree",
            "names differ",
            "another of its kind",
            "person of one",
        ),
        0.0,
    ),
    "other words": 2.0,
    "same speaker": 1.0,
    "clean": 1.0,
    "least alike": 1.0,
    "meaning": 1.0,
}


@pytest.mark.parametrize(
    ("ruled", "signs", "found", "told"),
    [
        # Told from 0.28 on, if one reading is clear enough and more likely than more of the same.
        ("sibling", {}, Odds(value=0.28), "update"),
        ("sibling", {}, Odds(value=0.27), None),
        ("sibling", {}, Odds(same=0.28), "restates"),
        ("sibling", {}, Odds(same=0.22, value=0.1), "restates"),
        ("sibling", {}, Odds(same=0.2, value=0.1), None),
        ("sibling", {}, Odds(same=0.4, more=0.4), "restates"),
        ("sibling", {}, Odds(same=0.4, more=0.41), None),
        ("sibling", {}, Odds(same=0.4, value=0.4), "restates"),
        ("sibling", {}, Odds(same=0.4, value=0.41), "update"),
        ("update", {}, Odds(value=0.9), None),
        ("update", {}, Odds(same=0.9), "restates"),
        # That one denies the other is for the rules to tell.
        ("update", {"denied": 1.0}, Odds(same=0.9), None),
        # The same said with "not" must be as likely as not if the words are far apart.
        ("sibling", {"denied": 1.0, "meaning": 0.39}, Odds(same=0.5), "restates"),
        ("sibling", {"denied": 1.0, "meaning": 0.39}, Odds(same=0.49), None),
        ("sibling", {"denied": 1.0, "meaning": 0.4}, Odds(same=0.49), "restates"),
        (
            "sibling",
            {"denied": 1.0, "meaning": 0.39, "same values": 1.0},
            Odds(same=0.49),
            "restates",
        ),
        ("sibling", {"meaning": 0.39}, Odds(same=0.49), "restates"),
        # Where all values agree, it is no other value, unless a name or another of its kind may be one.
        ("sibling", {"all values agree": 1.0}, Odds(value=0.9), "restates"),
        ("sibling", {"all values agree": 1.0, "names differ": 1.0}, Odds(value=0.9), "update"),
        (
            "sibling",
            {"all values agree": 1.0, "another of its kind": 1.0},
            Odds(value=0.9),
            "update",
        ),
        ("sibling", {"all values agree": 1.0, "cue anywhere": 1.0}, Odds(value=0.9), "update"),
        # Words of change: another value counts three times, and less is enough.
        ("sibling", {"cue anywhere": 1.0}, Odds(same=0.4, value=0.14), "update"),
        ("sibling", {}, Odds(same=0.4, value=0.14), "restates"),
        ("sibling", {"cue anywhere": 1.0}, Odds(same=0.4, value=0.13), "restates"),
        ("sibling", {"cue anywhere": 1.0}, Odds(value=0.12), "update"),
        ("sibling", {"cue anywhere": 1.0}, Odds(value=0.11), None),
        # What one says of more is another value for nobody, and the same only when it is sure.
        ("extends", {}, Odds(value=1.0), None),
        ("extends", {}, Odds(same=0.7), "restates"),
        ("extends", {}, Odds(same=0.69), None),
        # Opposites are the same, if at all, but no newer value.
        ("sibling", {"opposed": 1.0}, Odds(value=1.0), None),
        ("sibling", {"opposed": 1.0}, Odds(same=0.28), "restates"),
        # Of sentences that differ in a word the rules know more.
        ("sibling", {"other words": 1.0}, Odds(same=0.7), "restates"),
        ("sibling", {"other words": 1.0}, Odds(same=0.69), None),
        ("sibling", {"other words": 1.0, "both say more": 1.0}, Odds(same=0.36), "restates"),
        ("sibling", {"other words": 1.0, "both say more": 1.0}, Odds(same=0.35), None),
        ("sibling", {"other words": 1.0, "opposed": 1.0}, Odds(same=1.0), None),
        ("sibling", {"other words": 1.0, "narrowed": 1.0}, Odds(same=1.0), None),
        # A denial that may be said in other words needs even odds, unless one speaks of a person.
        ("sibling", {"other words": 1.0, "denied": 1.0}, Odds(same=0.5), "restates"),
        ("sibling", {"other words": 1.0, "denied": 1.0}, Odds(same=0.49), None),
        (
            "sibling",
            {"other words": 1.0, "denied": 1.0, "person of one": 1.0},
            Odds(same=1.0),
            None,
        ),
        ("update", {"other words": 1.0}, Odds(same=1.0), None),
        # By another speaker it must be told anew, in a word more, unless both name the same values.
        ("sibling", {"same speaker": 0.0}, Odds(same=0.5), "restates"),
        ("sibling", {"same speaker": 0.0}, Odds(same=0.49), None),
        ("sibling", {"same speaker": 0.0, "person of one": 1.0}, Odds(same=1.0), None),
        ("sibling", {"same speaker": 0.0, "other words": 3.0}, Odds(same=0.28), "restates"),
        ("sibling", {"same speaker": 0.0, "same values": 1.0}, Odds(same=0.28), "restates"),
        # The same for sure, where nothing tells them apart.
        ("sibling", {}, Odds(same=0.95), "duplicate"),
        ("sibling", {}, Odds(same=0.94), "restates"),
        ("update", {}, Odds(same=0.95), "restates"),
        ("sibling", {"cue anywhere": 1.0}, Odds(same=0.97), "restates"),
        ("sibling", {"opposed": 1.0}, Odds(same=0.97), "restates"),
        ("sibling", {"denied": 1.0}, Odds(same=0.97), "restates"),
        ("sibling", {"narrowed": 1.0}, Odds(same=0.97), "restates"),
        ("sibling", {"one of several": 1.0}, Odds(same=0.97), "restates"),
        ("sibling", {"beside anywhere": 1.0}, Odds(same=0.97), "restates"),
        ("sibling", {"more sentences in new": 1.0}, Odds(same=0.97), "restates"),
        ("sibling", {"more sentences in old": 1.0}, Odds(same=0.97), "restates"),
        ("sibling", {"clean": 0.0}, Odds(same=0.97), "restates"),
        ("sibling", {"same speaker": 0.0, "other words": 3.0}, Odds(same=0.97), "restates"),
        ("sibling", {"least alike": 0.7}, Odds(same=0.97), "duplicate"),
        ("sibling", {"least alike": 0.69}, Odds(same=0.97), "restates"),
    ],
)
def test_what_the_odds_decide(
    ruled: Likeness, signs: dict[str, float], found: Odds, told: Likeness | None
) -> None:
    verdict = Verdict(ruled, score=0.3)
    weighed = weighing.by_signs(verdict, {**PLAIN, **signs}, found)
    if told is None:
        assert weighed is verdict
    else:
        score = found.same + found.value
        assert weighed == Verdict(told, certain=False, score=score, weighed=True)


@pytest.mark.parametrize(
    ("ruled", "probable", "told"),
    [("unrelated", 0.2, "sibling"), ("unrelated", 0.19, "unrelated"), ("sibling", 0.2, "sibling")],
)
def test_what_is_perhaps_about_the_same_thing_is_named(
    ruled: Likeness, probable: float, told: Likeness
) -> None:
    weighed = weighing.by_signs(Verdict(ruled), PLAIN, Odds(value=probable))
    assert (weighed.likeness, weighed.weighed) == (told, told != ruled)


@pytest.mark.parametrize("settled", [{"certain": True}, {"firm": True}])
def test_the_rules_settle_what_they_are_sure_of(settled: dict[str, bool]) -> None:
    verdict = Verdict("sibling", **settled)
    one_word = {**PLAIN, "other words": 1.0}
    assert weighing.by_signs(verdict, one_word, Odds(same=1.0)) is verdict
    assert weighing.by_signs(verdict, PLAIN, Odds(same=0.5)).likeness == "restates"


def test_where_the_rules_see_two_things_more_is_needed() -> None:
    firm = Verdict("sibling", firm=True)
    for signs, enough in ((PLAIN, 0.38), ({**PLAIN, "cue anywhere": 1.0}, 0.36)):
        assert weighing.by_signs(firm, signs, Odds(value=enough - 0.01)) is firm
        assert weighing.by_signs(firm, signs, Odds(value=enough)).likeness == "update"


def test_without_the_meaning_of_words_nothing_is_left_unsaved() -> None:
    signs = {name: value for name, value in PLAIN.items() if name != "meaning"}
    assert weighing.by_signs(Verdict("sibling"), signs, Odds(same=1.0)).likeness == "restates"


DUPLICATE, LESS = Verdict("duplicate", score=0.9), Verdict("duplicate", score=0.8)
EXTENDS = Verdict("extends", score=0.7)
VALUE, SURE = Verdict("update", score=0.6), Verdict("update", certain=True, score=0.5)
OTHER, FAR = Verdict("sibling", score=0.4), Verdict("unrelated", score=0.2)


@pytest.mark.parametrize(
    ("table", "verdict"),
    [
        ([[DUPLICATE]], DUPLICATE),
        ([[DUPLICATE], [LESS]], LESS),
        ([[LESS, DUPLICATE]], DUPLICATE),
        ([[VALUE]], VALUE),
        ([[VALUE, SURE]], SURE),
        ([[OTHER, FAR], [VALUE, FAR]], VALUE),
        # The first statement is known already: the second is what is new.
        ([[DUPLICATE, FAR], [FAR, VALUE]], VALUE),
        ([[DUPLICATE], [VALUE]], Verdict("extends", score=0.9)),
        ([[EXTENDS], [FAR]], Verdict("extends", score=0.7)),
        ([[FAR], [EXTENDS]], Verdict("extends", score=0.7)),
        ([[DUPLICATE, FAR], [FAR, FAR]], Verdict("sibling", score=0.9)),
        ([[EXTENDS, FAR]], Verdict("sibling", score=0.7)),
        ([[OTHER]], OTHER),
        ([[FAR]], FAR),
        ([[FAR, FAR], [FAR, FAR]], FAR),
        ([[OTHER, FAR]], Verdict("sibling", score=0.4)),
        ([[FAR], [OTHER]], Verdict("sibling", score=0.4)),
    ],
)
def test_one_verdict_for_several_statements(table: list[list[Verdict]], verdict: Verdict) -> None:
    assert likeness._together(table, change_in("The port is 8080", "en")) == verdict


@pytest.mark.parametrize(("sentences", "weighed"), [(1, True), (4, True), (5, False)])
@pytest.mark.parametrize("long_one", ["new", "old"])
def test_odds_say_nothing_of_long_texts(
    monkeypatch: pytest.MonkeyPatch, sentences: int, weighed: bool, long_one: str
) -> None:
    calls: list[Signs] = []

    def counted(signs: Signs) -> Odds:
        calls.append(signs)
        return Odds()

    monkeypatch.setattr(likeness, "odds", counted)
    filling = "The lamp in the hall is broken. The cat sleeps. Rain falls often. The bus was late."
    long = " ".join(
        ["Petra checks our invoices by hand.", *(f"{s}." for s in filling.rstrip(".").split(". "))][
            :sentences
        ]
    )
    short = "Our invoices are looked at by Petra"
    pair = (long, short) if long_one == "new" else (short, long)
    compare(*pair)
    assert bool(calls) is weighed
    if weighed:
        mine, other = min(sentences, 3) - 1, 0
        expected = (mine, other) if long_one == "new" else (other, mine)
        assert (calls[0]["more sentences in new"], calls[0]["more sentences in old"]) == expected
    compare("Petra", "Our invoices are looked at by Petra")
    assert len(calls) == weighed


def test_of_several_faint_guesses_only_the_best_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    guesses = iter([Odds(value=0.15), Odds(value=0.23), Odds(value=0.38), Odds(value=0.2)])
    monkeypatch.setattr(likeness, "odds", lambda signs: next(guesses))
    near = [(f"near {n}", f"Invoices of branch {n} are checked by Petra") for n in range(4)]
    found = related("From now on Jonas is the person who looks at our invoices", near)
    told = sorted(match.verdict.score for match in found if match.verdict.weighed)
    assert told == [0.23, 0.38]
