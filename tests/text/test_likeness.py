"""The one judge of sameness: duplicate, extends, another value, sibling, or unrelated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.text.likeness import compare, nearest, related

# old, new, how the new one relates to it
TABLE = [
    # the same in other words
    ("User prefers dark mode.", "The user prefers dark mode", "duplicate"),
    ("The user prefers dark mode", "Prefers dark mode", "duplicate"),
    ("My favourite color is purple", "My favourite colour is purple", "duplicate"),
    ("In integration tests, never mock the database.", "Never mock the database in integration tests", "duplicate"),
    ("Do not mock the database", "Don't mock the database", "duplicate"),
    ("Mira's desk is in Oslo", "Mira’s desk is in Oslo", "duplicate"),
    ("use postgres", "Use Postgres", "duplicate"),
    ("les reunions sont courtes", "Les réunions sont courtes", "duplicate"),
    ("My name is Ada and I like tea", "I like tea", "duplicate"),
    ("The cache expires after 5 min", "Please remember that the cache expires after five minutes", "duplicate"),
    ("Timestamps are stored in UTC.", "We store timestamps in UTC.", "duplicate"),
    ("Wir deployen dienstags", "Dienstags deployen wir", "duplicate"),
    ("El nombre de mi mujer es Rocío", "Mi mujer se llama Rocío", "duplicate"),
    # another value of the same thing
    ("My favourite colour is purple", "My favourite colour is cyan", "update"),
    ("The port is 8080", "The port is 8443", "update"),
    ("The API listens on port 8080", "The API listens on port 9090", "update"),
    ("The standup is at 9:30", "The standup is at 10", "update"),
    ("Never mock the database", "Mock the database", "update"),
    ("The user likes summaries at the end", "The user doesn't like summaries at the end", "update"),
    ("We deploy on Fridays", "We don't deploy on Fridays", "update"),
    ("Bob reports to Alice", "Alice reports to Bob", "update"),
    ("Mira leads the payments team", "Jonas leads the payments team", "update"),
    ("Our CTO is Mira Lund", "Anselm Krol is our CTO", "update"),
    ("prod db: eu-west-1", "prod db: eu-central-1", "update"),
    ("CI runs on Jenkins", "We switched from Jenkins to GitHub Actions", "update"),
    ("Die API lauscht auf Port 8080", "Die API lauscht auf Port 9090", "update"),
    ("La réunion est à 9h30", "La réunion est à 10h", "update"),
    ("El panel está en el puerto 8080", "El panel está en el puerto 8888", "update"),
    # other things of one kind: both stand
    ("The billing service listens on port 7001", "The search service listens on port 7002", "sibling"),
    ("API v1 is sunset on 2026-12-31", "API v2 is sunset on 2027-06-30", "sibling"),
    ("harbour 3 closes at 9:00", "harbour 4 closes at 10:00", "sibling"),
    ("Use tabs in Go files", "Use spaces in Python files", "sibling"),
    ("Ada owns billing", "Ada owns search", "sibling"),
    ("We support Postgres", "We support MySQL", "sibling"),
    ("The timeout is 30 s in production", "The timeout is 30 s in staging", "sibling"),
    ("The flight to Oslo leaves at 6:40", "The flight from Oslo leaves at 21:05", "sibling"),
    ("If the build fails, ping Mira", "If the deploy fails, ping Jonas", "sibling"),
    ("Alice and Bob own billing", "Alice owns billing", "sibling"),
    ("Tests use Postgres in CI but SQLite locally", "Tests use Postgres", "sibling"),
    ("The standup starts at 9:30", "The standup ends at 9:45", "sibling"),
    ("Staging liegt auf Port 8080", "Produktion liegt auf Port 8080", "sibling"),
    # more of the same
    ("The user prefers dark mode", "The user prefers dark mode in the terminal", "extends"),
    ("Deploys happen on Tuesday", "Deploys happen on Tuesday at 14:00, run by Mira", "extends"),
    ("Tests must not use the network.", "Tests must not use the network. **Why:** the runners hang.", "extends"),
    # nothing to do with each other
    ("The vendor bans clients after two failures", "The user prefers dark mode", "unrelated"),
    ("Deploys freeze on 2026-11-19 because of the audit", "Tests freeze time with time-machine", "unrelated"),
    ("anything", "", "unrelated"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "likeness"), TABLE)
def test_how_a_new_text_relates_to_an_old_one(old: str, new: str, likeness: str) -> None:
    assert compare(new, old).likeness == likeness


def test_a_verdict_names_the_words_it_rests_on() -> None:
    verdict = compare("The API listens on port 9090", "The API listens on port 8080")
    assert (verdict.ours, verdict.theirs, verdict.certain) == (("9090",), ("8080",), True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We deploy on Fridays", "We no longer deploy on Fridays"),
        ("The port is 8080", "From now on the port is 8443"),
        ("We use Jenkins for CI", "We use GitHub Actions for CI instead of Jenkins"),
        ("Wir nutzen Jenkins", "Wir nutzen Jenkins nicht mehr"),
        ("La réunion est le lundi", "La réunion est désormais le mardi"),
        ("Usamos Jenkins", "Ya no usamos Jenkins"),
    ],
)
def test_words_that_say_something_changed(old: str, new: str) -> None:
    verdict = compare(new, old)
    assert (verdict.likeness, verdict.said) == ("update", True)
    # The same words do not retire what they do not speak of.
    assert not compare(new, "The search service listens on port 7002").said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The billing service listens on port 7001", "From now on the search service listens on port 7002"),
        ("Ada owns billing", "Ada now also owns search"),
        ("The port is 8080", "The port is 8443"),
    ],
)  # fmt: skip
def test_nothing_is_said_to_be_replaced(old: str, new: str) -> None:
    assert not compare(new, old).said


def test_the_nearest_prefers_the_same_over_the_merely_alike() -> None:
    shelf = [
        ("port.md", "The port is 8080"),
        ("color.md", "My favourite colour is purple"),
        ("colour.md", "Favourite colour: cyan"),
    ]
    found = related("my favourite colour is cyan", shelf)
    assert [(one.key, one.likeness) for one in found] == [
        ("colour.md", "duplicate"),
        ("color.md", "update"),
    ]
    assert nearest("Lunch is at noon", shelf) is None
    assert nearest("x", []) is None


@given(st.text())
def test_every_text_is_the_same_as_itself(text: str) -> None:
    assert compare(text, text).likeness == "duplicate"


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    compare(one, other)
