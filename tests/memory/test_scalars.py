"""Values: the fast path agrees with YAML, and every YAML reader parses what we write as text."""

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from reverie.memory.format.frontmatter import (
    LONGEST_VALUE,
    one_line,
    parse_list,
    parse_text,
    readable,
    render_list,
    render_text,
)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", ""),
        (" plain words\n", "plain words"),
        (" plain # comment\n", "plain"),
        (" # only a comment\n", ""),
        (" issue#12 stays\n", "issue#12 stays"),
        (' "quoted: yes"\n', "quoted: yes"),
        (" 'single'\n", "single"),
        (" 'it''s'\n", "it's"),
        (r' "tab\there"' + "\n", "tab here"),
        (' "commented" # out\n', "commented"),
        (" >\n  folded\n  text\n", "folded text"),
        (" |\n  literal\n  text\n", "literal text"),
        (" several\n  lines\n", "several lines"),
        # Invalid YAML, but the meaning is clear.
        (" Never mock: the database\n", "Never mock: the database"),
        (' "Foo" handling\n', '"Foo" handling'),
        (" [draft] importer\n", "[draft] importer"),
        (" *bold* start\n", "*bold* start"),
        (" @handle of Mira\n", "@handle of Mira"),
        (" {a: b}\n", "{a: b}"),
        (' "' + "x" * LONGEST_VALUE + '\\n"\n', '"' + "x" * LONGEST_VALUE + '\\n"'),
        (" [" * 3000 + "\n", one_line(" [" * 3000)),
        (" caf\udce9\n", "caf\ufffd"),
    ],
)
def test_text(source, text):
    assert parse_text(source) == text


@pytest.mark.parametrize(
    ("source", "items"),
    [
        ("", ()),
        (" []\n", ()),
        (" [a, b c, d/e.py@1f2e3d4]\n", ("a", "b c", "d/e.py@1f2e3d4")),
        (' ["a, b", c]\n', ("a, b", "c")),
        ("\n- a\n- b # why\n", ("a", "b")),
        ("\n  - a\n  - 'b: c'\n", ("a", "b: c")),
        (" one\n", ("one",)),
        (" # nothing\n", ()),
        (' "one, quoted"\n', ("one, quoted",)),
        (" [unclosed\n", ("[unclosed",)),
        (" s1#m4\n", ("s1#m4",)),
        ("\n- - nested\n- flat\n", ("flat",)),
    ],
)
def test_lists(source, items):
    assert parse_list(source) == items


def _yaml(source):
    return yaml.load(source, Loader=yaml.SafeLoader)


@given(st.text(st.characters(codec="utf-8")))
@example("true")
@example("3.5e2")
@example("2026-11-15")
@example("a: b")
@example("ends:")
@example("# no comment")
@example("- dash")
@example("\x00\x85\u2028 \ufeff")
@example("~")
@example("1_000")
@example("=")
@example("null")
def test_text_round_trips_and_other_readers_see_the_same_text(text):
    rendered = render_text(text)
    assert "\n" not in rendered
    assert parse_text(f" {rendered}\n") == one_line(text)
    assert _yaml(f"key: {rendered}\n")["key"] == one_line(text)


@given(st.lists(st.text(st.characters(codec="utf-8")).map(one_line).filter(bool)).map(tuple))
@example(("a:b", "c", "x: y", "true", "1.0", "s#1", "a ]"))
def test_lists_round_trip_and_other_readers_see_the_same_items(items):
    rendered = render_list(items)
    assert parse_list(f" {rendered}\n") == items
    assert tuple(_yaml(f"key: {rendered}\n")["key"]) == items


@given(st.text())
def test_any_string_can_be_written_and_shown(text):
    readable(render_text(text)).encode()
