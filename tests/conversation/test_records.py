"""Every record survives the journal, and a damaged one is named and passed over."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conversation.build import AT, FULL_HEAD, HELLO, RECORDS

from reverie.conversation.record_json import parse, render
from reverie.conversation.records import HeadFrozen, Opened, Record, Unknown
from reverie.core.messages import dump
from reverie.errors import TranscriptError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def through_json(record: Record) -> Record:
    return parse(json.loads(dump(render(record))))


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_survives(record: Record) -> None:
    assert through_json(record) == record


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_writing_what_was_read_gives_the_same_bytes(record: Record) -> None:
    once = dump(render(record))
    assert dump(render(parse(json.loads(once)))) == once


def test_the_type_comes_first_so_that_a_person_can_scan_a_journal() -> None:
    known = [record for record in RECORDS if not isinstance(record, Unknown)]
    assert all(next(iter(render(record))) == "type" for record in known)


def test_unset_options_are_not_written() -> None:
    head = HeadFrozen(FULL_HEAD)
    plain = render(HeadFrozen(type(FULL_HEAD)("m")))
    assert plain["options"] == {"max_tokens": 8192}
    assert set(render(head)["options"]) > {"temperature", "edits", "summarize"}


def test_options_of_a_newer_version_are_ignored() -> None:
    data = json.loads(dump(render(HeadFrozen(FULL_HEAD))))
    data["options"]["from_the_future"] = 1
    assert parse(data) == HeadFrozen(FULL_HEAD)


def test_an_older_record_without_optional_fields_reads_with_their_defaults() -> None:
    written = {"type": "session", "session": "s", "at": "2025-06-15T15:06:40.123Z"}
    assert parse(written) == Opened("s", AT)


@pytest.mark.parametrize("type_", [None, 5, [], {}, "", "Message", "user"])
def test_a_record_nobody_knows_is_kept_word_for_word(type_: object) -> None:
    data = {"type": type_, "x": 1}
    assert parse(data) == Unknown(data)
    assert render(parse(data)) == data


@pytest.mark.parametrize("value", [None, 5, "text", [1], True])
def test_a_line_that_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(TranscriptError, match="must be a JSON object"):
        parse(value)


def paths(value: object, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The place of every value inside a JSON value."""
    inner: list[tuple[Any, ...]] = []
    if isinstance(value, dict):
        inner = [path for key in value for path in paths(value[key], (*at, key))]
    elif isinstance(value, list):
        inner = [path for i, part in enumerate(value) for path in paths(part, (*at, i))]
    return [at, *inner]


def replaced_at(value: Any, path: tuple[Any, ...], new: object) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced_at(value[path[0]], path[1:], new)
    return copy


WRONG = [
    None,
    True,
    7,
    -1.5,
    float("inf"),
    float("nan"),
    "9" * 400,
    "\ud800",
    [],
    [[]],
    {},
    {"a": 1},
]
FIELDS = [
    pytest.param(record, path, id=f"{type(record).__name__}:{'.'.join(map(str, path))}")
    for record in RECORDS
    if not isinstance(record, Unknown)
    for path in paths(json.loads(dump(render(record))))
    if path
]


@pytest.mark.parametrize(("record", "path"), FIELDS)
def test_a_wrong_value_in_any_field_is_refused_or_harmless(
    record: Record, path: tuple[Any, ...]
) -> None:
    data = json.loads(dump(render(record)))
    for wrong in WRONG:
        try:
            read = parse(replaced_at(data, path, wrong))
        except TranscriptError:
            continue
        # What was accepted can be written again: nothing of a wrong type got inside.
        assert isinstance(parse(json.loads(dump(render(read)))), type(read))


@given(kind=st.sampled_from(["session", "head", "message", "usage", "replaced", "cache_edited", "compacted", "extracted", "date"]), fields=st.dictionaries(st.sampled_from(["session", "at", "id", "blocks", "start", "usage", "options", "model", "system", "tools", "up_to", "date"]), json_values))  # fmt: skip
def test_no_object_makes_it_raise_anything_else(kind: str, fields: dict[str, Any]) -> None:
    with suppress(TranscriptError):
        parse({"type": kind, **fields})


def test_nesting_without_end_is_refused() -> None:
    block: dict[str, Any] = {"type": "text", "text": "x"}
    for _ in range(400):
        block = {"type": "tool_result", "tool_use_id": "t", "content": [block]}
    message = {**render(RECORDS[3]), "blocks": [block]}
    with pytest.raises(TranscriptError, match=r"nested too deeply|cannot hold"):
        parse(message)


def test_a_reason_stays_short() -> None:
    with pytest.raises(TranscriptError) as caught:
        parse({"type": "extracted", "up_to": ["x" * 100_000]})
    assert len(str(caught.value)) < 300


def test_the_message_of_a_line_is_named() -> None:
    with pytest.raises(TranscriptError, match="'role' is 'robot'; known: user, assistant, system"):
        parse({"type": "message", **render(RECORDS[3]), "role": "robot"})
    assert HELLO.role == "user"
