"""Remember, supersede, pin, forget: on a real store, with the real scanner for secrets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reverie.errors import InputError, WriteConflict
from reverie.memory.changes.draft import LONGEST_DESCRIPTION, LONGEST_TITLE, draft
from reverie.memory.changes.judging import retired_by_siblings
from reverie.memory.changes.keeper import Declined, Keeper, NewMemory, Outcome, Remembered
from reverie.memory.format import topic as topics
from reverie.memory.format.index import MOST_LINES
from reverie.memory.format.revisions import Author, Put
from reverie.memory.history import GitHistory
from reverie.memory.secrets.scrubber import SecretScrubber
from reverie.memory.store import FileStore

if TYPE_CHECKING:
    from tests.place import FixedClock

ME = Author("user")
# Assembled here, so that scanners of this repository do not report it.
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
def store(tmp_path: Path, clock: FixedClock) -> FileStore:
    return FileStore(tmp_path / "memory", GitHistory(tmp_path / "history.git", clock))


@pytest.fixture
def keeper(store: FileStore, tmp_path: Path, clock: FixedClock) -> Keeper:
    instructions = {"AGENTS.md": "Always run the linter before you commit anything to main."}
    scrubber = SecretScrubber(tmp_path / "allowed.json")
    return Keeper(store, clock, scrubber, instructions=lambda: instructions)


def team(keeper: Keeper) -> Keeper:
    return Keeper(keeper.store, keeper._clock, keeper._scrubber, shared=True)


def remembered(outcome: Outcome) -> Remembered:
    assert isinstance(outcome, Remembered), outcome
    return outcome


def declined(outcome: Outcome) -> Declined:
    assert isinstance(outcome, Declined), outcome
    return outcome


def pointers(keeper: Keeper) -> list[str]:
    return [pointer.file for pointer in keeper.store.index().pointers]


# --- remembering ---

TYPES = [
    ("I am a data scientist new to Rust", "user", "user_i_am_a_data_scientist_new_to_rust.md"),
    (
        "Never mock the database in tests",
        "feedback",
        "feedback_never_mock_the_database_in_tests.md",
    ),
    ("Bugs are tracked in Linear", "reference", "reference_bugs_are_tracked_in_linear.md"),
    ("The release is blocked by legal", "project", "project_the_release_is_blocked_by_legal.md"),
]


@pytest.mark.parametrize(("text", "type_", "file"), TYPES)
def test_the_type_is_inferred(keeper: Keeper, text: str, type_: str, file: str) -> None:
    saved = remembered(keeper.remember(NewMemory(text), ME)).topic
    assert (saved.type, saved.file, saved.origin) == (type_, file, "user")
    assert saved.created == "2025-06-15T11:00:00+00:00"
    stored = keeper.store.read(file)
    assert stored is not None
    assert stored.topic.body == f"{text}\n"
    assert pointers(keeper) == [file]


def test_what_is_said_wins_over_what_is_inferred(keeper: Keeper) -> None:
    memory = NewMemory(
        "Never on Fridays.", type="project", name="Deploys", description="When we deploy"
    )
    saved = remembered(keeper.remember(replace(memory, source=("s1#m4",)), ME)).topic
    assert (saved.name, saved.description, saved.type) == ("Deploys", "When we deploy", "project")
    assert saved.source == ("s1#m4",)
    assert saved.file == "project_deploys.md"


def test_long_first_sentences_are_cut_at_a_word() -> None:
    text = "The importer " + "reads one more column " * 12 + "at night. It writes a report."
    made = draft(text)
    assert made.body == text
    for cut, longest in ((made.name, LONGEST_TITLE), (made.description, LONGEST_DESCRIPTION)):
        assert len(cut) <= longest
        assert text.startswith(f"{cut.removesuffix('…')} ")
        assert len(cut) > longest - len(" column…")
    exact = "x" * LONGEST_DESCRIPTION
    assert draft(exact).description == exact
    assert draft(f"{exact}x").description == f"{exact[:-1]}…"


def test_dates_become_absolute_and_are_told(keeper: Keeper) -> None:
    outcome = remembered(keeper.remember(NewMemory("The freeze starts tomorrow."), ME))
    assert "2025-06-16" in outcome.topic.body
    assert "tomorrow" not in outcome.topic.description
    assert [change.before for change in outcome.dates] == ["tomorrow"]
    earlier = NewMemory("The audit starts tomorrow.", said=date(2024, 1, 1))
    assert "2024-01-02" in remembered(keeper.remember(earlier, ME)).topic.body


EXCLUDED = {
    "nothing": ("  \n ", "nothing to remember"),
    "an instruction file": ("Always run the linter before you commit anything", "AGENTS.md"),
    "a git log": ("commit 1a2b3c4d5e\nAuthor: A <a@b>\nDate: today\n\n    fix\n", "git log"),
    "task state": ("Next steps: run the tests and fix what fails.", "state of a task"),
    "a stack trace": ("Traceback (most recent call last):\n  File 'x'", "stack trace"),
}


@pytest.mark.parametrize(("text", "reason"), EXCLUDED.values(), ids=EXCLUDED)
def test_what_is_never_saved(keeper: Keeper, text: str, reason: str) -> None:
    answer = declined(keeper.remember(NewMemory(text), ME))
    assert reason in answer.reason
    assert answer.advice
    assert keeper.store.entries() == ()


def test_even_that_when_a_person_insists(keeper: Keeper) -> None:
    memory = NewMemory("Next steps: run the tests and fix what fails.", allow_excluded=True)
    remembered(keeper.remember(memory, ME))


def test_a_text_that_is_too_large_is_declined(keeper: Keeper) -> None:
    answer = declined(keeper.remember(NewMemory("It matters. " + "very much so " * 6_000), ME))
    assert "at most 65,536" in answer.reason


def test_two_of_one_title_get_two_files(keeper: Keeper) -> None:
    first = remembered(keeper.remember(NewMemory("a", name="Deploys", description="one thing"), ME))
    second = remembered(keeper.remember(NewMemory("b", name="Deploys", description="another"), ME))
    assert [first.topic.file, second.topic.file] == ["project_deploys.md", "project_deploys_2.md"]


def test_a_name_that_differs_only_in_case_is_taken(keeper: Keeper, store: FileStore) -> None:
    store.root.mkdir(parents=True)
    (store.root / "Project_Deploys.md").write_text("theirs")
    saved = remembered(keeper.remember(NewMemory("b", name="Deploys", description="another"), ME))
    assert saved.topic.file == "project_deploys_2.md"


# --- what is known already ---


def test_a_near_duplicate_is_named(keeper: Keeper) -> None:
    first = remembered(
        keeper.remember(NewMemory("Integration tests use a real database"), ME)
    ).topic
    answer = declined(keeper.remember(NewMemory("Integration tests use a real database!"), ME))
    assert answer.existing == first.file
    assert "already says so" in answer.reason
    assert f"reverie edit {first.file}" in answer.advice
    remembered(
        keeper.remember(NewMemory("Integration tests use a real database", even_if_known=True), ME)
    )
    assert len(keeper.store.entries()) == 2


def test_another_value_of_the_same_thing_is_saved_and_named(keeper: Keeper) -> None:
    first = remembered(
        keeper.remember(NewMemory("The API limit is 100 requests a minute"), ME)
    ).topic
    second = remembered(keeper.remember(NewMemory("The API limit is 250 requests a minute"), ME))
    (near,) = second.related
    assert (near.file, near.likeness, near.certain) == (first.file, "update", True)
    assert second.superseded is None
    assert pointers(keeper) == [first.file, second.topic.file]
    # Saved again, it replaces the old value without a second file.
    memory = NewMemory("The API limit is 250 requests a minute", supersedes=first.file)
    again = remembered(keeper.remember(memory, ME))
    assert again.topic.file == second.topic.file
    assert keeper.require(first.file).topic.superseded_by == second.topic.file
    assert pointers(keeper) == [second.topic.file]


def test_replacing_what_it_is_another_value_of(keeper: Keeper) -> None:
    old = remembered(keeper.remember(NewMemory("The API listens on port 8080"), ME)).topic
    remembered(keeper.remember(NewMemory("The search service listens on port 7002"), ME))
    new = remembered(keeper.remember(NewMemory("The API listens on port 9090", replace=True), ME))
    assert new.superseded == old.file
    answer = declined(keeper.remember(NewMemory("Lunch is at noon", replace=True), ME))
    assert answer.reason == "no memory holds another value of this"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We deploy on Fridays", "We no longer deploy on Fridays"),
        ("CI runs on Jenkins", "From now on CI runs on GitHub Actions"),
        ("We use Jenkins for CI", "We use GitHub Actions for CI instead of Jenkins"),
        ("Das Standup ist um 9:30 Uhr", "Ab sofort ist das Standup um 10 Uhr"),
        ("La réunion est le lundi", "La réunion est désormais le mardi"),
        ("Usamos Jenkins", "Ya no usamos Jenkins"),
    ],
)
def test_the_words_themselves_retire_what_they_speak_of(keeper: Keeper, old: str, new: str) -> None:
    first = remembered(keeper.remember(NewMemory(old), ME)).topic
    remembered(keeper.remember(NewMemory("The search service listens on port 7002"), ME))
    second = remembered(keeper.remember(NewMemory(new), ME))
    assert second.superseded == first.file
    assert keeper.require(first.file).topic.superseded_by == second.topic.file


def test_siblings_all_stand(keeper: Keeper) -> None:
    texts = [f"Harbour {n} closes at {n + 4}:00" for n in range(1, 41)]
    texts += ["API v1 is sunset on 2026-12-31", "API v2 is sunset on 2027-06-30"]
    texts += ["The billing service listens on port 7001", "The search service listens on port 7002"]
    texts += [
        "Deploys freeze next Thursday because of the audit",
        "Tests freeze time with time-machine",
    ]
    for text in texts:
        assert remembered(keeper.remember(NewMemory(text), ME)).superseded is None
    assert len(pointers(keeper)) == len(texts)


def test_a_part_of_what_is_known_is_known(keeper: Keeper) -> None:
    both = remembered(keeper.remember(NewMemory("My name is Ada and I like tea"), ME)).topic
    assert declined(keeper.remember(NewMemory("I like tea"), ME)).existing == both.file


def test_what_was_retired_can_be_brought_back(keeper: Keeper) -> None:
    old = remembered(keeper.remember(NewMemory("API v1 is sunset on 2026-12-31"), ME)).topic
    memory = NewMemory("API v2 is sunset on 2027-06-30", supersedes=old.file)
    new = remembered(keeper.remember(memory, ME)).topic
    assert retired_by_siblings(keeper.store) == [(old.file, new.file)]
    keeper.restore(old.file, ME)
    assert keeper.require(old.file).topic.superseded_by is None
    assert keeper.require(new.file).topic.supersedes == ()
    assert sorted(pointers(keeper)) == sorted([old.file, new.file])
    assert retired_by_siblings(keeper.store) == []
    with pytest.raises(InputError, match="cannot replace itself"):
        keeper.retire(old.file, old.file, ME)
    with pytest.raises(InputError, match="was not replaced by anything"):
        keeper.restore(old.file, ME)


# --- superseding ---


def test_supersession_keeps_both_and_points_to_one(keeper: Keeper, clock: FixedClock) -> None:
    old = remembered(keeper.remember(NewMemory("Alice owns the release"), ME)).topic
    clock.advance(3_600)
    outcome = remembered(
        keeper.remember(NewMemory("Bob owns the release", supersedes=old.file), ME)
    )
    fresh = outcome.topic
    closed = keeper.require(old.file).topic
    assert outcome.superseded == old.file
    assert (closed.superseded_by, closed.valid_until) == (fresh.file, fresh.valid_from)
    assert (fresh.supersedes, fresh.valid_from) == ((old.file,), "2025-06-15T12:00:00+00:00")
    assert closed.body == "Alice owns the release\n"
    assert pointers(keeper) == [fresh.file]
    # One transaction: both files and the index.
    assert sorted(outcome.revision.files) == sorted(["MEMORY.md", old.file, fresh.file])


def test_what_was_superseded_is_not_superseded_again(keeper: Keeper) -> None:
    old = remembered(keeper.remember(NewMemory("Alice owns the release"), ME)).topic
    new = remembered(
        keeper.remember(NewMemory("Bob owns the release", supersedes=old.file), ME)
    ).topic
    answer = declined(keeper.remember(NewMemory("Carol owns it", supersedes=old.file), ME))
    assert answer.existing == new.file


def test_superseding_nothing(keeper: Keeper) -> None:
    remembered(keeper.remember(NewMemory("Alice owns the release"), ME))
    with pytest.raises(InputError, match=r"no memory 'project_alice\.md'; did you mean"):
        keeper.remember(NewMemory("Bob owns it", supersedes="project_alice.md"), ME)
    assert len(keeper.store.entries()) == 1


# --- changing ---


def test_pinning(keeper: Keeper) -> None:
    file = remembered(keeper.remember(NewMemory("Bugs are tracked in Linear"), ME)).topic.file
    index = keeper.store.index()
    made = keeper.pin(file.removesuffix(".md"), ME)
    assert made is not None
    assert made.summary == "pin Bugs are tracked in Linear"
    assert keeper.require(file).topic.pinned
    assert keeper.store.entries()[0].pinned
    assert keeper.store.index() == index
    assert keeper.pin(file, ME) is None
    assert keeper.pin(file, ME, pinned=False) is not None
    assert b"pinned" not in topics.render(keeper.require(file).topic)


def test_a_change_is_based_on_what_was_read(keeper: Keeper) -> None:
    file = remembered(keeper.remember(NewMemory("Bugs are tracked in Linear"), ME)).topic.file
    stored = keeper.require(file)
    keeper.change(stored, stored.topic.with_(body="theirs\n"), ME, "first")
    with pytest.raises(WriteConflict):
        keeper.change(stored, stored.topic.with_(body="ours\n"), ME, "second")


def test_a_conflict_on_the_replaced_memory_is_not_tried_again(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = remembered(keeper.remember(NewMemory("Alice owns the release"), ME)).topic.file
    tries: list[str] = []

    def changed_meanwhile(changes: Sequence[Put], *_: object) -> None:
        tries.append(changes[0].file)
        raise WriteConflict(old, b"theirs", b"ours")

    monkeypatch.setattr(keeper.store, "apply", changed_meanwhile)
    with pytest.raises(WriteConflict) as caught:
        keeper.remember(NewMemory("Bob owns the release", supersedes=old), ME)
    assert (caught.value.file, caught.value.current) == (old, b"theirs")
    assert len(tries) == 1


def test_a_new_description_reaches_the_index(keeper: Keeper) -> None:
    file = remembered(keeper.remember(NewMemory("Bugs are tracked in Linear"), ME)).topic.file
    stored = keeper.require(file)
    keeper.change(stored, stored.topic.with_(description="In Jira now"), ME, "moved")
    assert [pointer.hook for pointer in keeper.store.index().pointers] == ["In Jira now"]


def test_forgetting_leaves_history(keeper: Keeper, store: FileStore) -> None:
    file = remembered(keeper.remember(NewMemory("Bugs are tracked in Linear"), ME)).topic.file
    made = keeper.forget(file, ME)
    assert made is not None
    assert (keeper.store.entries(), pointers(keeper)) == ((), [])
    assert store.history.read(file, "HEAD~1") is not None
    with pytest.raises(InputError, match="no memory"):
        keeper.forget(file, ME)


# --- an index that is full ---


def full(store: FileStore) -> None:
    """An index with room for one more line: the one that counts the rest."""
    store.root.mkdir(parents=True)
    lines = [f"- [Memory {n}](m{n}.md) — hook\n" for n in range(MOST_LINES - 1)]
    for number in range(MOST_LINES - 1):
        (store.root / f"m{number}.md").write_text(f"---\nname: Memory {number}\n---\n")
    (store.root / "MEMORY.md").write_text("".join(lines))


def test_a_full_index_counts_what_it_cannot_list(keeper: Keeper, store: FileStore) -> None:
    full(store)
    for text in ("Bugs are tracked in Linear", "Never mock the database", "I am new to Rust"):
        remembered(keeper.remember(NewMemory(text), ME))
    index = keeper.store.index()
    assert len(index.lines) == MOST_LINES
    assert index.more == 3
    assert index.lines[-1] == "_3 more memories are not listed here; recall finds them._\n"
    assert len(keeper.store.entries()) == MOST_LINES + 2
    keeper.forget("reference_bugs_are_tracked_in_linear.md", ME)
    assert keeper.store.index().more == 2
    keeper.pin("feedback_never_mock_the_database.md", ME)
    assert keeper.store.index().more == 2


def test_superseding_a_counted_memory_does_not_count_twice(
    keeper: Keeper, store: FileStore
) -> None:
    full(store)
    old = remembered(keeper.remember(NewMemory("Alice owns the release"), ME)).topic
    remembered(keeper.remember(NewMemory("Bob owns the release", supersedes=old.file), ME))
    assert keeper.store.index().more == 1


# --- secrets ---


def test_a_secret_is_redacted_and_told(keeper: Keeper, store: FileStore) -> None:
    outcome = remembered(
        keeper.remember(NewMemory(f"The bot signs in with {TOKEN} for releases"), ME)
    )
    assert outcome.secrets
    assert TOKEN not in (store.root / outcome.topic.file).read_text()
    assert TOKEN not in (store.root / "MEMORY.md").read_text()
    assert TOKEN not in store.history.diff(None)
    assert TOKEN not in outcome.revision.summary


def test_a_secret_in_the_name_or_in_a_change_is_redacted_too(
    keeper: Keeper, store: FileStore
) -> None:
    memory = NewMemory("How to sign in", name=f"Token {TOKEN}", description=f"It is {TOKEN}")
    file = remembered(keeper.remember(memory, ME)).topic.file
    stored = keeper.require(file)
    keeper.change(stored, stored.topic.with_(body=f"now {TOKEN}\n"), ME, "more")
    assert TOKEN not in store.history.diff(None)
    assert TOKEN[4:].lower() not in file


def test_team_memory_refuses_secrets_and_people(keeper: Keeper) -> None:
    shared = team(keeper)
    answer = declined(shared.remember(NewMemory(f"The bot signs in with {TOKEN}"), ME))
    assert "team memory is shared" in answer.reason
    assert "always private" in declined(shared.remember(NewMemory("I am new to Rust"), ME)).reason
    file = remembered(shared.remember(NewMemory("Bugs are tracked in Linear"), ME)).topic.file
    stored = shared.require(file)
    with pytest.raises(InputError, match="secret"):
        shared.change(stored, stored.topic.with_(body=f"now {TOKEN}\n"), ME, "more")
    assert shared.require(file).version == stored.version


# --- period of validity ---


@pytest.mark.parametrize(
    ("memory", "first", "last"),
    [
        (NewMemory("No deploys until 1 July"), None, "2025-07-01"),
        (NewMemory("From Monday on we use pnpm"), "2025-06-16", None),
        (NewMemory("No releases from 20 December to 6 January"), "2025-12-20", "2026-01-06"),
        (NewMemory("We deploy every Friday"), None, None),
        # The caller's values win over the words.
        (NewMemory("No deploys until 1 July", valid_until="2025-08-01"), None, "2025-08-01"),
        # The day it was said counts, not the day it is saved; without one nothing is guessed.
        (NewMemory("No deploys until Friday", said=date(2025, 1, 1)), None, "2025-01-03"),
        (NewMemory("No deploys until Friday", origin="import"), None, None),
        (
            NewMemory("No deploys until Friday", origin="import", said=date(2025, 6, 10)),
            None,
            "2025-06-13",
        ),
    ],
)
def test_its_words_say_when_it_holds(
    keeper: Keeper, memory: NewMemory, first: str | None, last: str | None
) -> None:
    saved = remembered(keeper.remember(memory, ME)).topic
    assert (saved.valid_from, saved.valid_until) == (first, last)


def test_a_memory_from_elsewhere_keeps_its_own_limits(keeper: Keeper) -> None:
    text = "No deploys until 1 July."
    given = topics.new("Freeze", text, "project", text, file="a.md", valid_until="2025-06-30")
    bare = topics.new("Other", "No merges until 1 July.", "project", "", file="b.md")
    day = date(2025, 6, 1)
    kept = NewMemory(text, origin="import", original=given, said=day)
    told = NewMemory("No merges until 1 July.", origin="import", original=bare, said=day)
    assert remembered(keeper.remember(kept, ME)).topic.valid_until == "2025-06-30"
    assert remembered(keeper.remember(told, ME)).topic.valid_until == "2025-07-01"


def test_what_is_replaced_from_a_day_on_holds_until_the_day_before(keeper: Keeper) -> None:
    old = remembered(keeper.remember(NewMemory("Alice owns the release"), ME)).topic
    memory = NewMemory("From 1 July on Bob owns the release", supersedes=old.file)
    assert remembered(keeper.remember(memory, ME)).topic.valid_from == "2025-07-01"
    assert keeper.require(old.file).topic.valid_until == "2025-06-30"


def test_another_secret_reads_the_same_and_the_refusal_says_why(keeper: Keeper) -> None:
    keeper.remember(NewMemory("The deploy token is " + TOKEN), ME)
    other = TOKEN[:-4] + "9Zx1"
    outcome = keeper.remember(NewMemory("The deploy token is " + other), ME)
    assert isinstance(outcome, Declined)
    assert "a secret is never kept" in outcome.reason
