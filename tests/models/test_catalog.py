"""The built-in model table is consistent."""

from __future__ import annotations

import pytest

from reverie.core.usage import Usage
from reverie.models import catalog
from reverie.models.catalog import ROWS, Row

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def test_every_name_is_there_once() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


@each_row
def test_a_row_makes_sense(row: Row) -> None:
    assert row.prices is not None
    assert 0 < row.prices.cache_read < row.prices.input <= row.prices.cache_write_5m
    assert row.prices.input < row.prices.output
    abilities = row.capabilities
    assert abilities.window is not None
    assert abilities.max_output is not None
    assert abilities.max_output < abilities.window
    assert abilities.cache.kind == ("explicit" if row.kind == "anthropic" else "automatic")
    assert abilities.cache.minimum >= 512
    # Thinking that is bound to its prefix needs thinking.
    assert not abilities.thinking_bound or abilities.thinking


@each_row
def test_a_row_is_found_by_its_name_and_by_a_dated_one(row: Row) -> None:
    assert catalog.find(row.name) is row
    assert catalog.find(f"{row.name}-20251101") is row


@pytest.mark.parametrize(
    "name", ["", "claude", "claude-opus-5-2025", "gpt-5.5-latest", "CLAUDE-OPUS-5", "20251101"]
)
def test_other_names_are_not(name: str) -> None:
    assert catalog.find(name) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("claude-opus5", "claude-opus-5"), ("gpt5.5", "gpt-5.5"), ("sonnet-5-5", "claude-sonnet-5-5")],
)
def test_a_mistyped_name_is_recognised(typed: str, meant: str) -> None:
    assert meant in catalog.similar(typed)


def test_nothing_is_similar_to_nonsense() -> None:
    assert catalog.similar("zzz") == []


def test_long_prompts_have_prices_of_their_own() -> None:
    row = catalog.find("claude-haiku-5-5")
    assert row is not None
    assert row.prices is not None
    short, long = (row.prices.cost(Usage(input=size)) for size in (100_000, 100_001))
    assert long == pytest.approx(short * 5, rel=0.001)
