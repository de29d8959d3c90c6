"""A true fact is never refused as known because only small words, signs or the order tell it apart."""

from __future__ import annotations

import pytest

from reverie.text.likeness import compare

APART = [
    ("Telemetry is on unless people turn it off.", "Telemetry is off unless people turn it on."),
    ("First migrate, then deploy.", "First deploy, then migrate."),
    ("cash, no cards", "cards, no cash"),
    ("cooking: Miguel / dishes: me", "cooking: me / dishes: Miguel"),
    ("risotto: NUTS!", "risotto: nut free"),
    ("The lift in block C is running.", "The lift in block C is out of service."),
    ("The tax return for last year is done.", "last year's tax return: open"),
    ("The Vermeer is lent by a museum in Delft.", "Vermeer: ours"),
    ("My son lives with me during the week.", "My son lives with his dad during the week."),
    ("penicillin allergy? no, none", "I'm allergic to penicillin."),
    ("Errors are shown below the field.", "Errors are shown above the field."),
    ("docs language: DE", "docs language: EN"),
    ("Our default branch is main.", "Our default branch is master."),
    ("Test files are called test_<module>.py", "Test files are called <module>_test.py"),
    ("Kim: open plan 👍", "Kim: open plan 👎"),
    ("I run once a week.", "I run three times a week."),
    ("Ein Pull Request braucht ein Review.", "Ein Pull Request braucht zwei Reviews."),
    ("Maman a une séance de kiné par semaine.", "Maman a deux séances de kiné par semaine."),
]


@pytest.mark.parametrize(("one", "other"), [*APART, *((b, a) for a, b in APART)])
def test_small_words_and_their_order_keep_two_facts_apart(one: str, other: str) -> None:
    assert compare(one, other).likeness != "duplicate"


def test_what_turns_the_meaning_round_is_read_as_another_value() -> None:
    new, old = "The lift in block C is running.", "The lift in block C is out of service."
    assert compare(new, old).likeness == "update"


SAME = [
    ("Don't mock the database.", "Do not mock the database."),
    ("On Fridays we never deploy.", "We never deploy on Fridays."),
    ("The box has 16 GB of memory.", "The box has 16384 MB of memory."),
    ("Go from Alice to Bob.", "Go to Bob from Alice."),
    ("I like tea", "My name is Ada and I like tea"),
    ("The lab is in Bergen", "Our office is in Oslo; the lab is in Bergen"),
]


@pytest.mark.parametrize(("new", "old"), SAME)
def test_what_is_only_written_otherwise_is_known(new: str, old: str) -> None:
    assert compare(new, old).likeness == "duplicate"
