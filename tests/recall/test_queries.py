"""The query language: options where they read as such, words otherwise; never an error."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.recall.queries import Query, parse


def at(*day: int) -> float:
    return datetime(*day, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("retry policy", Query("retry policy")),
        ("type:feedback retries", Query("retries", types=("feedback",))),
        ("TYPE:feedback x", Query("TYPE:feedback x")),
        ("type:nonsense x", Query("type:nonsense x")),
        ("after:2026-01 x", Query("x", after=at(2026, 1, 1))),
        ("before:2026-01-31 x", Query("x", before=at(2026, 1, 31))),
        ("after:2026-13 x", Query("after:2026-13 x")),
        ("session:abc x", Query("x", session="abc")),
        ('"exact phrase" x', Query("x exact phrase", phrases=("exact phrase",))),
        ("cache -redis", Query("cache", excluded=("redis",))),
        ('cache -"in memory"', Query("cache", excluded=("in memory",))),
        ("well-known --dry-run", Query("well-known --dry-run")),
        ('an "unclosed quote', Query("an unclosed quote")),
        ("http://a.b:80/c", Query("http://a.b:80/c")),
        ("-", Query("-")),
        ('""', Query("")),
        ("role:user hello", Query("hello", role="user")),
        ("is:archived freeze", Query("freeze", archived=True)),
        ("is:Archived", Query("", archived=True)),
        ("what is:this", Query("what is:this")),
    ],
)
def test_what_was_typed_and_what_was_meant(typed, meant):
    found = parse(typed)
    assert replace(found, text=" ".join(found.text.split())) == meant


@given(st.text())
def test_nothing_is_an_error(text):
    assert isinstance(parse(text), Query)
