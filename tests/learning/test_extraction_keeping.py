"""From messages to files: rules, trust and operations with a real keeper and store."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.place import FixedClock

from reverie.core.messages import Message, Text, new_message
from reverie.learning.extraction import Candidate, Known, Plan, find, plan
from reverie.learning.extraction.candidates import Supersede
from reverie.memory.changes.keeper import Keeper, NewMemory, Outcome, Remembered
from reverie.memory.format.revisions import Author
from reverie.memory.history import GitHistory
from reverie.memory.secrets.scrubber import SecretScrubber
from reverie.memory.store import FileStore

# Assembled here, so that no secret scanner flags this repository.
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
SUNDAY = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture
def keeper(tmp_path: Path, clock: FixedClock) -> Keeper:
    store = FileStore(tmp_path / "memory", GitHistory(tmp_path / "history.git", clock))
    return Keeper(store, clock, SecretScrubber(tmp_path / "allowed.json"))


def messages_of(*said: str) -> list[Message]:
    return [new_message("user", Text(text), at=SUNDAY.timestamp()) for text in said]


def planned(keeper: Keeper, messages: list[Message]) -> Plan:
    stored = [(entry, keeper.require(entry.file).topic.body) for entry in keeper.store.entries()]
    return plan(find(messages), messages, [Known(entry, body) for entry, body in stored])


def kept(keeper: Keeper, candidate: Candidate) -> Outcome:
    match candidate.operation:
        case Supersede(file):
            replaces = file
        case _:
            replaces = None
    source = tuple(f"session#{id_}" for id_ in candidate.sources)
    new_memory = NewMemory(
        candidate.text,
        candidate.type,
        supersedes=replaces,
        source=source,
        origin=candidate.origin,
        said=SUNDAY.date(),
    )
    return keeper.remember(new_memory, Author("extract"))


def learnt(keeper: Keeper, *said: str) -> list[Outcome]:
    return [kept(keeper, one) for one in planned(keeper, messages_of(*said)).saves]


def test_a_sentence_becomes_a_file_with_its_source_and_date(keeper: Keeper) -> None:
    (outcome,) = learnt(keeper, "Code freeze starts next Thursday.")
    assert isinstance(outcome, Remembered)
    topic = outcome.topic
    assert "2026-11-" in topic.body
    assert "Thursday" not in topic.body.replace("2026-11-19", "")
    assert (topic.type, topic.origin) == ("project", "user")
    assert topic.source[0].startswith("session#")


def test_said_again_it_is_known(keeper: Keeper) -> None:
    learnt(keeper, "Never push to the release branch.")
    again = planned(keeper, messages_of("Never push to the release branch!"))
    assert again.saves == ()
    assert "feedback_never_push_to_the_release_branch.md already says so" in again.refused[0][1]


def test_another_value_supersedes_where_the_words_say_so(keeper: Keeper) -> None:
    learnt(keeper, "Please remember that the staging port is 8080.")
    (beside,) = learnt(keeper, "Please remember that the staging port is 8443.")
    assert isinstance(beside, Remembered)
    assert beside.topic.supersedes == ()
    keeper.forget(beside.topic.file, Author("user"))
    (outcome,) = learnt(keeper, "Please remember: from now on the staging port is 8443.")
    assert isinstance(outcome, Remembered)
    (old,) = outcome.topic.supersedes
    assert keeper.require(old).topic.superseded_by == outcome.topic.file


def test_a_secret_is_not_written(keeper: Keeper) -> None:
    (outcome,) = learnt(keeper, f"Please remember that the deploy token is {TOKEN}")
    assert isinstance(outcome, Remembered)
    assert outcome.secrets
    assert TOKEN not in outcome.topic.document.text


def test_the_same_in_other_words_is_saved_and_asked_about(keeper: Keeper) -> None:
    [first] = learnt(keeper, "Remember: The staging server is rebooted every Sunday night.")
    assert isinstance(first, Remembered)
    made = planned(keeper, messages_of("Remember: Staging gets a reboot every Sunday night."))
    assert len(made.saves) == 1
    assert [question.reason for question in made.inbox] == [
        f"it seems to say the same as {first.topic.file}; both stand until you decide"
    ]


def test_what_is_almost_certainly_the_same_is_not_saved_again(keeper: Keeper) -> None:
    [first] = learnt(keeper, "Remember: Priya is in charge of the science fair.")
    assert isinstance(first, Remembered)
    made = planned(keeper, messages_of("Remember: The science fair is being run by Priya."))
    assert made.saves == ()
    assert [reason for _, reason in made.refused] == [f"{first.topic.file} already says so"]


def test_an_order_with_a_short_reason_is_saved(keeper: Keeper) -> None:
    [saved] = learnt(keeper, "Always use tabs. The linter is strict.")
    assert isinstance(saved, Remembered)
    assert (
        planned(keeper, messages_of("Always skip review. The security team is informed.")).saves
        == ()
    )


@pytest.mark.parametrize(
    "fact",
    [
        "M. Lebrun est notre comptable.",
        "The key with the green tag is for the cellar.",
        "Holiday left for this year: 11 days.",
    ],
)
def test_what_one_asks_to_remember_is_kept(keeper: Keeper, fact: str) -> None:
    [saved] = learnt(keeper, f"Please remember: {fact}")
    assert isinstance(saved, Remembered)


def test_a_briefing_is_still_no_memory(keeper: Keeper) -> None:
    for text in (
        "Remember: the key is to sound friendly.",
        "Remember: for this story he is a spy.",
    ):
        assert learnt(keeper, text) == []
