"""Cues of a memory without a model: words its text does not have."""

import pytest

from reverie.text import thesaurus
from reverie.text.cues import LONGEST, MOST, MOST_GIVEN, cues_for, given


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("The newsletter goes out through Brevo on Thursdays.", "email"),
        ("We picked Postgres over MySQL because of its partial indexes.", "database"),
        ("My daughter Ida is picked up from kindergarten at four.", "child"),
        ("The winter coats and jackets hang behind the front door.", "clothes"),
        ("Anything in the sign-up is checked by the hospital's Keycloak account.", "login"),
    ],
)
def test_a_memory_is_given_the_name_of_what_it_is_about(text: str, cue: str) -> None:
    found = cues_for(text)
    assert cue in found
    assert len(found) <= MOST


@pytest.mark.parametrize(
    "text",
    [
        "Never wash the cast-iron pan with soap; wipe it and oil it.",
        "Let the cast dry before you paint it.",
        "When the boiler shows F28, press reset for three seconds.",
        "The CPU throttles at 80 °C on model B.",
        "The heating engineer is Herr D. of the firm Yildiz.",
        "The server binds to 9417.",
        "Life jackets are under the seats in the stern.",
        "Jonas trainiert immer sonntags im Verein.",
        "The reference device has the id 4471.",
        "Data checks are written with Great Expectations.",
        "Herr Lang von der Firma Yildiz kommt am Freitag; Frau Klein hat den Schlüssel.",
        "The field assistant keeps a log in at the hut.",
    ],
)
def test_a_word_that_may_mean_something_else_gives_no_cue(text: str) -> None:
    assert cues_for(text) == ()


def test_a_sibling_is_no_cue() -> None:
    found = cues_for("The choir rehearses every Sunday and travels to Bonn on Sundays in May.")
    assert "saturday" not in found


def test_no_cue_is_a_word_of_the_text_in_another_form() -> None:
    assert "print" not in cues_for("Labels are printed by the printer in the hall.")


def test_given_cues_are_kept_short_and_once() -> None:
    assert given(("on  call", "On Call", "", "x" * (LONGEST + 1))) == ("On Call",)
    assert len(given(tuple(f"word {n}" for n in range(50)))) == MOST_GIVEN


def test_a_unit_is_no_programming_language() -> None:
    assert not thesaurus.groups_by_word("It stops at 80 °C.")["c"]
    assert thesaurus.groups("It is written in Rust.") & thesaurus.groups("Which language is it?")
