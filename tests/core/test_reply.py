"""A reply becomes the next message, stamped with the prefix it was made under."""

from __future__ import annotations

from tests.core.build import call, user

from reverie.core.messages import Text, Thinking
from reverie.core.request import Reply
from reverie.core.usage import Usage


def test_the_text_of_a_reply_is_joined_as_it_streamed():
    reply = Reply("r", "m", (Thinking("hm"), Text("Hel"), call("a"), Text("lo")), "tool_use")
    assert reply.text == "Hello"
    assert reply.usage == Usage()


def test_a_reply_is_recorded_behind_what_it_answers():
    question = user("hi")
    reply = Reply("r7", "m", (Text("hello"),), "end")
    message = reply.as_message(after=question, at=5.0, bound_to="digest")
    assert message.role == message.origin == "assistant"
    assert message.parent == question.id
    assert message.blocks == reply.blocks
    assert (message.response, message.at, message.bound_to) == ("r7", 5.0, "digest")
