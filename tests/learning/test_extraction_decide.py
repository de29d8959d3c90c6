"""What a candidate does to existing memories, case by case."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from reverie.learning.extraction import Candidate, Known
from reverie.learning.extraction.candidates import (
    Add,
    Delete,
    Noop,
    Operation,
    Supersede,
    Update,
    decide,
    rivals,
)
from reverie.memory.format.manifest import ManifestEntry
from reverie.text.likeness import compare

DAY = datetime(2026, 11, 15, tzinfo=UTC)


def known(file: str, description: str, body: str = "", name: str = "", **more) -> Known:
    return Known(
        ManifestEntry(file, "project", DAY, description, name or description, **more), body
    )


def decided(text: str, *memories: Known, wanted: Operation | None = None) -> Operation:
    candidate = Candidate(text, "project", (), "user", wanted or Add())
    return decide(candidate, memories).operation


PORT = known("port.md", "The port is 8080")


@pytest.mark.parametrize(
    "memory",
    [
        known("port.md", "The port is 8080", "Ask Mira."),
        known("port.md", "About ports", "The port is 8080.\n\nSince May."),
        known("port.md", "About ports", "\n\nThe port\nis 8080.\n\nSince May."),
        known("port.md", "About ports", name="The port is 8080"),
        known("port.md", "", "The port is 8080"),
    ],
)
def test_a_memory_is_met_in_its_description_its_name_or_its_first_paragraph(memory: Known) -> None:
    assert decided("The port is 8080.", memory) == Noop("port.md already says so", "port.md")


def test_a_later_paragraph_is_no_statement_of_a_memory() -> None:
    assert (
        decided("The port is 8080.", known("a.md", "What Mira needs", "Ask.\n\nThe port is 8080."))
        == Add()
    )


def test_the_same_wins_over_what_the_words_say_is_over() -> None:
    memories = (known("old.md", "We use Jenkins"), known("new.md", "We no longer use Jenkins"))
    assert decided("We no longer use Jenkins", *memories) == Noop(
        "new.md already says so", "new.md"
    )


def test_of_two_that_could_be_over_neither_is_retired() -> None:
    other = known("other.md", "The port is 9090")
    assert decided("From now on the port is 8443", PORT) == Supersede("port.md")
    assert decided("From now on the port is 8443", PORT, other) == Add()


def test_one_memory_met_twice_is_one() -> None:
    both = known("port.md", "The port is 8080", "The port is 8081")
    assert decided("From now on the port is 8443", both) == Supersede("port.md")
    text = Candidate("The port is 8443", "project", (), "user")
    assert rivals(text, [both, known("b.md", "The port is 9090")]) == (
        ("port.md", "update"),
        ("b.md", "update"),
    )
    assert (
        rivals(text, [known("c.md", "The port is 8443"), known("d.md", "The port is 8443 in CI")])
        == ()
    )


@pytest.mark.parametrize("more", [{"superseded": True}, {"problem": "broken"}])
def test_what_is_not_current_takes_part_in_nothing(more: dict[str, object]) -> None:
    away = known("port.md", "The port is 8080", **more)
    assert decided("The port is 8080", away) == Add()
    assert decided("", away, wanted=Delete("port.md")) == Noop("there is no memory port.md")
    assert decided("The port is 8443", away, wanted=Update("port.md")) == Add()
    assert rivals(Candidate("The port is 8443", "project", (), "user"), [away]) == ()


@pytest.mark.parametrize(
    ("text", "wanted", "operation"),
    [
        # A claimed replacement counts for the memory it names, not for what lies beside it.
        ("The port is 8443", Supersede("port.md"), Supersede("port.md")),
        ("The port is 8443", Supersede("desk.md"), Add()),
        ("My desk is in Bergen", Supersede("desk.md"), Supersede("desk.md")),
        ("The port is 8080", Supersede("desk.md"), Noop("port.md already says so", "port.md")),
        ("The port is 8080 in the office", Update("desk.md"), Update("desk.md")),
        ("My desk is in Bergen", Update("desk.md"), Supersede("desk.md")),
        ("My desk is in Bergen", Update("port.md"), Update("port.md")),
        ("My desk is in Bergen", Update("gone.md"), Add()),
    ],
)
def test_what_is_claimed_is_held_to_the_memory_it_names(
    text: str, wanted: Operation, operation: Operation
) -> None:
    assert decided(text, PORT, known("desk.md", "My desk is in Oslo"), wanted=wanted) == operation


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("the port", Delete("port.md")),
        ("port 8080", Delete("port.md")),
        ("port 9090", Noop("no memory speaks of it")),
        ("the", Noop("no memory speaks of it")),
        ("Mira", Noop("several memories speak of it: a.md, b.md")),
        ("Mira TEA", Delete("a.md")),
    ],
)
def test_only_what_certainly_speaks_of_it_is_deleted(text: str, operation: Operation) -> None:
    memories = (known("b.md", "Mira leads search"), known("a.md", "Mira likes tea"), PORT)
    assert decided(text, *memories, wanted=Delete()) == operation


def test_another_thing_on_the_same_box_is_no_question() -> None:
    old, new = (
        "Redis listens on 6380 on the cache box",
        "The exporter on the cache box is bound to 9121",
    )
    assert rivals(Candidate(new, "project", (), "user"), [known("redis.md", old)]) == ()


def test_what_is_probably_a_newer_value_is_asked_about() -> None:
    old, new = "The lease costs 900 euros", "We pay 950 euros for the lease"
    assert compare(new, old).likeness == "update"
    found = rivals(Candidate(new, "project", (), "user"), [known("lease.md", old)])
    assert found == (("lease.md", "update"),)


def test_a_newer_value_is_asked_about_sooner_than_another_wording() -> None:
    newer = (
        "Grandpa drives the twins to school.",
        "The twins are driven to school by Mrs Petrov from next door.",
    )
    again = ("Macbeth: Ravi", "The title part in the Scottish play went to Ravi")
    odds = {pair: compare(pair[1], pair[0]) for pair in (newer, again)}
    assert [one.likeness for one in odds.values()] == ["update", "restates"]
    assert all(0.3 < one.score < 0.65 for one in odds.values())
    asked = [
        rivals(Candidate(new, "project", (), "user"), [known("a.md", old)]) for old, new in odds
    ]
    assert asked == [(("a.md", "update"),), ()]
