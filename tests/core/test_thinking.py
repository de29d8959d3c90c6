"""Replayed thinking: sent only after the very prefix it was made under."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import a_head, call, chain_of, messages, model, user

from reverie.core.messages import Text, Thinking
from reverie.core.prompt_cache import root_digest
from reverie.core.transcript import valid_under, without_thinking

HEAD = a_head(system=["be kind"])


def thoughts(message):
    return [block for block in message.blocks if isinstance(block, Thinking)]


@given(messages, st.sampled_from(["here", "elsewhere"]), st.booleans())
def test_thinking_is_left_out_exactly_when_its_prefix_differs(message, made_under, bound):
    message = replace(message, bound_to=made_under)
    sent = valid_under(message, "here", bound=bound)
    stale = bound and message.role == "assistant" and made_under != "here"
    assert sent == (without_thinking(message) if stale else message)


@given(messages)
def test_leaving_thinking_out_leaves_everything_else(message):
    kept = without_thinking(message)
    assert not thoughts(kept)
    assert kept == replace(
        message, blocks=tuple(b for b in message.blocks if b not in thoughts(message))
    )
    if not thoughts(message):
        assert kept is message


def test_thinking_nobody_stamped_is_not_trusted():
    assert not thoughts(valid_under(model(Thinking("hm"), "hi"), "here", bound=True))


def sendable(conversation):
    """What goes out for a conversation, message by message, on a model that binds thinking."""
    sent = []
    for message in conversation:
        prefix = chain_of(HEAD, sent).digest
        sent.append(valid_under(message, prefix, bound=True))
    return sent


def grown(conversation, turns):
    """The conversation after some turns: each reply is stamped with what was sent before it."""
    for turn in turns:
        conversation = [*conversation, user(f"question {turn}")]
        prefix = chain_of(HEAD, sendable(conversation)).digest
        reply = model(Thinking(f"thought {turn}", "sig"), call(str(turn)), response=f"r{turn}")
        conversation.append(replace(reply, bound_to=prefix))
    return conversation


def turns_with_thoughts(conversation):
    return [i // 2 for i, message in enumerate(sendable(conversation)) if thoughts(message)]


def test_an_untouched_conversation_keeps_all_its_thoughts():
    assert turns_with_thoughts(grown([], range(5))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("edited", "still_valid"),
    [(0, [4, 5]), (2, [0, 4, 5]), (4, [0, 1, 4, 5]), (6, [0, 1, 2, 4, 5])],
)
def test_an_edit_costs_the_thoughts_between_it_and_the_first_reply_made_after_it(
    edited, still_valid
):
    conversation = grown([], range(4))
    conversation[edited] = replace(conversation[edited], blocks=(Text("[cleared]"),))
    assert turns_with_thoughts(grown(conversation, [4, 5])) == still_valid


def test_a_reply_made_under_no_message_at_all_is_bound_to_the_head():
    first = replace(model(Thinking("hm"), "hi"), bound_to=root_digest(a_head()))
    assert valid_under(first, chain_of(a_head(), []).digest, bound=True) is first
