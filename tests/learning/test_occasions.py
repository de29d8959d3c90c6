"""When a model is asked what to learn, and which way is cheaper."""

import pytest
from tests.context.saying import user

from reverie.core.usage import Prices
from reverie.learning.extraction.prompts import SMALL, affordable, occasion, offers

MAIN, SIDE = Prices.of(5, 25), Prices.of(0.1, 0.5)


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Please read the README for me.", False),
        ("Now put it in.", False),
        ("What are the sailings today?", False),
        ("The staging database moved to port 5433 last week.", True),
        ("Don't change the tests without asking me.", True),
        ("I prefer British spelling in everything.", True),
        ("We decided to keep the old parser for now.", True),
        ("Run it. Henrik leaves the port at the end of March.", True),
    ],
)
def test_a_model_is_asked_when_something_was_stated(text: str, *, stated: bool) -> None:
    assert (occasion([user(text)]) is not None) is stated


def test_a_pasted_plan_is_not_what_the_person_states() -> None:
    plan = "Implement the following plan:\n\n# Plan\n\n## Context\n\n" + (
        "- The command should always print the host because the log is read by a script.\n" * 10
    )
    assert occasion([user(plan)]) is None
    assert occasion([user("Never print the host, our customers are secret.")]) is not None


@pytest.mark.parametrize(
    ("price", "spent", "ending", "reads"),
    [
        (0.03, 3.1, False, True),
        (0.03, 2.9, False, False),
        (0.03, 2.9, True, False),
        (SMALL, 0.1, True, True),
        (SMALL, 0.1, False, False),
    ],
    ids=["a small share", "waits", "left for the next session", "cheap at the end", "cheap"],
)
def test_a_model_reads_for_a_small_share_of_what_was_paid(
    price: float, spent: float, *, ending: bool, reads: bool
) -> None:
    assert affordable(price, spent, 0.01, ending=ending) is reads


@pytest.mark.parametrize(
    ("spent", "carried", "reads"),
    [(1.6, 1.5, True), (1.4, 5.0, False), (1.6, 1.0, False)],
    ids=["both together", "a short session after dear ones", "still too little"],
)
def test_a_short_session_does_not_pay_for_earlier_ones(
    spent: float, carried: float, *, reads: bool
) -> None:
    assert affordable(0.03, spent, 0.01, ending=False, carried=carried) is reads


def test_a_short_conversation_is_forked_and_a_long_one_is_told_apart() -> None:
    assert not offers(["a few words"], 10_000, MAIN, MAIN).apart_is_cheaper
    assert offers(["a few words"], 150_000, MAIN, MAIN).apart_is_cheaper
    assert offers(["a few words"], 20_000, MAIN, SIDE).apart_is_cheaper
