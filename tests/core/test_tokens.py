"""The size of a conversation: the provider's last report plus an estimate of what is new."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import call, conversations, filler, messages, model, results, user

from reverie.core.messages import (
    Attachment,
    Document,
    Image,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from reverie.core.usage import Usage
from reverie.core.window import Measured, block_tokens, context_tokens, measured, message_tokens


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (Text(""), 0),
        (Text("a"), 1),
        (Text("abcd"), 1),
        (Text("abcde"), 2),
        (Text("é" * 4), 2),
        (Text("🧠"), 1),
        (Text("\ud83d"), 1),
        (Attachment("a long label is free", "abcd"), 1),
        (Thinking("abcd", "12345678"), 3),
        (Thinking("abcd"), 1),
        (ToolUse("id", "read", '{"a":1}'), 5),
        (ToolResult("id"), 0),
        (ToolResult("id", (Text("abcd"), Image("image/png", "A" * 99_999))), 2_001),
        (Image("image/png", url="http://x"), 2_000),
        (Document("application/pdf", "A" * 99_999), 2_000),
        (Opaque("anthropic", "{}"), 1),
    ],
)
def test_the_estimate_of_a_block(block, tokens):
    assert block_tokens(block) == tokens


STORY = [
    user(filler(100)),
    model(filler(10), response="r1"),
    user(filler(20)),
    model(call("a"), response="r2"),
    results("a"),
    model(call("b"), filler(999), response="r2"),
    user(filler(5)),
]
ONE_RESULT = message_tokens(results("a"))


@pytest.mark.parametrize(
    ("last", "tokens"),
    [
        (None, sum(map(message_tokens, STORY))),
        (Measured("forgotten", 50_000), sum(map(message_tokens, STORY))),
        (Measured("r2", 50_000), 50_000 + ONE_RESULT + 5),
        (Measured("r1", 50_000), 50_000 + sum(map(message_tokens, STORY[2:]))),
    ],
    ids=["never measured", "measured elsewhere", "a response in two messages", "an older response"],
)
def test_counting_goes_on_from_the_measurement(last, tokens):
    assert context_tokens(STORY, last) == tokens


def test_a_measurement_is_the_context_after_the_reply():
    usage = Usage(input=1, cache_read=20, cache_write_5m=300, output=4_000)
    assert measured("r", usage) == Measured("r", 4_321)


def slow_context_tokens(conversation, last):
    """The definition, by looking at everything."""
    own = [i for i, m in enumerate(conversation) if m.response == last.response]
    if not own:
        return sum(map(message_tokens, conversation))
    later = conversation[own[0] :]
    return last.tokens + sum(message_tokens(m) for m in later if m.response != last.response)


@given(conversations(), st.data())
def test_counting_equals_its_slow_definition(conversation, data):
    responses = [*sorted({m.response for m in conversation if m.response}), "unknown"]
    last = Measured(data.draw(st.sampled_from(responses)), 10_000)
    assert context_tokens(conversation, last) == slow_context_tokens(conversation, last)


@given(st.lists(messages, max_size=4))
def test_a_conversation_weighs_what_its_blocks_weigh(conversation):
    blocks = [block for message in conversation for block in message.blocks]
    assert context_tokens(conversation) == sum(map(block_tokens, blocks))
