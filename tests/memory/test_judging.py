"""Memories similar to a new text, and reasons not to save it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from reverie.memory.changes.draft import Declined, Draft, Related, draft
from reverie.memory.changes.judging import (
    ImportBatch,
    Neighbours,
    neighbours,
    newest_value,
    not_for_team,
    nothing_to_replace,
    replaced,
    too_large,
    twin,
)
from reverie.memory.format import topic
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.format.topic import LARGEST_FILE, Topic, render

DAY = datetime(2026, 11, 15, tzinfo=UTC)
PORT = ("port.md", "The port is 8080")
COLOUR = ("colour.md", "My favourite colour is purple")
SHELF = (PORT, COLOUR, ("deploy.md", "Deploys happen on Tuesday"))


def entry(file: str, text: str, **more: bool) -> ManifestEntry:
    return ManifestEntry(file, "project", DAY, text, f"The title of {file}", **more)


def near(made: Draft, *existing: tuple[str, str], body: str = "") -> Neighbours:
    return neighbours(made, [entry(file, text) for file, text in existing], lambda file: body)


def memory(file: str, text: str, body: str = "", **more: str) -> Topic:
    return topic.new(text, text, "project", body or text, file=file, **more)


# --- neighbours ---


def test_what_says_the_same_is_a_reason_and_all_that_is_near_is_told() -> None:
    found = near(draft("the port is 8080."), ("a.md", "The port is 8443"), *SHELF)
    assert found.same == Declined(
        "port.md already says so: The port is 8080",
        "change it with `reverie edit port.md`, or save anyway with --even-if-known",
        "port.md",
    )
    assert found.replaces is None
    assert [(one.file, one.likeness) for one in found.related] == [
        ("port.md", "duplicate"),
        ("a.md", "update"),
    ]


def test_another_value_is_told_with_how_certain_that_is_and_replaces_nothing() -> None:
    found = near(draft("The port is 8443"), *SHELF)
    assert found == Neighbours(related=(Related(*PORT, "update", certain=True),))


def test_words_that_say_something_is_over_replace_the_one_memory_they_speak_of() -> None:
    assert near(draft("From now on the port is 8443"), *SHELF).replaces == "port.md"
    twice = (PORT, ("port2.md", "The port is 9090"))
    assert near(draft("From now on the port is 8443"), *twice).replaces is None


def test_when_the_words_name_the_outdated_one_a_sibling_is_not_told_as_another_value() -> None:
    found = near(
        draft("The search service now listens on port 7102"),
        ("billing.md", "The billing service listens on port 7001"),
        ("search.md", "The search service listens on port 7002"),
    )
    assert found.replaces == "search.md"
    assert [one.file for one in found.related if one.likeness == "update"] == ["search.md"]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Local environments are started with docker compose", "The roofers start on 2027-09-06"),
        ("We use Storybook for UI components", "We don't use pesticides in our garden"),
        ("Electricity comes to about 95 a month", "The cleaner comes on Fridays"),
    ],
)
def test_one_common_verb_is_not_worth_a_line(text: str, other: str) -> None:
    assert near(draft(text), ("other.md", other)).related == ()
    told = near(
        draft("The search service listens on port 7002"),
        ("billing.md", "The billing service listens on port 7001"),
    )
    assert [one.file for one in told.related] == ["billing.md"]


def test_three_neighbours_are_told() -> None:
    existing = [(f"{n}.md", f"The port is {n}") for n in range(8_000, 8_005)]
    assert len(near(draft("The port is 8443"), *existing).related) == 3


@pytest.mark.parametrize("away", ["superseded", "archived"])
def test_what_was_put_away_is_no_neighbour(away: str) -> None:
    existing = [entry(*PORT, **{away: True})]
    assert neighbours(draft("The port is 8080"), existing, lambda file: "") == Neighbours()


def test_a_memory_without_a_description_is_known_by_its_name() -> None:
    existing = [ManifestEntry("port.md", "project", DAY, "", "The port is 8080")]
    same = neighbours(draft("The port is 8080"), existing, lambda file: "").same
    assert same is not None
    assert same.existing == "port.md"


@pytest.mark.parametrize(
    ("description", "body", "known"),
    [
        # The same description with the same body, with another one, and taken from the body.
        ("Where the port is told", "Ask Mira; the list hangs in the hall.", True),
        ("Where the port is told", "It stands in the settings file.", False),
        ("Something else altogether", "Ask Mira; the list hangs in the hall.", False),
    ],
)
def test_a_line_of_its_own_is_the_same_when_the_text_below_it_is(
    description: str, body: str, known: bool
) -> None:
    made = draft("Ask Mira; the list hangs in the hall.", description="Where the port is told")
    existing = (("lunch.md", "Lunch is at noon"), ("told.md", description))
    found = near(made, *existing, body=body)
    assert (found.same.existing if found.same else None) == ("told.md" if known else None)


def test_a_line_taken_from_the_text_is_not_compared_twice() -> None:
    made = Draft("Port", "Ask Mira", "project", "Ask Mira before you change the port")
    assert (
        near(made, ("ask.md", "Ask Mira"), body="Ask Mira before you change the port").same is None
    )


LETTERS = "a" * 67


@pytest.mark.parametrize(
    ("longest", "words", "cut"),
    [
        (70, "a" * 70, "a" * 70),
        (70, "a" * 71, "a" * 69 + "…"),
        (70, f"x {LETTERS} bb", "x…"),
        (70, f"x {LETTERS[1:]} bbb", f"x {LETTERS[1:]}…"),
        (180, "b" * 180, "b" * 180),
        (180, "b" * 181, "b" * 179 + "…"),
    ],
)
def test_a_title_and_a_line_are_cut_at_a_word(longest: int, words: str, cut: str) -> None:
    made = draft("Ask Mira.", name=words) if longest == 70 else draft("Ask.", description=words)
    assert (made.name if longest == 70 else made.description) == cut


LONG = "They close at noon in winter and at two in summer, unless it rains. " * 3


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("# Ask Mira.  She knows. And tells.", "Ask Mira", "Ask Mira. She knows. And tells."),
        (
            "- Ask Dr. Blau on the 4. August!\nNow",
            "Ask Dr. Blau on the 4. August",
            "Ask Dr. Blau on the 4. August! Now",
        ),
        ("Bins go out on Mondays. Not in May.", "Bins go out on Mondays", None),
        ("Where is the trailer? Behind the barn.", "Where is the trailer", None),
        (f"Bins go out on Mondays. {LONG}", "Bins go out on Mondays", "Bins go out on Mondays."),
        (
            f"When do they close? {LONG}",
            "When do they close",
            f"When do they close? {LONG}"[:178].rpartition(" ")[0] + "…",
        ),
        ("-5 degrees is when pipes freeze", "-5 degrees is when pipes freeze", None),
        ("> 30 guests: rent the hall", "> 30 guests: rent the hall", None),
        ("- .5 mm is enough", "- .5 mm is enough", None),
        ("--force is forbidden", "--force is forbidden", None),
        ("> Say it\n> twice", "Say it", "Say it twice"),
        ("## Bread\n\n* rye\n- **spelt**\n---\n", "Bread", "Bread; rye; spelt"),
        ("", "", ""),
    ],
)
def test_a_draft_is_named_by_its_first_sentence_and_described_by_all(
    text: str, name: str, line: str | None
) -> None:
    made = draft(text)
    assert made.name == name
    assert made.description == (text if line is None else line)
    assert made.claim == (text.strip() or made.description)


def test_a_draft_without_a_text_claims_its_line() -> None:
    assert Draft("Port", "The port is 8080", "project", "").claim == "The port is 8080"
    assert Draft("Port", "The port is 8080", "project", "Ask Mira").claim == "Ask Mira"


def test_what_is_only_related_is_neither_certain_nor_weighed() -> None:
    assert Related(*PORT, "update") == Related(*PORT, "update", certain=False, weighed=False)


def test_an_import_knows_what_it_brought_and_what_was_there() -> None:
    old = entry("Old.md", "The port is 8080")
    unnamed = ManifestEntry("bare.md", "project", DAY, "", "Deploys happen on Tuesday")
    gone = entry("gone.md", "My favourite colour is purple", archived=True)
    batch = ImportBatch([old, unnamed, gone])
    assert batch.is_whole
    assert not ImportBatch().is_whole
    assert [one.file for one in batch.known("The port is 8443")] == ["Old.md"]
    assert [one.file for one in batch.known("Deploys happen on Friday")] == ["bare.md"]
    assert not batch.known("My favourite colour is green")
    assert batch.has("old.md")
    assert not batch.has("new.md")
    assert not batch.alike("Lunch is at noon")
    batch.add(memory("New.md", "Lunch is at noon"))
    assert batch.has("new.MD")
    assert list(batch.alike("Lunch is at one")) == [("New.md", "Lunch is at noon")]


# --- replacing ---


@pytest.mark.parametrize(
    ("updates", "newest"),
    [
        ([], None),
        ([("a.md", "update", False)], "a.md"),
        ([("a.md", "update", False), ("b.md", "update", True)], "b.md"),
        ([("a.md", "update", True), ("b.md", "update", True)], None),
        ([("a.md", "update", False), ("b.md", "update", False)], None),
        ([("a.md", "sibling", True)], None),
        ([("a.md", "extends", True), ("b.md", "update", False)], "b.md"),
    ],
)
def test_the_memory_of_which_it_is_a_newer_value(updates, newest) -> None:
    near = [Related(file, "…", likeness, certain) for file, likeness, certain in updates]
    assert newest_value(near) == newest


def test_a_newer_value_by_rule_goes_before_one_by_odds() -> None:
    near = [
        Related("a.md", "…", "update", weighed=True),
        Related("b.md", "…", "update"),
    ]
    assert newest_value(near) == "b.md"
    assert newest_value(near[:1]) == "a.md"


def test_a_guess_is_never_replaced_unasked() -> None:
    assert newest_value([Related("a.md", "…", "update", weighed=True, odds=0.49)]) is None
    assert newest_value([Related("a.md", "…", "update", weighed=True, odds=0.5)]) == "a.md"


def test_nothing_to_replace_says_why() -> None:
    assert nothing_to_replace([]) == Declined(
        "no memory holds another value of this", "save it without --replace"
    )
    both = [Related("a.md", "…", "update"), Related("b.md", "…", "update")]
    assert nothing_to_replace(both) == Declined(
        "it is not certain what this replaces: a.md, b.md",
        "name it, for example with --supersedes a.md",
        "a.md",
    )


def test_a_memory_has_one_successor() -> None:
    assert replaced(memory(*PORT)) is None
    assert replaced(memory(*PORT, superseded_by="new.md")) == Declined(
        "port.md was already replaced by new.md", "replace it with --supersedes new.md", "new.md"
    )


# --- other reasons ---


def test_a_pile_that_says_a_thing_twice() -> None:
    beside = [(one.file, one.description) for one in (memory(*PORT), memory(*COLOUR))]
    assert twin(draft("the port is 8080"), beside) == Declined(
        "port.md, from the same import, already says so", existing="port.md"
    )
    assert twin(draft("The port is 8443"), beside) is None
    assert twin(draft("Lunch is at noon"), beside) is None


def test_a_memory_of_the_largest_size_is_kept_and_one_byte_more_is_not() -> None:
    small = memory("a.md", "A")
    full = small.with_(body="x" * (LARGEST_FILE - len(render(small)) + len(small.body)))
    assert len(render(full)) == LARGEST_FILE
    assert too_large(full) is None
    assert too_large(full.with_(body=full.body + "x")) == Declined(
        "it would be 65,537 bytes; a memory holds at most 65,536",
        "keep the point and move the detail elsewhere",
    )


def test_people_and_secrets_are_not_for_a_team() -> None:
    assert not_for_team("project", ()) is None
    person = not_for_team("user", ())
    assert person is not None
    assert person.reason == "it is about a person (type user), which is always private"
    secret = not_for_team("user", ("GitHub token", "password"))
    assert secret is not None
    assert secret.reason == "it holds a secret (GitHub token, password), and team memory is shared"
