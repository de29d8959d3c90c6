"""When recall does not even look: the first reason that applies."""

import pytest

from reverie.core.messages import Text, new_message
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
