"""Surgery on conversations, by example: rounds, pairs, cuts, and histories that came in broken.

Short words: `u` says something, `a`, `b` … are calls of the model, `A`, `B` … their results.
"""

from __future__ import annotations

import pytest
from tests.core.build import call, filler, model, result, results, user

from reverie.core.messages import Text, Thinking, ToolResult, new_message
from reverie.core.tokens import message_tokens
from reverie.core.transcript import (
    INTERRUPTED,
    MISSING,
    Pairing,
    close_open_tool_uses,
    drop_oldest_rounds,
    keep_recent,
    open_tool_uses,
    pairing,
    repair,
    rounds,
    safe_cut,
    safe_cuts,
)


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


TEN_EACH = [user(filler(10)), model(call("a")), user(result("a", filler(10))), model(filler(10))]


@pytest.mark.parametrize(
    ("tokens", "cut"), [(0, 3), (10, 3), (11, 1), (20, 1), (25, 1), (35, 0), (10**6, 0)]
)
def test_recent_messages_are_kept_with_the_call_they_answer(tokens, cut):
    assert keep_recent(TEN_EACH, tokens) == cut


def test_of_nothing_nothing_is_kept():
    assert keep_recent([], 100) == 0
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
    conversation = story("u ab A")
    assert [use.id for use in open_tool_uses(conversation)] == ["b"]
    closed = close_open_tool_uses(conversation, at=9.0)
    assert closed[:-1] == tuple(conversation)
    assert closed[-1].blocks == (ToolResult("b", (Text(INTERRUPTED),), is_error=True),)
    assert (closed[-1].at, closed[-1].origin) == (9.0, "reverie")
    assert closed[-1].parent == conversation[-1].id


def test_the_reason_of_an_interruption_can_be_given():
    (*_, last) = close_open_tool_uses(story("u a"), "the machine slept")
    assert last.tool_results[0].text == "the machine slept"


def test_nothing_open_nothing_closed():
    conversation = story("u a A t")
    assert close_open_tool_uses(conversation) == tuple(conversation)


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("", ""),
        ("t t", ""),
        ("A t u t", "u t"),
        ("s t u t", "u t"),
        ("u a", "u a A"),
        ("u a t", "u a A t"),
        ("u A t", "u t"),
        ("u a A A t", "u a A t"),
        ("u a t A", "u a A t"),
        ("u a u A t", "u a A u t"),
        ("u a A a A t", "u a A t"),
        ("u r:a A r:b B t", "u ab AB t"),
        ("u r:a r:b A r:c B C t", "u abc ABC t"),
        ("u r:a A q:b B t", "u a A b B t"),
        ("u A a t", "u a A t"),
    ],
)
def test_broken_histories_and_what_becomes_of_them(broken, mended):
    assert told(repair(story(broken))) == mended


def test_a_call_nobody_answered_says_so():
    (_, _, answer) = repair(story("u a"))
    assert answer.tool_results == (ToolResult("a", (Text(MISSING),), is_error=True),)
    assert answer.origin == "tool"


def test_of_several_results_the_first_one_counts():
    history = [
        user("go"),
        model(call("a")),
        user(result("a", "first")),
        user(result("a", "second")),
    ]
    assert [found.text for m in repair(history) for found in m.tool_results] == ["first"]


def test_empty_messages_go_away_and_so_do_calls_the_user_never_made():
    history = [
        user(),
        user(call("x")),
        model("hi"),
        user("hello", call("y")),
        model(),
        model("yes"),
    ]
    assert told(repair(history)) == "u t"
    assert not any(message.tool_uses for message in repair(history))


def test_a_valid_history_is_left_exactly_as_it_was_recorded():
    spoken = new_message("user", result("b"), result("a"), Text("and hurry"), at=7.0, origin="tool")
    history = [user("go"), model(Thinking("hm"), call("a"), call("b"), response="r"), spoken]
    assert repair(history) == tuple(history)
