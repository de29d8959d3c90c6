"""Surgery on any conversation: no orphan, no split response, nothing a provider would refuse."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import SENDABLE, conversations, scrambled

from reverie.core.messages import Text, ToolResult, ToolUse
from reverie.core.tokens import message_tokens
from reverie.core.transcript import (
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


@given(conversations(interrupted=True), st.integers(0, 400))
def test_what_is_kept_is_enough_and_stands(conversation, tokens):
    cut = keep_recent(conversation, tokens)
    assert splits_nothing(conversation, cut)
    kept = sum(map(message_tokens, conversation[cut:]))
    assert kept >= tokens or cut == 0


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
def test_closing_open_calls_leaves_nothing_open(conversation):
    waiting = open_tool_uses(conversation)
    assert [use.id for use in waiting] == list(pairing(conversation).unanswered)
    closed = close_open_tool_uses(conversation)
    assert pairing(closed).ok
    assert closed[: len(conversation)] == tuple(conversation)
    assert close_open_tool_uses(closed) == closed


def assert_sendable(history):
    """What every provider demands of a history."""
    assert pairing(history).ok
    assert all(message.blocks for message in history)
    for message in history:
        wrong = ToolResult if message.role == "assistant" else ToolUse
        assert not any(isinstance(block, wrong) for block in message.blocks)
    if history:
        assert history[0].role == "user"
        assert not all(isinstance(block, ToolResult) for block in history[0].blocks)
    assert_answered_at_once(history)


def assert_answered_at_once(history):
    """Behind a call comes nothing but results, until all of them are there."""
    waiting = set()
    spoke = None
    for message in history:
        for block in message.blocks:
            assert not waiting or message.role == "assistant" or isinstance(block, ToolResult)
            if isinstance(block, ToolUse):
                waiting.add(block.id)
            if isinstance(block, ToolResult):
                waiting.discard(block.tool_use_id)
        assert not (message.role == "assistant" and spoke == "user" and waiting - own(message))
        spoke = message.role


def own(message):
    return {use.id for use in message.tool_uses}


@given(scrambled)
def test_repair_makes_any_list_of_messages_valid(history):
    assert_sendable(repair(history))


@given(scrambled)
def test_repair_is_done_after_once(history):
    once = repair(history)
    assert repair(once) == once


@given(scrambled)
def test_repair_keeps_every_word_of_the_user_from_the_first_on(history):
    def words(found):
        return [b for m in found if m.role == "user" for b in m.blocks if isinstance(b, Text)]

    assert words(repair(history)) == words(history)


@given(conversations(SENDABLE))
def test_repair_leaves_valid_histories_alone(history):
    assert repair(history) == tuple(history)


@given(conversations(interrupted=True))
def test_repair_joins_responses_that_were_recorded_in_pieces(history):
    repaired = repair(history)
    assert_sendable(repaired)
    blocks = [b for m in history for b in m.blocks if not isinstance(b, ToolResult)]
    assert [b for m in repaired for b in m.blocks if not isinstance(b, ToolResult)] == blocks
