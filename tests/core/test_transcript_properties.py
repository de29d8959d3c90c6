"""Cutting any conversation leaves no orphaned result and no split response."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import conversations

from reverie.core.transcript import (
    drop_oldest_rounds,
    open_tool_uses,
    pairing,
    rounds,
    safe_cut,
    safe_cuts,
)
from reverie.core.window import message_tokens


def responses(conversation):
    return {message.response for message in conversation if message.response is not None}


def splits_nothing(conversation, cut):
    before, after = conversation[:cut], conversation[cut:]
    return (
        pairing(before).ok
        and not pairing(after).orphaned
        and not responses(before) & responses(after)
    )


@given(conversations())
def test_what_was_drawn_is_valid(conversation):
    assert pairing(conversation).ok


@given(conversations(interrupted=True))
def test_every_safe_cut_leaves_two_halves_that_stand(conversation):
    cuts = safe_cuts(conversation)
    assert cuts == [i for i in range(len(conversation) + 1) if splits_nothing(conversation, i)]


@given(conversations(interrupted=True), st.integers(-2, 60))
def test_a_safe_cut_is_the_nearest_one_at_or_before_what_is_wanted(conversation, wanted):
    cut = safe_cut(conversation, wanted)
    assert cut <= max(wanted, 0)
    assert cut in safe_cuts(conversation)
    assert not [c for c in safe_cuts(conversation) if cut < c <= wanted]


@given(conversations(interrupted=True))
def test_rounds_split_nothing_and_lose_nothing(conversation):
    groups = rounds(conversation)
    assert [message for group in groups for message in group] == conversation
    for index in range(len(groups)):
        before = [message for group in groups[:index] for message in group]
        assert splits_nothing(conversation, len(before))


@given(conversations(interrupted=True), st.integers(0, 400))
def test_dropping_the_oldest_never_orphans_and_keeps_the_last_round(conversation, tokens):
    left = drop_oldest_rounds(conversation, tokens)
    last = rounds(conversation)[-1]
    assert left[-len(last) :] == last
    assert left == tuple(conversation[len(conversation) - len(left) :])
    assert splits_nothing(conversation, len(conversation) - len(left))
    freed = sum(map(message_tokens, conversation)) - sum(map(message_tokens, left))
    assert freed >= tokens or left == last


@given(conversations())
def test_nothing_is_dropped_when_nothing_must_be(conversation):
    assert drop_oldest_rounds(conversation, 0) == tuple(conversation)


@given(conversations(interrupted=True))
def test_open_calls_are_those_without_an_answer(conversation):
    waiting = open_tool_uses(conversation)
    assert [use.id for use in waiting] == list(pairing(conversation).unanswered)
