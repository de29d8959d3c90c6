"""Messages: their visible text, and ids made from content and place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import blocks, call, messages, model, result, times, user

from reverie.core.messages import (
    Attachment,
    Document,
    Image,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    message_id,
    new_message,
)


@pytest.mark.parametrize(
    ("arguments", "read_as"),
    [
        ('{"path": "a.py", "n": 3}', {"path": "a.py", "n": 3}),
        ("{}", {}),
        ("", {}),
        ('{"path": "a.p', {}),
        ("[1, 2]", {}),
        ("null", {}),
        ("[" * 200_000, {}),
        ('{"n": ' + "9" * 5_000 + "}", {}),
    ],
    ids=["object", "empty", "nothing", "cut", "list", "null", "too deep", "too long a number"],
)
def test_arguments_a_model_garbled_read_as_empty_and_stay_as_written(arguments, read_as):
    use = ToolUse("id", "read", arguments)
    assert use.input == read_as
    assert use.arguments == arguments


def test_a_reader_sees_text_and_neither_reminders_nor_thoughts_nor_tool_traffic():
    message = model(Thinking("hm"), "I will look", call("a"), "now", call("b"))
    assert message.text == "I will look\nnow"
    assert [use.id for use in message.tool_uses] == ["a", "b"]
    assert message.tool_results == ()

    answer = user(result("a", "found"), Attachment("date", "Monday"), "go on")
    assert answer.text == "go on"
    assert [found.text for found in answer.tool_results] == ["found"]
    assert answer.tool_uses == ()


def test_the_text_of_a_result_leaves_pictures_out():
    content = (Text("one"), Image("image/png", "AAAA"), Document("text/plain", "x"), Text("two"))
    assert ToolResult("a", content).text == "one\ntwo"
    assert ToolResult("a").text == ""


@pytest.mark.parametrize(
    ("role", "given_origin", "origin"),
    [
        ("user", None, "user"),
        ("assistant", None, "assistant"),
        ("system", None, "user"),
        ("user", "tool", "tool"),
        ("assistant", "import", "import"),
    ],
)
def test_who_said_it(role, given_origin, origin):
    assert new_message(role, Text("x"), origin=given_origin).origin == origin


def test_a_conversation_is_linked_from_message_to_message():
    first = new_message("user", Text("hi"), at=1.0)
    second = new_message("assistant", Text("hi"), after=first, at=2.0, response="r", bound_to="d")
    assert first.parent is None
    assert second.parent == first.id
    assert (second.response, second.bound_to, second.at) == ("r", "d", 2.0)


places = st.tuples(
    st.none() | st.text("ab", max_size=2),
    st.sampled_from(["user", "assistant", "system"]),
    times,
    st.lists(blocks, max_size=3).map(tuple),
)


@given(places, places)
def test_ids_are_equal_exactly_when_content_and_place_are(one, other):
    assert (message_id(*one) == message_id(*other)) == (one == other)
    assert message_id(*one) == message_id(*one)


@given(messages, blocks)
def test_any_block_more_and_any_other_parent_make_another_id(message, block):
    same = (message.role, message.at)
    ids = {
        message_id(message.parent, *same, message.blocks),
        message_id(message.parent, *same, (*message.blocks, block)),
        message_id((message.parent or "") + "x", *same, message.blocks),
        message_id(message.parent, message.role, message.at + 1, message.blocks),
    }
    assert len(ids) == 4
