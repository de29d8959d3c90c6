"""The tracker: silent while a conversation only grows, and exact about what broke it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import a_head, chain_of, filler, user
from tests.core.prompt_cache.growth import AUTOMATIC, EXPLICIT, MINUTE, growing_calls, rules

from reverie.core.messages import Text
from reverie.core.prompt_cache import Change, Mark, placed
from reverie.core.prompt_cache.tracker import (
    TOLERATED_TOKENS,
    Broken,
    Call,
    Expectation,
    ExpectedBreak,
    Kept,
    Sent,
    Simulator,
    Tracker,
)
from reverie.core.usage import Usage

LARGE = filler(400)
HEAD = a_head(system=[LARGE + "kind", LARGE + "brief"], tools=["read: " + LARGE, "write: " + LARGE])
SAID = [user(LARGE + "one", LARGE + "two"), user(LARGE + "three"), user(LARGE + "four")]


class Session:
    """A tracker in front of a simulated provider."""

    def __init__(self, limits=EXPLICIT, policy=None):
        self.tracker = Tracker(limits)
        self.provider = Simulator(limits)
        self.limits = limits
        self.policy = policy or placed()
        self.usage = Usage()

    def send(self, chain, at=0.0, diagnosis=""):
        promise = self.tracker.before(chain)
        marks = self.policy(chain, self.provider.standing(chain), self.limits)
        self.usage = self.provider.run(Call(chain, at), marks)
        return self.tracker.after(promise, Sent(chain, marks, at), self.usage, diagnosis)

    @property
    def cached(self):
        return self.usage.cache_read + self.usage.cache_write


def test_the_first_request_is_promised_nothing():
    session = Session()
    assert session.tracker.before(chain_of(HEAD, SAID)) == Expectation(0, 0)
    assert session.send(chain_of(HEAD, SAID)) == Kept(0)


def test_a_conversation_that_grows_reads_all_it_wrote():
    session = Session()
    session.send(chain_of(HEAD, SAID[:2]))
    cached = session.cached
    assert session.tracker.before(chain_of(HEAD, SAID)) == Expectation(cached, 0)
    assert session.send(chain_of(HEAD, SAID)) == Kept(cached)


@pytest.mark.parametrize(("missing", "kept"), [(0, True), (256, True), (257, False)])
def test_what_a_provider_rounds_away_is_no_break(missing, kept):
    session = Session()
    chain = chain_of(HEAD, SAID)
    session.send(chain)
    promise = session.tracker.before(chain)
    read = Usage(cache_read=promise.tokens - missing)
    verdict = session.tracker.after(promise, Sent(chain, (), 1.0), read)
    assert isinstance(verdict, Kept if kept else Broken)


@pytest.mark.parametrize(("read", "kept"), [(95_000, True), (94_999, False)])
def test_in_a_large_conversation_a_twentieth_is_tolerated(read, kept):
    tracker = Tracker(EXPLICIT)
    sent = Sent(chain_of(HEAD, SAID), (), 0.0)
    tracker.after(tracker.before(sent.chain), sent, Usage(cache_write_5m=100_000))
    verdict = tracker.after(tracker.before(sent.chain), sent, Usage(cache_read=read))
    assert isinstance(verdict, Kept if kept else Broken)


def test_an_entry_that_outlived_its_time_is_named():
    session = Session()
    session.send(chain_of(HEAD, SAID), at=0.0)
    cached = session.cached
    verdict = session.send(chain_of(HEAD, [*SAID, user("hi")]), at=7 * MINUTE)
    assert verdict == Broken(cached, (Change("ttl_expired", "420 s idle, entries live 300 s"),))


@pytest.mark.parametrize(
    ("idle", "what"), [(0, "provider"), (300, "provider"), (301, "ttl_expired")]
)
def test_an_entry_lives_to_the_end_of_its_time(idle, what):
    session = Session()
    session.send(chain_of(HEAD, SAID), at=0.0)
    session.provider.entries.clear()
    verdict = session.send(chain_of(HEAD, SAID), at=idle)
    assert isinstance(verdict, Broken)
    assert [cause.what for cause in verdict.causes] == [what]


def test_a_prefix_of_no_known_size_promises_nothing_once_it_changed():
    tracker = Tracker(EXPLICIT)
    sent = Sent(chain_of(a_head(), [user("")]), (Mark(0),), 0.0)
    tracker.after(tracker.before(sent.chain), sent, Usage(cache_write_5m=5_000))
    promise = tracker.before(chain_of(a_head(), [user(""), user("x")]))
    assert promise == Expectation(5_000, 0)
    promise = tracker.before(chain_of(a_head(model="n"), [user("")]))
    assert (promise.tokens, promise.lost) == (0, 5_000)
    promise = tracker.before(chain_of(a_head(), []))
    assert (promise.tokens, promise.lost) == (0, 5_000)


@pytest.mark.parametrize(("first", "last", "life"), [("1h", "5m", 300), ("5m", "1h", 3_600)])
def test_of_entries_with_different_lives_the_last_one_is_named(first, last, life):
    tracker = Tracker(EXPLICIT)
    chain = chain_of(HEAD, SAID)
    sent = Sent(chain, (Mark(3, first), Mark(len(chain.links) - 1, last)), 0.0)
    tracker.after(tracker.before(chain), sent, Usage(cache_write_5m=5_000))
    verdict = tracker.after(tracker.before(chain), replace(sent, at=life + 1.0), Usage())
    cause = Change("ttl_expired", f"{life + 1} s idle, entries live {life} s")
    assert verdict == Broken(5_000, (cause,))


@pytest.mark.parametrize(
    ("marks", "life"), [((), "5m"), (("5m",), "5m"), (("1h",), "1h"), (("1h", "5m"), "1h")]
)
def test_the_life_that_was_asked_for_last(marks, life):
    tracker = Tracker(EXPLICIT)
    assert tracker.ttl == "5m"
    chain = chain_of(HEAD, SAID)
    sent = Sent(chain, tuple(Mark(place, ttl) for place, ttl in enumerate(marks)), 0.0)
    tracker.after(tracker.before(chain), sent, Usage())
    assert tracker.ttl == life


def test_an_automatic_cache_expires_by_its_own_rules():
    session = Session(replace(AUTOMATIC, ttl_seconds=600.0))
    chain = chain_of(HEAD, SAID)
    for at in (0.0, 1.0, 2.0):
        session.send(chain, at)
    verdict = session.send(chain, 700.0)
    assert isinstance(verdict, Broken)
    assert verdict.causes == (Change("ttl_expired", "698 s idle, entries live 600 s"),)


def test_an_eviction_is_the_providers_doing_and_its_own_word_is_passed_on():
    session = Session()
    session.send(chain_of(HEAD, SAID))
    session.provider.entries.clear()
    verdict = session.send(chain_of(HEAD, SAID), at=1.0, diagnosis="cache_miss: unavailable")
    assert isinstance(verdict, Broken)
    assert [change.what for change in verdict.causes] == ["provider", "provider"]
    assert verdict.causes[0].detail == "nothing changed on this side; the entry was evicted"
    assert verdict.causes[1].detail == "says: cache_miss: unavailable"


def test_a_registered_break_is_expected_once():
    session = Session()
    session.send(chain_of(HEAD, SAID))
    cached = session.cached
    compacted = [user("summary"), user(LARGE)]
    session.tracker.expect_break("compaction")
    verdict = session.send(chain_of(HEAD, compacted), at=1.0)
    assert verdict == ExpectedBreak("compaction", lost=cached - session.usage.cache_read)
    assert isinstance(session.send(chain_of(HEAD, [user("again")]), at=2.0), Broken)


def test_a_registered_break_survives_a_request_that_failed():
    session = Session()
    session.send(chain_of(HEAD, SAID))
    session.tracker.expect_break("compaction")
    session.tracker.before(chain_of(HEAD, [user("summary")]))  # the provider was overloaded
    verdict = session.send(chain_of(HEAD, [user("summary")]), at=1.0)
    assert isinstance(verdict, ExpectedBreak)


def test_a_break_registered_while_a_reply_streams_is_for_the_next_request():
    session = Session()
    chain = chain_of(HEAD, SAID)
    promise = session.tracker.before(chain)
    session.tracker.expect_break("microcompaction")
    session.tracker.after(promise, Sent(chain, (), 0.0), Usage(cache_write_5m=5_000))
    assert session.tracker.before(chain_of(HEAD, [])).expected == "microcompaction"


def test_an_edit_costs_what_had_to_be_written_again_and_no_more():
    # The entry of the request before last still stands, and the provider finds it.
    session = Session()
    said = [user(LARGE + str(n)) for n in range(12)]
    session.send(chain_of(HEAD, said[:-1]), at=0.0)
    session.send(chain_of(HEAD, said), at=1.0)
    cached = session.cached
    verdict = session.send(chain_of(HEAD, [*said[:-1], user("edited")]), at=2.0)
    assert isinstance(verdict, Broken)
    assert verdict.lost == cached - session.usage.cache_read == 401


def test_the_promise_after_a_change_is_the_last_mark_before_it():
    session = Session()
    chain = chain_of(HEAD, SAID)
    session.send(chain)
    for number, standing in [(0, -1), (3, -1), (4, 3), (5, 3), (6, 5), (7, 5)]:
        promise = session.tracker.before(chain_of(*with_piece(number, "changed")))
        kept = chain.links[standing].tokens if standing >= 0 else 0
        assert promise == replace(promise, tokens=kept, lost=chain.tokens - kept)


def test_a_change_behind_the_last_mark_costs_nothing():
    session = Session()
    session.policy = lambda chain, standing, limits: placed()(chain, standing, limits)[:1]
    session.send(chain_of(HEAD, SAID))
    assert isinstance(session.send(chain_of(HEAD, [user("other")]), at=1.0), Kept)


def test_an_automatic_cache_keeps_what_lies_before_the_change():
    session = Session(AUTOMATIC)
    for at in (0.0, 1.0):
        session.send(chain_of(HEAD, SAID), at)
    changed = chain_of(HEAD, [*SAID[:-1], user(LARGE + "five")])
    promise = session.tracker.before(changed)
    assert promise.changed[0].what == "message"
    old = chain_of(HEAD, SAID)
    kept = session.cached * old.links[-2].tokens // old.tokens
    assert (promise.tokens, promise.lost) == (kept, session.cached - kept)
    assert session.tracker.before(chain_of(a_head(model="n"), SAID)).tokens == 0


@given(
    growing_calls(longest_gap=300),
    rules | st.just(AUTOMATIC),
    st.sampled_from(["5m", "1h", "auto"]),
)
def test_a_conversation_that_only_grows_is_never_broken(calls, limits, ttl):
    session = Session(limits, placed(ttl))
    for call in calls:
        assert isinstance(session.send(call.chain, call.at), Kept)


@given(growing_calls(longest_gap=5_000), rules, st.sampled_from(["5m", "1h", "auto"]))
def test_only_idleness_breaks_a_conversation_that_only_grows(calls, limits, ttl):
    session = Session(limits, placed(ttl))
    last = 0.0
    for call in calls:
        verdict = session.send(call.chain, call.at)
        if not isinstance(verdict, Kept):
            assert [cause.what for cause in verdict.causes] == ["ttl_expired"]
            assert call.at - last > 300
        last = call.at


PIECES = [
    *(("tool_changed", f"{tool.name}: byte ", tool.description) for tool in HEAD.tools),
    *(("system", f"system block {i}: byte ", text.text) for i, text in enumerate(HEAD.system)),
    *(
        ("message", f"message {i}, block {j}: byte ", block.text)
        for i, message in enumerate(SAID)
        for j, block in enumerate(message.blocks)
    ),
]


def with_piece(number, text):
    """The same request with the text of one tool, system block or message block replaced."""
    tools, system, said = list(HEAD.tools), list(HEAD.system), list(SAID)
    if number < 2:
        tools[number] = replace(tools[number], description=text)
    elif number < 4:
        system[number - 2] = Text(text)
    else:
        place, block = [(0, 0), (0, 1), (1, 0), (2, 0)][number - 4]
        blocks = list(said[place].blocks)
        blocks[block] = Text(text)
        said[place] = user(*blocks)
    return replace(HEAD, tools=tuple(tools), system=tuple(system)), said


# Where in its segment's bytes a text begins, by kind.
OFFSET = {"tool_changed": 0, "system": len('{"type":"text","text":"'), "message": len('user {"type":"text","text":"')}  # fmt: skip


@given(st.integers(0, len(PIECES) - 1), st.data(), st.booleans())
def test_any_letter_that_moved_in_a_cached_prefix_is_named_where_it_is(number, data, expected):
    what, place, text = PIECES[number]
    letter = data.draw(st.integers(0, len(text) - 1))
    mutated = text[:letter] + ("X" if text[letter] != "X" else "Y") + text[letter + 1 :]
    session = Session()
    session.send(chain_of(HEAD, SAID))
    cached = session.cached
    if expected:
        session.tracker.expect_break("on purpose")
    head, said = with_piece(number, mutated)
    verdict = session.send(chain_of(head, [*said, user("next")]), at=1.0)
    lost = cached - session.usage.cache_read
    assert lost > TOLERATED_TOKENS
    if expected:
        assert verdict == ExpectedBreak("on purpose", lost)
        return
    assert isinstance(verdict, Broken)
    assert verdict.lost == lost
    (cause,) = verdict.causes
    assert cause.what == what
    assert cause.detail.startswith(f"{place}{letter + OFFSET[what]}: ")
