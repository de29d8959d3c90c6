"""Same fact, more of it, or another value for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.similar import Match, compare, nearest


@pytest.mark.parametrize(
    ("new", "old", "likeness"),
    [
        ("The user prefers dark mode", "User prefers dark mode.", "same"),
        ("Prefers dark mode", "The user likes dark mode", "same"),
        ("My favourite colour is purple", "My favourite color is purple", "same"),
        (
            "Never mock the database in integration tests",
            "In integration tests, never mock the database.",
            "same",
        ),
        ("Don't mock the database", "Do not mock the database", "same"),
        ("Mira’s desk is in Oslo", "Mira's desk is in Oslo", "same"),
        ("Use Postgres", "use postgres", "same"),
        ("Les réunions sont courtes", "les reunions sont courtes", "same"),
        ("", "", "same"),
        ("My favourite colour is cyan", "My favourite colour is purple", "differs"),
        ("The port is 8443", "The port is 8080", "differs"),
        ("Release on 2026-12-01", "Release on 2026-12-02", "differs"),
        ("Supports Python 3.11", "Supports Python 3.12", "differs"),
        ("Mock the database", "Never mock the database", "differs"),
        (
            "The user doesn't like summaries at the end",
            "The user likes summaries at the end",
            "differs",
        ),
        ("Alice reports to Bob", "Bob reports to Alice", "differs"),
        ("Alice owns billing", "Alice and Bob own billing", "differs"),
        ("Mira owns search", "Ola owns search", "differs"),
        ("Run `make check` first", "Run `make checks` first", "differs"),
        ("The user prefers dark mode in the terminal", "The user prefers dark mode", "extends"),
        ("Audit on 2026-11-24, schema frozen", "Audit on 2026-11-24", "extends"),
        ("The user prefers dark mode", "The vendor bans clients after two failures", "unrelated"),
        ("The importer is slow", "The vendor is slow on Mondays and the team knows", "unrelated"),
        ("", "anything", "unrelated"),
        ("the", "is", "unrelated"),
    ],
)
def test_likeness(new, old, likeness):
    assert compare(new, old) == likeness


def test_the_nearest_prefers_the_same_over_the_merely_alike():
    shelf = [
        ("port.md", "The port is 8080"),
        ("color.md", "My favourite colour is purple"),
        ("colour.md", "Favourite colour: cyan"),
    ]
    assert nearest("my favourite colour is cyan", shelf) == Match("colour.md", "same", 1.0)
    assert nearest("The port is 8443", shelf).likeness == "differs"
    assert nearest("Lunch is at noon", shelf) is None
    assert nearest("x", []) is None


@given(st.text())
def test_every_text_is_the_same_as_itself(text):
    assert compare(text, text) == "same"
