"""Where marks are put: few, in order, where providers take them, and where entries are found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import a_head, chain_of, chain_of_blocks, filler, result, user
from tests.core.prompt_cache.growth import AUTOMATIC, EXPLICIT, blocks, rules

from reverie.core.messages import Text, Thinking
from reverie.core.prompt_cache import (
    Mark,
    StandingMarks,
    as_breakpoints,
    head_only,
    no_marks,
    placed,
    tail_only,
)
from reverie.core.request import Breakpoint
from reverie.core.window import CacheRules

BIG = Text(filler(200))
HEAD = a_head(system=[filler(200)], tools=["t: " + filler(200)])
EMPTY = chain_of(a_head(), [])


def talk(*last, blocks=3):
    """Links 0 and 1 are the head, 2 the first message, then `blocks` in all, then `last`."""
    return chain_of_blocks(*[BIG] * blocks, *last, head=HEAD)


def indices(marks):
    return [mark.index for mark in marks]


@pytest.mark.parametrize(
    ("chain", "standing", "marked"),
    [
        (talk(), StandingMarks(), [1, 2, 4]),
        (talk(blocks=1), StandingMarks(), [1, 2]),
        (talk(blocks=0), StandingMarks(), [1]),
        (EMPTY, StandingMarks(), []),
        (talk(blocks=30), StandingMarks(25), [1, 2, 31]),
        (talk(blocks=30), StandingMarks(12), [1, 2, 31]),
        (talk(blocks=30), StandingMarks(11), [1, 2, 11, 31]),
        (talk(Thinking("hm"), Text("")), StandingMarks(), [1, 2, 4]),
        (chain_of_blocks(*[BIG] * 3), StandingMarks(), [0, 2]),
        (chain_of_blocks(*[Text("x")] * 3), StandingMarks(), []),
        (chain_of_blocks(*[Text(filler(40))] * 4), StandingMarks(), [3]),
        (chain_of_blocks(Text(filler(100))), StandingMarks(), [0]),
        (chain_of_blocks(Text(filler(99))), StandingMarks(), []),
        (talk(blocks=30), StandingMarks(25, 7), [1, 2, 31]),
    ],
    ids=[
        "head, start, tail",
        "start is tail",
        "nothing said yet",
        "nothing at all",
        "the last entry is near",
        "just within the look-back",
        "just out of it: anchor",
        "no mark on thoughts and empty text",
        "no head",
        "too small to keep",
        "only the tail is large enough",
        "just large enough",
        "just too small",
        "an older hour, where entries live for minutes",
    ],
)
def test_where_marks_are_put(chain, standing, marked):
    marks = placed()(chain, standing, EXPLICIT)
    assert indices(marks) == marked
    assert {mark.ttl for mark in marks} <= {"5m"}


def test_without_earlier_marks_there_is_none_to_find():
    assert StandingMarks() == StandingMarks(newest=-1, newest_hour=-1)


def test_with_few_marks_the_tail_and_what_finds_the_last_entry_come_first():
    for most, marked in [(0, []), (1, [31]), (2, [11, 31]), (3, [1, 11, 31]), (4, [1, 2, 11, 31])]:
        few = replace(EXPLICIT, max_breakpoints=most)
        assert indices(placed()(talk(blocks=30), StandingMarks(11), few)) == marked


@pytest.mark.parametrize("policy", [placed(), placed("auto"), tail_only, head_only, no_marks])
@pytest.mark.parametrize("other", [AUTOMATIC, CacheRules("none")], ids=["automatic", "none"])
def test_providers_without_marks_get_none(policy, other):
    assert policy(talk(), StandingMarks(), other) == ()


def test_the_simpler_policies():
    assert tail_only(talk(), StandingMarks(), EXPLICIT) == (Mark(4),)
    assert head_only(talk(), StandingMarks(), EXPLICIT) == (Mark(1),)
    assert head_only(chain_of_blocks(BIG), StandingMarks(), EXPLICIT) == ()
    assert no_marks(talk(), StandingMarks(), EXPLICIT) == ()


def test_the_start_of_a_conversation_is_its_first_message_and_the_records_after_it():
    chain = chain_of(HEAD, [user(BIG, BIG, BIG), user(BIG), user(BIG)])
    assert indices(placed()(chain, StandingMarks(), EXPLICIT)) == [1, 4, 6]
    record = replace(user(BIG), origin="reverie")
    recorded = chain_of(HEAD, [user(BIG), record, record, user(BIG), user(BIG)])
    assert indices(placed()(recorded, StandingMarks(), EXPLICIT)) == [1, 4, 6]
    nothing_first = chain_of(HEAD, [user(), user(BIG), user(BIG)])
    assert indices(placed()(nothing_first, StandingMarks(), EXPLICIT)) == [1, 3]


def test_marks_for_an_hour():
    for chain in (talk(), talk(Thinking("hm"), Text(""))):
        marks = placed("1h")(chain, StandingMarks(), EXPLICIT)
        assert marks == (Mark(1, "1h"), Mark(2, "1h"), Mark(4, "1h"))


def two_parts(tokens):
    """What is new, 23 tokens, costs 17.25 more for an hour; a lapse would cost 5.75 % of the whole."""
    return chain_of_blocks(Text(filler(tokens - 23)), Text(filler(23)))


QUESTION = Text(filler(20))
SOME = Text(filler(120))
MUCH = Text(filler(2_000))


@pytest.mark.parametrize(
    ("chain", "standing", "ttls"),
    [
        (talk(QUESTION, blocks=8), StandingMarks(9), {10: "1h", 1: "1h", 2: "1h"}),
        (talk(result("a", "found"), blocks=8), StandingMarks(9), {10: "1h", 1: "1h", 2: "1h"}),
        (talk(QUESTION, blocks=8), StandingMarks(9, 9), {10: "5m", 9: "1h", 1: "1h", 2: "1h"}),
        (talk(SOME, blocks=8), StandingMarks(9), {10: "1h", 1: "1h", 2: "1h"}),
        (talk(MUCH, blocks=8), StandingMarks(9), {10: "5m", 1: "5m", 2: "5m"}),
        (talk(QUESTION, blocks=8), StandingMarks(), {10: "5m", 1: "5m", 2: "5m"}),
        (talk(MUCH, blocks=8), StandingMarks(9, 6), {10: "5m", 6: "1h", 1: "1h", 2: "1h"}),
        (talk(MUCH, blocks=30), StandingMarks(9, 6), {32: "5m", 9: "5m", 6: "1h", 1: "1h"}),
        (EMPTY, StandingMarks(), {}),
        (two_parts(300), StandingMarks(0), {1: "5m", 0: "5m"}),
        (two_parts(301), StandingMarks(0), {1: "1h", 0: "1h"}),
        (two_parts(301), StandingMarks(0, 0), {1: "5m", 0: "1h"}),
    ],
    ids=[
        "a person may pause: little is new, an hour is cheap",
        "after a tool as well: the answer follows, and the person thinks",
        "what an older hour covers needs no other",
        "what is new costs less than a pause would",
        "too much is new",
        "all is new",
        "an hour bought before is kept",
        "with an anchor",
        "nothing at all",
        "a lapse would cost just as much",
        "a lapse would cost a little more",
        "the first block has an hour",
    ],
)
def test_an_hour_is_bought_where_a_pause_is_likely_and_cheap(chain, standing, ttls):
    marks = placed("auto")(chain, standing, EXPLICIT)
    assert {mark.index: mark.ttl for mark in marks} == ttls


def test_marks_as_the_wire_names_them():
    chain = talk(Text("last"))
    points = as_breakpoints(chain, [Mark(0, "1h"), Mark(1, "1h"), Mark(5)])
    assert points == (
        Breakpoint("tools", 0, 0, "1h"),
        Breakpoint("system", 0, 0, "1h"),
        Breakpoint("messages", 3, 0, "5m"),
    )


@st.composite
def situations(draw):
    """Any chain, with earlier marks anywhere in it."""
    head = a_head(system=[filler(n) for n in draw(st.lists(st.integers(0, 300), max_size=2))])
    said = [user(*draw(st.lists(blocks, max_size=3))) for _ in range(draw(st.integers(0, 30)))]
    chain = chain_of(head, said)
    newest = draw(st.integers(-1, len(chain.links) - 1))
    return chain, StandingMarks(newest, draw(st.integers(-1, newest)))


policies = st.sampled_from([placed("5m"), placed("1h"), placed("auto"), tail_only, head_only])


@given(situations(), rules, policies)
def test_every_provider_takes_our_marks(situation, limits, policy):
    chain, standing = situation
    marks = policy(chain, standing, limits)
    assert len(marks) <= limits.max_breakpoints
    assert indices(marks) == sorted(set(indices(marks)))
    assert [mark.ttl for mark in marks] == sorted(mark.ttl for mark in marks)  # "1h" < "5m"
    assert all(chain.links[mark.index].segment.markable for mark in marks)
    assert all(chain.links[mark.index].tokens >= limits.minimum for mark in marks)


@given(
    situations(), rules, st.sampled_from([placed("5m"), placed("1h"), placed("auto"), tail_only])
)
def test_the_tail_is_marked_whenever_it_is_large_enough(situation, limits, policy):
    chain, standing = situation
    markable = [i for i, link in enumerate(chain.links) if link.segment.markable]
    marked = indices(policy(chain, standing, limits))
    if markable and chain.links[markable[-1]].tokens >= limits.minimum:
        assert marked[-1] == markable[-1]
    else:
        assert marked == []
