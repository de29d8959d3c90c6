"""Cues of a memory without a model: words its text does not have."""

from reverie.text.cues import LONGEST, MOST, cues_for, given


def test_a_telling_word_brings_others_for_it() -> None:
    found = cues_for("The newsletter goes out through Brevo on Thursdays.")
    assert "email" in found
    assert len(found) <= MOST


def test_no_cue_is_a_word_of_the_text_in_another_form() -> None:
    assert "print" not in cues_for("Labels are printed by the printer in the hall.")


def test_initials_stand_for_a_name_of_several_words() -> None:
    assert "GE" in cues_for("Data checks are written with Great Expectations.")
    assert not cues_for("Qwertz Uiop is a keyboardish thing.", most=0)


def test_given_cues_are_kept_short_and_once() -> None:
    assert given(("on  call", "On Call", "", "x" * (LONGEST + 1))) == ("On Call",)
    assert len(given(tuple(f"word {n}" for n in range(50)))) == 2 * MOST
