"""The model of the provider's cache: documented rules, one by one, then for any conversation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import chain_of_blocks, filler
from tests.core.prompt_cache.growth import AUTOMATIC, EXPLICIT, HOUR, MINUTE, growing_calls, rules

from reverie.core.messages import Text, Thinking
from reverie.core.prompt_cache import Mark, StandingMarks, no_marks, placed, tail_only
from reverie.core.prompt_cache.tracker import Call, Plan, Simulator, simulate
from reverie.core.usage import FREE, Prices, Usage
from reverie.core.window import CacheRules

PRICES = Prices.of(3.0, 15.0)


def hundreds(count):
    """A request of `count` blocks of a hundred tokens each."""
    return chain_of_blocks(*[Text(filler(100))] * count)


def replay(*steps, limits=EXPLICIT):
    """Each step is (blocks, minutes since the start, marks); what each call used."""
    simulator = Simulator(limits)
    return [simulator.run(Call(hundreds(n), at * MINUTE), marks) for n, at, marks in steps]


def at(*places, ttl="5m"):
    return tuple(Mark(place, ttl) for place in places)


def test_an_entry_is_written_at_a_mark_and_read_by_the_next_call():
    first, second = replay((3, 0, at(2)), (5, 1, at(4)))
    assert first == Usage(cache_write_5m=300)
    assert second == Usage(cache_read=300, cache_write_5m=200)


def test_what_comes_after_the_last_mark_is_plain_input():
    assert replay((5, 0, at(2))) == [Usage(input=200, cache_write_5m=300)]


def test_a_mark_looks_back_twenty_blocks_itself_included():
    within, beyond = (replay((3, 0, at(2)), (n, 1, at(n - 1)))[1] for n in (22, 23))
    assert within.cache_read == 300
    assert beyond.cache_read == 0


def test_an_old_mark_sent_again_finds_its_entry_however_much_was_added():
    _, second = replay((3, 0, at(2)), (60, 1, at(2, 59)))
    assert second == Usage(cache_read=300, cache_write_5m=5_700)


def test_a_prefix_under_the_minimum_is_not_kept():
    small = replace(EXPLICIT, minimum=301)
    assert replay((3, 0, at(2)), (3, 1, at(2)), limits=small) == [Usage(input=300)] * 2


@pytest.mark.parametrize(
    ("ttl", "minutes", "read"),
    [("5m", 5, 300), ("5m", 5.1, 0), ("1h", 60, 300), ("1h", 60.1, 0)],
)
def test_an_entry_lives_for_its_time(ttl, minutes, read):
    _, second = replay((3, 0, at(2, ttl=ttl)), (3, minutes, at(2, ttl=ttl)))
    assert second.cache_read == read


def test_each_read_renews_an_entry():
    used = replay((3, 0, at(2)), (3, 4, at(2)), (3, 8, at(2)), (3, 12, at(2)))
    assert [usage.cache_read for usage in used] == [0, 300, 300, 300]


def test_a_read_renews_what_was_read_even_when_the_mark_is_elsewhere():
    used = replay((3, 0, at(2)), (6, 4, at(5)), (3, 8, at(2)))
    assert used[2].cache_read == 300


def test_an_hour_is_not_shortened_by_a_later_mark_of_five_minutes():
    used = replay((3, 0, at(2, ttl="1h")), (3, 1, at(2)), (3, 30, at(2)))
    assert used[2].cache_read == 300


def test_an_hour_that_has_passed_is_over():
    used = replay((3, 0, at(2, ttl="1h")), (3, 61, at(2)), (3, 67, at(2)))
    assert [usage.cache_read for usage in used] == [0, 0, 0]


def test_what_is_written_is_priced_by_the_mark_that_covers_it():
    marks = (Mark(1, "1h"), Mark(4, "5m"))
    first, second = replay((5, 0, marks), (7, 1, (Mark(1, "1h"), Mark(6, "5m"))))
    assert first == Usage(cache_write_1h=200, cache_write_5m=300)
    assert second == Usage(cache_read=500, cache_write_5m=200)


def test_an_automatic_cache_finds_any_prefix_in_steps():
    first, second, third = replay((3, 0, ()), (5, 1, ()), (5, 60, ()), limits=AUTOMATIC)
    assert first == Usage(input=300)
    assert second == Usage(input=244, cache_read=256)
    assert third == Usage(input=500)
    assert replay((1, 0, ()), (2, 1, ()), limits=AUTOMATIC)[1] == Usage(input=200)


def test_no_cache_no_savings():
    assert replay((3, 0, ()), (3, 1, ()), limits=CacheRules()) == [Usage(input=300)] * 2


def test_marks_of_before_stand_as_long_as_the_bytes_do():
    simulator = Simulator(EXPLICIT)
    simulator.run(Call(hundreds(3), 0.0), (Mark(0, "1h"), Mark(2)))
    assert simulator.standing(hundreds(9)) == StandingMarks(2, 0)
    assert simulator.standing(hundreds(2)) == StandingMarks(0, 0)
    assert simulator.standing(chain_of_blocks(Text("other"))) == StandingMarks()


def test_an_outcome_has_a_total_and_a_price():
    calls = [Call(hundreds(3), 0.0, output=7), Call(hundreds(4), MINUTE, output=5)]
    plan = Plan("tail", tail_only)
    outcome = simulate(calls, plan, EXPLICIT, PRICES)
    assert outcome.plan is plan
    assert outcome.total == Usage(cache_read=300, cache_write_5m=400, output=12)
    assert outcome.cost == pytest.approx((300 * 0.3 + 400 * 3.75 + 12 * 15) / 1e6)
    assert simulate([], plan, EXPLICIT, FREE).total == Usage()


def usages(calls, policy, limits):
    return simulate(calls, Plan("", policy), limits, PRICES).usages


plans = st.sampled_from([placed("5m"), placed("1h"), placed("auto"), tail_only, no_marks])


@given(growing_calls(longest_gap=7_200), plans, rules | st.just(AUTOMATIC) | st.just(CacheRules()))
def test_no_token_is_lost_or_counted_twice(calls, policy, limits):
    for call, usage in zip(calls, usages(calls, policy, limits), strict=True):
        assert usage.prompt == call.chain.tokens
        assert usage.output == call.output
        assert min(usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h) >= 0


@pytest.mark.parametrize(("ttl", "life"), [("5m", 300), ("1h", 3_600), ("auto", 300)])
@given(data=st.data(), limits=rules)
def test_what_one_request_wrote_the_next_one_reads_however_much_it_added(ttl, life, data, limits):
    calls = data.draw(growing_calls(longest_gap=life))
    used = usages(calls, placed(ttl), limits)
    for before, after in pairwise(used):
        assert after.cache_read >= before.cache_read + before.cache_write


@given(growing_calls(longest_gap=1_200), rules)
def test_our_marks_are_never_dearer_than_the_usual_one(calls, limits):
    ours, usual = (simulate(calls, Plan("", p), limits, PRICES) for p in (placed("5m"), tail_only))
    assert ours.cost <= usual.cost + 1e-12


@given(growing_calls(longest_gap=300), rules)
def test_of_what_could_be_read_everything_is(calls, limits):
    """The most any policy could read is the last request, up to its last markable block."""
    used = usages(calls, placed(), limits)
    for earlier, usage in zip(calls, used[1:], strict=False):
        large = [
            link.tokens
            for link in earlier.chain.links
            if link.segment.markable and link.tokens >= limits.minimum
        ]
        assert usage.cache_read >= max(large, default=0)


def test_a_long_pause_is_survived_by_an_hour_and_not_by_five_minutes():
    calls = [Call(hundreds(n), n * 20 * MINUTE) for n in (10, 11, 12)]
    assert sum(u.cache_read for u in usages(calls, placed("5m"), EXPLICIT)) == 0
    assert sum(u.cache_read for u in usages(calls, placed("1h"), EXPLICIT)) == 2_100
    late = [Call(hundreds(10), 0.0), Call(hundreds(10), HOUR + 1)]
    assert usages(late, placed("1h"), EXPLICIT)[1].cache_read == 0


def test_thoughts_at_the_end_are_sent_and_not_kept():
    chain = chain_of_blocks(Text(filler(200)), Thinking(filler(50)))
    (usage,) = usages([Call(chain, 0.0)], placed(), EXPLICIT)
    assert usage == Usage(input=50, cache_write_5m=200)
