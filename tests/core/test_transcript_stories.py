"""Cutting conversations, by example: rounds, pairs and cuts.

Short words: `u` says something, `a`, `b` … are calls of the model, `A`, `B` … their results.
"""

from __future__ import annotations

import pytest
from tests.core.build import call, model, results, user

from reverie.core.messages import Text, ToolResult, new_message
from reverie.core.transcript import (
    INTERRUPTED,
    Pairing,
    answers_to,
    drop_oldest_rounds,
    open_tool_uses,
    pairing,
    rounds,
    safe_cut,
    safe_cuts,
)
from reverie.core.window import message_tokens


def story(words: str):
    """`u a A t`: a question, a call, its result, a text; `r1:a` names the response a call is of."""
    return [_message(word) for word in words.split()]


def _message(word: str):
    response, _, what = word.rpartition(":")
    if what == "u":
        return user("question")
    if what == "s":
        return new_message("system", Text("notice"))
    if what == "t":
        return model("text", response=response or None)
    if what.islower():
        return model(*(call(letter) for letter in what), response=response or None)
    return results(*what.lower())


def told(conversation) -> str:
    """The inverse of `story`, for reading: each message as its calls, results or role."""
    return " ".join(_word(message) for message in conversation)


def _word(message) -> str:
    uses = "".join(use.id for use in message.tool_uses)
    found = "".join(r.tool_use_id.upper() for r in message.tool_results)
    said = {"user": "u", "assistant": "t", "system": "s"}[message.role] if message.text else ""
    return uses + found + said


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        ("", Pairing()),
        ("u t u", Pairing()),
        ("u a A t", Pairing()),
        ("u ab BA t", Pairing()),
        ("u ab A B t", Pairing()),
        ("u r:a A r:b B t", Pairing()),
        ("u r:a r:b A r:c B C", Pairing()),
        ("u a", Pairing(unanswered=("a",))),
        ("u a t", Pairing(unanswered=("a",))),
        ("u a b AB", Pairing(unanswered=("a",), misplaced=("a",))),
        ("u r:a q:b AB", Pairing(unanswered=("a",), misplaced=("a",))),
        ("u A t", Pairing(orphaned=("a",))),
        ("u a A A t", Pairing(repeated=("a",))),
        ("u a A a A", Pairing(repeated=("a",))),
        ("u a t A", Pairing(unanswered=("a",), misplaced=("a",))),
    ],
)
def test_what_is_wrong_with_the_tool_traffic(words, faults):
    assert pairing(story(words)) == faults
    assert pairing(story(words)).ok == (faults == Pairing())


@pytest.mark.parametrize(
    ("words", "groups"),
    [
        ("", []),
        ("u t", ["u t"]),
        ("u u t u t", ["u u t", "u t"]),
        ("u a A b B t u t", ["u a A", "b B", "t", "u t"]),
        ("u r:a A r:b B t", ["u a A b B", "t"]),
        ("u r:a r:b AB t", ["u a b AB", "t"]),
        ("u t t", ["u t", "t"]),
        ("u a A u t", ["u a A", "u t"]),
        ("u s t", ["u s t"]),
    ],
)
def test_rounds_are_what_one_request_added(words, groups):
    assert [told(group) for group in rounds(story(words))] == groups


@pytest.mark.parametrize(
    ("words", "cuts"),
    [
        ("", [0]),
        ("u t u t", [0, 1, 2, 3, 4]),
        ("u a A t", [0, 1, 3, 4]),
        ("u ab A B t", [0, 1, 4, 5]),
        ("u r:a A r:b B t", [0, 1, 5, 6]),
        ("u r:t r:a A t", [0, 1, 4, 5]),
        ("u a", [0, 1]),
    ],
)
def test_where_a_conversation_may_be_cut(words, cuts):
    assert safe_cuts(story(words)) == cuts


@pytest.mark.parametrize(
    ("wanted", "cut"), [(-3, 0), (0, 0), (1, 1), (2, 1), (3, 3), (4, 4), (99, 4)]
)
def test_a_cut_keeps_a_little_more_rather_than_a_little_less(wanted, cut):
    assert safe_cut(story("u a A t"), wanted) == cut


def test_of_nothing_nothing_is_dropped():
    assert drop_oldest_rounds([], 100) == ()


@pytest.mark.parametrize(
    ("rounds_to_free", "left"),
    [(0, "u a A b B t u t"), (1, "b B t u t"), (2, "t u t"), (3, "u t"), (99, "u t")],
)
def test_the_oldest_rounds_go_first_and_the_last_one_never(rounds_to_free, left):
    conversation = story("u a A b B t u t")
    sizes = [sum(map(message_tokens, group)) for group in rounds(conversation)]
    wanted = sum(sizes[:rounds_to_free]) if rounds_to_free < 99 else 10**9
    assert told(drop_oldest_rounds(conversation, wanted)) == left


def test_a_call_answered_a_round_late_is_dropped_with_its_result():
    # The person spoke while the tool was running: call and result lie in two rounds.
    assert told(drop_oldest_rounds(story("u t u a u A t u t"), 1)) == "u a u A t u t"
    assert told(drop_oldest_rounds(story("u a u A t u t"), 1)) == "t u t"


def test_an_interrupted_conversation_can_go_on():
    waiting = open_tool_uses(story("u ab A"))
    assert [use.id for use in waiting] == ["b"]
    assert answers_to(waiting, INTERRUPTED) == (
        ToolResult("b", (Text(INTERRUPTED),), is_error=True),
    )
