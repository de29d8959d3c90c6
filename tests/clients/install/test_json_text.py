"""JSON as text: what is read is what Python reads, and an edit changes one thing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clients.install.configurations import json_files, layouts, values

from reverie.clients.install import json_text
from reverie.clients.install.plan import reverse_splices


@given(json_files)
def test_it_reads_what_python_reads(text: str) -> None:
    value = json.loads(text.removeprefix("\ufeff"))
    assert json_text.plain(text, json_text.parse(text)) == value


@given(st.text(alphabet='{}[]",:1ate \n\\/*', max_size=20))
def test_it_refuses_what_python_refuses(text: str) -> None:
    try:
        value, refused = json.loads(text), False
    except ValueError:
        value, refused = None, True
    try:
        assert json_text.plain(text, json_text.parse(text)) == value
        assert not refused
    except json_text.Malformed:
        assert refused


@given(st.dictionaries(st.text(max_size=4), values, max_size=4), values, st.data())
def test_a_member_is_added_and_removed(
    value: dict[str, Any], new: object, data: st.DataObject
) -> None:
    value.pop("new!", None)
    text = data.draw(layouts(value))
    root = json_text.parse(text)
    more = json_text.added(text, root, root, "new!", new)
    assert json.loads(more.removeprefix("\ufeff")) == {**value, "new!": new}
    less = json_text.without(more, ["new!"])
    assert json.loads(less.removeprefix("\ufeff")) == value


@given(st.dictionaries(st.text(max_size=4), values, min_size=1, max_size=4), st.data())
def test_any_member_can_go(value: dict[str, Any], data: st.DataObject) -> None:
    text = data.draw(layouts(value))
    key = data.draw(st.sampled_from(sorted(value)))
    less = json_text.without(text, [key])
    assert list(json.loads(less.removeprefix("\ufeff")).items()) == [
        (name, inner) for name, inner in value.items() if name != key
    ]


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ("{}\n", '{\n  "k": [\n    1\n  ]\n}\n'),
        ('{"a":1}', '{"a":1, "k": [1]}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}\n'),
        ('{\r\n    "a": 1}', '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ]\r\n}'),
    ],
)
def test_it_writes_as_the_file_is_written(text: str, added: str) -> None:
    root = json_text.parse(text)
    assert json_text.added(text, root, root, "k", [1]) == added


@given(json_files, json_files)
def test_any_edit_can_be_reversed(before: str, after: str) -> None:
    assert json_text.spliced(after, reverse_splices(before, after)) == before


def test_the_reverse_splices_hold_nothing_that_stayed() -> None:
    before = json.dumps({"hooks": {"a": 1}, "x": "y", "token": "SECRET", "mcp": {"b": 2}})
    after = before.replace('"a": 1', '"a": 1, "ours": 3').replace('"b": 2', '"b": 2, "ours": 4')
    back = reverse_splices(before, after)
    assert json_text.spliced(after, back) == before
    assert "SECRET" not in str(back)
    assert sum(len(splice.text) for splice in back) < 10


def test_a_comment_does_not_swallow_what_stood_behind_a_member() -> None:
    text = '{\n  // c\n  "a": 1, "b": 2}'
    less = json_text.without(text, ["a"], comments=True)
    assert json_text.plain(less, json_text.parse(less, comments=True)) == {"b": 2}
    assert "// c" in less
    last = '{\n  "a": 1, // c\n  "b": 2}'
    less = json_text.without(last, ["b"], comments=True)
    assert json_text.plain(less, json_text.parse(less, comments=True)) == {"a": 1}
