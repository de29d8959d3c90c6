"""Texts are cut to size: the longest first, both ends kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import texts

from reverie.context.user_messages import clipped, level
from reverie.core.window import text_tokens


@pytest.mark.parametrize(
    ("sizes", "room", "expected"),
    [
        ([], 10, 0),
        ([3, 5], 10, 5),
        ([3, 50], 10, 7),
        ([50, 50], 10, 5),
        ([1, 2, 100, 100], 43, 20),
        ([5, 5], 0, 0),
        ([5, 5], -3, 0),
    ],
)
def test_level(sizes, room, expected):
    assert level(sizes, room) == expected


@given(st.lists(st.integers(0, 100)), st.integers(0, 1_000))
def test_at_the_level_all_fit_and_one_more_would_not(sizes, room):
    cap = level(sizes, room)
    assert sum(min(size, cap) for size in sizes) <= room or not sizes
    if any(size > cap for size in sizes):
        assert sum(min(size, cap + 1) for size in sizes) > room


def test_both_ends_stay_and_the_rest_can_be_found():
    text = "".join(f"line {n}\n" for n in range(2_000))
    cut = clipped(text, 100, "it is in /t.jsonl")
    assert cut.startswith("line 0\nline 1\n")
    assert cut.endswith("line 1999\n")
    assert "18,890 bytes in all, the middle is left out; it is in /t.jsonl" in cut


@given(texts.map(lambda text: text * 30), st.integers(0, 120))
def test_no_cut_is_too_long(text, tokens):
    cut = clipped(text, tokens, "see there")
    assert text_tokens(cut) <= tokens
    assert cut == text or text_tokens(text) > tokens
