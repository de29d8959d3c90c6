"""Messages as JSON: nothing is lost on the way there and back, and bad input is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from tests.core.build import blocks, messages, texts

from reverie.core.messages import (
    Document,
    Image,
    Text,
    Thinking,
    ToolResult,
    block_from_json,
    block_to_json,
    dump,
    iso_time,
    message_from_json,
    message_to_json,
    new_message,
    parse_time,
)
from reverie.errors import TranscriptError


@given(messages)
def test_any_message_survives_a_journal(message):
    line = dump(message_to_json(message))
    assert b"\n" not in line
    assert message_from_json(json.loads(line)) == message


@given(messages)
def test_writing_what_was_read_gives_the_same_bytes(message):
    line = dump(message_to_json(message))
    assert dump(message_to_json(message_from_json(json.loads(line)))) == line


@given(blocks, blocks)
def test_blocks_have_equal_bytes_exactly_when_they_are_equal(one, other):
    assert (dump(block_to_json(one)) == dump(block_to_json(other))) == (one == other)


@given(texts)
def test_any_text_is_written_as_bytes_and_read_back(text):
    assert json.loads(dump(text)) == text


def test_torn_and_joined_surrogates_stay_apart():
    text = "torn \ud83d, halves \ud83d\ude00, whole 😀, \x00"
    assert json.loads(dump(text)) == text


@pytest.mark.parametrize(
    ("block", "written"),
    [
        (Text("hé"), '{"type":"text","text":"hé"}'),
        (Thinking("hm"), '{"type":"thinking","text":"hm"}'),
        (Thinking("hm", "s", redacted=True), '{"type":"thinking","text":"hm","signature":"s","redacted":true}'),
        (Thinking("hm", ""), '{"type":"thinking","text":"hm","signature":""}'),
        (ToolResult("a"), '{"type":"tool_result","tool_use_id":"a","content":[]}'),
        (Image("image/png", url="u"), '{"type":"image","media_type":"image/png","url":"u"}'),
        (Document("text/plain", ""), '{"type":"document","media_type":"text/plain","data":""}'),
    ],
)  # fmt: skip
def test_what_is_unset_is_not_written(block, written):
    assert dump(block_to_json(block)).decode() == written


@pytest.mark.parametrize(
    ("at", "written", "read"),
    [
        (0.0, "1970-01-01T00:00:00.000Z", 0.0),
        (1_700_000_000.123, "2023-11-14T22:13:20.123Z", 1_700_000_000.123),
        (1_700_000_000.123_9, "2023-11-14T22:13:20.123Z", 1_700_000_000.123),
        (-1.5, "1969-12-31T23:59:58.500Z", -1.5),
    ],
    ids=["epoch", "milliseconds", "finer is cut", "before 1970"],
)
def test_times_are_utc_to_the_millisecond(at, written, read):
    assert iso_time(at) == written
    assert parse_time(written) == read


def test_times_with_an_offset_are_read_as_the_same_instant():
    assert parse_time("2023-11-15T00:13:20+02:00") == 1_700_000_000


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_a_time_that_cannot_be_written_again_is_not_read(text):
    with pytest.raises((ValueError, OverflowError)):
        parse_time(text)


WHOLE = message_to_json(new_message("user", Text("hi"), at=1.0))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("hi", "a message must be a JSON object, not 'hi'"),
        (["x" * 100], "a message must be a JSON object, not ['" + "x" * 55 + "…"),
        (WHOLE | {"blocks": "hi"}, "message 'blocks' must be a list, not 'hi'"),
        (WHOLE | {"blocks": [7]}, "a block must be a JSON object, not 7"),
        (WHOLE | {"id": 7}, "'id' must be text, not 7"),
        (WHOLE | {"id": None}, "'id' must be text, not None"),
        (WHOLE | {"parent": 7}, "'parent' must be text, not 7"),
        (WHOLE | {"role": "robot"}, "'role' is 'robot'; known: user, assistant, system"),
        (WHOLE | {"origin": "?"}, "'origin' is '?'; known: user, assistant, tool, hook, reverie, import"),
        (WHOLE | {"at": "noon"}, "'at' is not an ISO 8601 time: 'noon'"),
        (WHOLE | {"at": 12.0}, "'at' must be text, not 12.0"),
    ],
)  # fmt: skip
def test_a_message_that_is_none_is_refused_by_name(value, complaint):
    with pytest.raises(TranscriptError) as refused:
        message_from_json(value)
    assert str(refused.value) == complaint


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"type": "hologram"}, "unknown block type 'hologram'"),
        ({"type": ["text"]}, "unknown block type ['text']"),
        ({}, "unknown block type None"),
        ({"type": "text"}, "'text' must be text, not None"),
        ({"type": "thinking", "text": "", "signature": 1}, "'signature' must be text, not 1"),
        ({"type": "tool_use", "id": "a", "name": "b"}, "'arguments' must be text, not None"),
        ({"type": "tool_result", "content": "hi"}, "tool result 'content' must be a list, not 'hi'"),
        (
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "thinking", "text": ""}]},
            "a tool result cannot hold a 'thinking' block",
        ),
    ],
)  # fmt: skip
def test_a_block_that_is_none_is_refused_by_name(value, complaint):
    with pytest.raises(TranscriptError) as refused:
        block_from_json(value)
    assert str(refused.value) == complaint


def test_a_result_without_content_is_an_empty_one():
    assert block_from_json({"type": "tool_result", "tool_use_id": "a"}) == ToolResult("a")


def test_only_true_is_true():
    read = block_from_json({"type": "thinking", "text": "", "redacted": 1, "signature": None})
    assert read == Thinking("")
