"""Flat keys and their lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.settings.values import BadToml
from reverie.settings.values import parse_toml as parse

FILE = """\
# a comment
"top" = 1
models.main = "offline"

[features]
recall = false
dream = true # why

[ tools . "Read" ]
result_threshold = "never"

[providers]
local = { kind = "openai", base_url = "http://x" }

[empty]
"""


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("top", 1, 2),
        ("models.main", "offline", 3),
        ("features.recall", False, 6),
        ("features.dream", True, 7),
        ("tools.Read.result_threshold", "never", 10),
        ("providers.local.kind", "openai", 13),
        ("providers.local.base_url", "http://x", 13),
        ("empty", {}, 15),
    ],
)
def test_every_key_knows_its_line(key: str, value: object, line: int):
    assert (key, value, line) in parse(FILE)


def test_a_key_written_with_escapes_has_no_line():
    assert parse('"\\u0061" = 1')[0] == ("a", 1, None)


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("a = 1\nb = = 2\n", "Invalid value", 2),
        ("a = " + "9" * 5_000, "Exceeds the limit", None),
        ("a = " + "[" * 100_000, "nested too deeply", None),
    ],
)
def test_what_is_not_toml_says_where(text: str, reason: str, line: int | None):
    with pytest.raises(BadToml, match=reason) as caught:
        parse(text)
    assert caught.value.line == line


def test_a_path_without_end_is_cut_instead_of_followed():
    (entry,) = parse(".".join("a" * 5_000) + " = 1")
    assert entry.key == ".".join("a" * 12)
    assert isinstance(entry.value, dict)


@given(st.text(alphabet="ab.[]{}\"'=\n \t#1,\\", max_size=60))
def test_no_text_does_worse_than_not_being_toml(text: str):
    try:
        entries = parse(text)
    except BadToml:
        return
    last = text.count("\n") + 1
    assert all(entry.line is None or 1 <= entry.line <= last for entry in entries)
