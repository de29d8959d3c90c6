"""When recall does not even look: the first reason that applies."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reverie.core.messages import Text, new_message
from reverie.memory.format import topic
from reverie.memory.format.topic import Topic
from reverie.recall import attachment
from reverie.recall.attachment import END, MOST_SESSION_BYTES, Due, Skipped, Surfaced, due


def person(text: str):
    return new_message("user", Text(text))


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("when can I ship?", True),
        ("fix the flaky test", True),
        ("  deploy now ", True),
        ("ok", False),
        ("continue", False),
        ("", False),
        ("   ", False),
        ("👍", False),
        ("/compact", False),
        ("部署冻结是什么时候", True),
        ("デプロイはいつ", True),
        ("언제", True),
    ],
)
def test_too_little_to_go_on(text: str, looks: bool):
    decision = due(person(text), Surfaced(), enabled=True)
    assert isinstance(decision, Due) is looks
    if looks:
        assert decision == Due(text.strip())


@pytest.mark.parametrize("between", [0, 1, 400_000])
def test_a_long_message_is_known_by_its_ends(between: int):
    text = "a b" + "x" * (END - 3) + "-" * between + "y" * (END - 3) + "c d"
    decision = due(person(text), Surfaced(), enabled=True)
    assert isinstance(decision, Due)
    assert decision.question.startswith("a b")
    assert decision.question.endswith("c d")
    assert len(decision.question) == 2 * END + bool(between)


@pytest.mark.parametrize("origin", ["tool", "hook", "reverie", "import"])
def test_machine_injected_text_asks_for_nothing(origin):
    message = new_message("user", Text("please look at this"), origin=origin)
    assert due(message, Surfaced(), enabled=True) == Skipped("not written by a person")


def test_the_model_itself_asks_for_nothing():
    said = new_message("assistant", Text("let me look at this"))
    assert isinstance(due(said, Surfaced(), enabled=True), Skipped)


def test_a_switch_turns_it_off():
    assert due(person("when can I ship?"), Surfaced(), enabled=False) == Skipped("recall is off")


def test_a_session_has_a_budget_until_it_is_compacted():
    surfaced = Surfaced()
    surfaced.add(("a.md",), MOST_SESSION_BYTES)
    refused = due(person("when can I ship?"), surfaced, enabled=True)
    assert isinstance(refused, Skipped)
    assert "60,000" in refused.reason
    surfaced.reset()
    assert isinstance(due(person("when can I ship?"), surfaced, enabled=True), Due)
    assert surfaced.files == set()


@pytest.mark.parametrize(("more", "whole"), [(-1, True), (0, True), (1, False)])
def test_up_to_four_thousand_characters_are_asked_about_whole(more: int, whole: bool) -> None:
    text = "a b" + "x" * (1_996 + more) + "y" * 2_001
    asked = due(person(text), Surfaced(), enabled=True)
    assert asked == Due(text if whole else f"{text[:2_000]}\n{text[-2_000:]}")


def test_a_session_was_given_nothing_at_first() -> None:
    assert Surfaced() == Surfaced(set(), 0)
    assert attachment.MOST_FILES == 5
    surfaced = Surfaced()
    surfaced.add(("a.md",), 7)
    surfaced.reset()
    assert surfaced == Surfaced()


NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("keys", "notes"),
    [
        ({}, ()),
        ({"superseded_by": "b.md"}, ("Superseded by b.md; kept for history.",)),
        ({"archived": "2026-11-01"}, ("Archived on 2026-11-01; kept, but no longer in use.",)),
        ({"valid_until": "2026-11-14"}, ("Expired: it held until 2026-11-14.",)),
        ({"valid_until": "2026-11-17"}, ()),
        ({"valid_from": "2026-11-17"}, ("Not yet in force: it holds from 2026-11-17.",)),
        ({"valid_from": "2026-11-13"}, ()),
        (
            {"valid_from": "2026-11-17", "valid_until": "2026-11-13"},
            ("Expired: it held until 2026-11-13.",),
        ),
        ({"confidence": "0.49"}, ("Uncertain (confidence 0.49).",)),
        ({"confidence": "0.5"}, ()),
        ({"confidence": "1"}, ()),
        (
            {"archived": "2026-11-01", "superseded_by": "b.md", "confidence": "0"},
            (
                "Archived on 2026-11-01; kept, but no longer in use.",
                "Superseded by b.md; kept for history.",
                "Uncertain (confidence 0).",
            ),
        ),
    ],
)
def test_what_is_known_against_a_memory(keys: dict[str, str], notes: tuple[str, ...]) -> None:
    assert attachment.labels(memory(**keys), NOW) == notes


def memory(**keys: str) -> Topic:
    lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
    text = f"---\nname: Port\ndescription: The port\ntype: project\n{lines}---\n8080\n"
    return topic.parse(text.encode(), "person/port.md")


@pytest.mark.parametrize(
    ("keys", "saved"),
    [
        ({"created": "2026-11-01T10:00:00+02:00"}, datetime(2026, 11, 1, 8, tzinfo=UTC)),
        ({"created": "2026-11-01T10:00:00"}, datetime(2026, 11, 1, 10, tzinfo=UTC)),
        (
            {"created": "2026-11-01T10:00:00+00:00", "updated": "2026-11-02T10:00:00+00:00"},
            datetime(2026, 11, 2, 10, tzinfo=UTC),
        ),
        ({}, datetime(2026, 11, 3, 10, tzinfo=UTC)),
    ],
)
def test_when_a_memory_was_saved(tmp_path: Path, keys: dict[str, str], saved: datetime) -> None:
    file = tmp_path / "port.md"
    file.write_text("x")
    os.utime(file, (datetime(2026, 11, 3, 10, tzinfo=UTC).timestamp(),) * 2)
    found = attachment.recalled(memory(**keys), file, tmp_path, NOW)
    assert found.saved == saved
    assert found.saved.tzinfo is not None
    assert found.whose == "about the person, known in every project"
    gone = attachment.recalled(memory(**keys), tmp_path / "gone.md", tmp_path, NOW)
    assert gone.saved == (saved if keys else NOW)
