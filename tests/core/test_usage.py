"""Tokens and dollars: what a call used, and what it costs at most."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.usage import FREE, Entry, Prices, Usage

counts = st.integers(0, 2_000_000)
usages = st.builds(Usage, counts, counts, counts, counts, counts)

FLAT = Prices.of(3.0, 15.0)
TIERED = Prices(3.0, 15.0, 0.3, 3.75, 6.0, long_above=200_000, long=Prices.of(6.0, 22.5))


def test_the_sizes_of_a_call():
    usage = Usage(input=10, cache_read=600, cache_write_5m=200, cache_write_1h=190, output=50)
    assert usage.cache_write == 390
    assert usage.prompt == 1_000
    assert usage.context == 1_050
    assert usage.hit_rate == 0.6
    assert Usage().hit_rate == 0.0


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(input=1_000_000), 3.0),
        (Usage(cache_read=1_000_000), 0.3),
        (Usage(cache_write_5m=1_000_000), 3.75),
        (Usage(cache_write_1h=1_000_000), 6.0),
        (Usage(output=1_000_000), 15.0),
        (Usage(100, 200, 300, 400, 500), 0.011_385),
        (Usage(), 0.0),
    ],
)
def test_the_price_list(usage, dollars):
    assert FLAT.cost(usage) == pytest.approx(dollars)
    assert FREE.cost(usage) == 0.0


@pytest.mark.parametrize(
    ("prices", "prompt", "rate"),
    [
        (TIERED, 200_000, 3.0),
        (TIERED, 200_001, 6.0),
        (FLAT, 10**9, 3.0),
        (Prices(1, 1, 1, 1, 1, long=FLAT), 10**9, 1),
        (Prices(1, 1, 1, 1, 1, long_above=0), 10**9, 1),
    ],
    ids=["at the edge", "past it", "one tier", "no edge", "no second tier"],
)
def test_long_prompts_have_a_price_of_their_own(prices, prompt, rate):
    assert prices.tier(prompt).input == rate
    assert prices.cost(Usage(input=prompt)) == pytest.approx(prompt * rate / 1e6)


def test_prices_in_the_usual_ratios_and_times_a_factor():
    assert Prices.of(4.0, 16.0, read=0.25) == Prices(4.0, 16.0, 1.0, 5.0, 8.0)
    assert Prices.of(10.0, 1.0).cache_read == 1.0
    long = Prices(10.0, 20.0, 30.0, 40.0, 50.0)
    prices = Prices(1.0, 2.0, 3.0, 4.0, 5.0, 200_000, long)
    half = Prices(0.5, 1.0, 1.5, 2.0, 2.5, 200_000, Prices(5.0, 10.0, 15.0, 20.0, 25.0))
    assert prices.scaled(0.5) == half
    assert long.scaled(0.5) == half.long


def test_prices_are_those_of_a_million_tokens():
    prices = Prices(1.0, 2.0, 3.0, 4.0, 5.0)
    million = 1_000_000
    assert prices.cost(Usage(million, million, million, million, million)) == 15.0
    assert prices.ceiling(million, million) == 7.0


@pytest.mark.parametrize(
    ("prices", "dearest"),
    [
        (Prices(3.0, 9.0, 9.0, 2.0, 1.0), 3.0),
        (Prices(1.0, 9.0, 9.0, 3.0, 2.0), 3.0),
        (Prices(2.0, 9.0, 9.0, 1.0, 3.0), 3.0),
    ],
)
def test_the_dearest_way_to_send_a_token(prices, dearest):
    assert prices.dearest_input == dearest


def test_an_entry_is_exact_unless_it_says_otherwise():
    assert not Entry(0.0, "main", "s", "m", Usage(), None).estimated


def test_a_providers_own_read_ratio():
    assert Prices.of(2.0, 8.0, read=0.25).cache_read == 0.5


@given(usages, st.sampled_from([FLAT, TIERED, FREE]))
def test_no_call_costs_more_than_its_ceiling(usage, prices):
    ceiling = prices.ceiling(usage.prompt, usage.output)
    assert prices.cost(usage) <= ceiling or prices.cost(usage) == pytest.approx(ceiling)


@given(usages, usages)
def test_sums_keep_every_token_and_a_hit_rate_is_a_share(one, other):
    both = one + other
    assert both.context == one.context + other.context
    assert both.cache_write == one.cache_write + other.cache_write
    assert 0.0 <= both.hit_rate <= 1.0
