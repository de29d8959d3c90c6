"""What words mean: near words are near, and a judge without the table still judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from reverie.text import meaning, reader, weighing
from reverie.text.closeness import closest_sentences
from reverie.text.likeness import compare, related, signs_between
from reverie.text.statements import sentences


def test_words_of_one_thing_are_near_and_others_are_not() -> None:
    assert meaning.near("physician", "doctor") > 0.5 > meaning.near("physician", "apartment")
    assert meaning.near("rent", "rent") == 1
    assert meaning.nearest("doctor", ["apartment", "physician"]) > 0.5
    assert meaning.nearest("doctor", []) == 0


def test_a_word_of_several_pieces_has_a_meaning_and_a_stranger_has_none() -> None:
    assert meaning.near("zahnarzt", "arzt") > 0.3
    assert meaning.near("☃", "arzt") == 0
    assert meaning.near("x" * 100, "arzt") == 0


def test_what_is_used_everywhere_tells_little() -> None:
    assert meaning.information("the") < meaning.information("dentist")


def test_groups_of_words_are_compared_as_a_whole() -> None:
    fees, pets = ["monthly", "rent"], ["dog", "kennel"]
    assert meaning.together(fees, ["rent", "payment"]) > meaning.together(fees, pets)
    assert meaning.together(fees, []) == 0
    assert meaning.covered([], fees) == 1
    assert meaning.covered(["rent"], fees) == 1


def test_the_vectors_are_those_of_the_published_model() -> None:
    pytest.importorskip("tokenizers")
    np = pytest.importorskip("numpy")
    from reverie.models.embeddings.local import POTION
    from reverie.models.embeddings.static import StaticEmbedder

    rows = StaticEmbedder("potion", POTION).encode(["doctor", "zahnarzt"], "passage")
    cosine = float(rows[0] @ rows[1] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[1]))
    assert meaning.near("doctor", "zahnarzt") == pytest.approx(cosine, abs=1e-4)


def test_the_sentences_that_belong_together_are_compared() -> None:
    old = sentences("The ribeye is 26 euros. We buy the whole loin.")
    new = sentences("Nice weather today. We charge 29.50 for the ribeye.")
    assert closest_sentences(new, old) == (new[1], old[0])
    assert sentences("...") == ["..."]


TOLD = [
    (
        "Ms Trent's hourly rate is 210. She is good.",
        "Lunch was late. Ms Trent bills 240 an hour.",
        "update",
    ),
    ("The budget for costumes is 15,000 dollars.", "we've got 15,000 dollars for wardrobe", ""),
]


@pytest.mark.parametrize(("old", "new", "wanted"), TOLD)
def test_a_remark_in_another_sentence_does_not_hide_what_is_told(
    old: str, new: str, wanted: str
) -> None:
    found = compare(new, old).likeness
    assert found == wanted if wanted else found in ("restates", "duplicate")


GREENHOUSE = "The greenhouse must be aired before noon"


def test_without_the_table_the_words_alone_decide(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(meaning, "FOLDER", tmp_path)
    _forget()
    try:
        assert not meaning.known()
        assert "meaning" not in signs_between("I can't stand mushrooms", "I detest mushrooms")
        restated = compare("Before noon someone has to air the greenhouse", GREENHOUSE)
        assert (restated.likeness, restated.weighed) == ("restates", True)
        assert compare("The fee is 9 euros", "The fee is 8 euros").likeness == "update"
    finally:
        _forget()


def _forget() -> None:
    for known in (
        meaning._table,
        meaning._vector,
        meaning.information,
        meaning.near,
        meaning._nearest,
        meaning._product,
    ):
        known.cache_clear()


def test_of_faint_guesses_about_a_change_only_the_best_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "known", lambda: False)
    new = "heads up, the team switched to NATS as message broker"
    notes = [
        ("messages", "Messages to parents go out on Fridays"),
        ("relay", "Sandra coaches the women's relay team."),
    ]
    alone = {key: compare(new, old) for key, old in notes}
    assert all(one.weighed and one.score < weighing._ALIKE for one in alone.values())
    told = [match.key for match in related(new, notes) if match.verdict.weighed]
    assert told == [max(alone, key=lambda key: alone[key].score)]


def test_a_long_text_is_judged_by_how_it_begins() -> None:
    texts = [
        " ".join(f"{name}{n}." if n % 9 == 8 else f"{name}{n}" for n in range(300)) for name in "pq"
    ]
    meaning.near.cache_clear()
    signs_between(*texts)
    assert meaning.near.cache_info().currsize < 15_000
