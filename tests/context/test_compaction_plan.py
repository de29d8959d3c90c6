"""What becomes a summary and what stays word for word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.compacting import BIG, SMALL, compacted, situation, threaded, tokens
from tests.core.build import call, conversations, filler, model, result, results, user

from reverie.context.compaction.plan import (
    Covered,
    From,
    NoPlan,
    Plan,
    UpTo,
    Whole,
    plan,
    unanswered,
)
from reverie.core.messages import Message
from reverie.core.transcript import pairing, safe_cuts
from reverie.core.window import Window


def a_call(name: str, size: int = 0) -> tuple[Message, Message]:
    return model(call(name), response=name), user(result(name, filler(size) or "ok"))


def turns(count: int, size: int) -> list[Message]:
    """Finished turns: a question, a call with a result of this size, an answer."""
    return [
        message
        for n in range(count)
        for message in (user(f"question {n}"), *a_call(f"c{n}", size), model(f"answer {n}"))
    ]


def planned(messages, window=BIG, mode=Whole()) -> Plan:  # noqa: B008 - frozen
    found = plan(messages, window, mode)
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([], 0, id="nothing"),
        pytest.param([user("q")], 0, id="a first question"),
        pytest.param([user("q"), model("a")], 2, id="all answered"),
        pytest.param([user("q"), model("a"), user("more")], 2, id="a new question"),
        pytest.param([user("q"), *a_call("c")], 0, id="results the model has not read"),
        pytest.param([user("q"), *a_call("c"), user("and")], 0, id="a word behind such results"),
        pytest.param([user("q"), *a_call("c"), *a_call("d")], 3, id="only the last results"),
        pytest.param([user("q"), model(call("c"))], 0, id="a call that runs"),
        pytest.param(
            [user("q"), model(call("a"), response="r"), model("t", response="r"), results("a")],
            0,
            id="a response in pieces",
        ),
    ],
)
def test_what_the_model_has_not_answered(messages, expected):
    assert unanswered(messages) == expected


def test_an_earlier_summary_waits_for_no_answer():
    first = threaded(turns(20, 900))
    done = compacted(situation(first))
    assert unanswered([*done.start, user("next")]) == 1
    again = planned([*done.start, user(filler(3)), *a_call("x", 9_000), *a_call("y")])
    assert again.compacted[0] == done.start[0]


def test_the_last_rounds_stay_within_a_small_budget():
    found = planned(turns(40, 4_000))
    assert 4_000 < tokens(found.kept) <= 10_000
    assert [*found.compacted, *found.kept] == turns(40, 4_000)


def test_the_budget_is_smaller_in_a_small_window():
    found = planned(turns(40, 300), SMALL)
    assert 300 < tokens(found.kept) <= 800


def test_a_short_conversation_keeps_a_quarter_at_most():
    messages = turns(8, 100)
    found = planned(messages)
    assert tokens(found.kept) <= tokens(messages) // 4
    assert found.compacted


def test_an_unanswered_round_stays_however_long():
    messages = [*turns(3, 100), user("read it all"), *a_call("big", 50_000)]
    assert planned(messages).kept == tuple(messages[-3:])


def test_nothing_is_planned_where_all_waits():
    found = plan([user("q"), *a_call("c", 90_000)][:1], BIG, Whole())
    assert found == NoPlan("all of it still waits for an answer")


def of_rounds(*sizes: int, texts: int = 2) -> tuple[Message, ...]:
    """Finished rounds of exactly these tokens, with two texts or one in each."""
    said: list[Message] = []
    for size in sizes:
        ask = user("q") if texts == 2 else user(result("none", "q"))
        said += [ask, model(filler(size - tokens([ask])))]
    assert tokens(said) == sum(sizes)
    return threaded(said)


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ((3_000, 1_000), 1),
        ((3_000, 1_001), 0),
        ((500, 2_500, 500, 500), 2),
        ((500, 2_499, 500, 501), 1),
        ((60_000, 4_000, 6_000), 2),
        ((60_000, 4_001, 6_000), 1),
        ((60_000, 10_001), 0),
    ],
)
def test_a_quarter_of_a_conversation_is_kept_and_ten_thousand_tokens(sizes, kept):
    messages = of_rounds(*sizes)
    assert planned(messages).kept == messages[len(messages) - 2 * kept :]


def test_a_round_behind_a_summary_may_be_kept_and_the_summary_is_not():
    summary = compacted(situation(threaded(turns(30, 900)))).start
    assert len(summary) == 1
    last = of_rounds(20, 30)
    before = of_rounds(40_000, 20)
    for earlier in ((), before):
        messages = [*earlier, *summary, model("ok"), *last]
        assert planned(messages).kept == (*last,)


class TestBesideNotes:
    @pytest.mark.parametrize(
        ("sizes", "kept"),
        [
            # Ten thousand tokens, when five messages have a text: two in each round.
            ((30_000, 3_000, 3_000, 4_000), 3),
            ((30_000, 3_000, 3_000, 3_999), 3.5),
            # Five texts: two rounds and the last words of the one before.
            ((30_000, 5_000, 9_000, 9_000), 2.5),
            # But forty thousand tokens at most.
            ((5_000, 1_000, 39_000), 2),
            ((5_000, 1_001, 39_000), 1.5),
            ((5_000, 1, 40_000), 1),
            ((5_000, 41_000), 0),
        ],
    )
    def test_how_far_back(self, sizes, kept):
        messages = of_rounds(*(max(size, 2) for size in sizes))
        assert self.kept(messages, -1) == messages[len(messages) - int(2 * kept) :]

    def test_up_to_what_is_covered_and_never_behind_a_summary(self):
        messages = of_rounds(*[12_000] * 6)
        assert self.kept(messages, 5) == messages[6:]
        assert self.kept(messages, 9) == messages[7:]
        summary = compacted(situation(threaded(turns(30, 900)))).start
        late = (*summary, *of_rounds(2_000, 2_000))
        assert self.kept(late, -1) == late[1:]

    def kept(self, messages, covered, window=BIG):
        return planned(messages, window, Covered(messages[covered].id)).kept

    def test_at_least_ten_thousand_tokens_and_five_texts(self):
        messages = threaded(turns(60, 3_000))
        kept = self.kept(messages, -1)
        assert 10_000 <= tokens(kept) < 14_000
        assert sum(bool(message.text) for message in kept) >= 5

    def test_more_until_five_have_text(self):
        story = [user("go"), *(m for n in range(20) for m in a_call(f"c{n}", 2_000)), model("so")]
        messages = threaded([*turns(10, 1_000), *story])
        kept = self.kept(messages, -1)
        assert tokens(kept) > 20_000
        assert tokens(kept) <= 40_000

    def test_never_more_than_forty_thousand_for_that(self):
        story = [m for n in range(30) for m in a_call(f"c{n}", 5_000)]
        messages = threaded([*turns(10, 1_000), user("go"), *story, model("so")])
        assert 10_000 <= tokens(self.kept(messages, -1)) <= 40_000

    def test_what_the_notes_do_not_cover_stays(self):
        messages = threaded(turns(60, 3_000))
        assert self.kept(messages, 19)[-220:] == messages[20:]

    def test_sizes_follow_a_small_window(self):
        messages = threaded(turns(60, 100))
        assert 800 <= tokens(self.kept(messages, -1, SMALL)) <= 3_200

    def test_notes_about_what_is_gone_are_of_no_use(self):
        found = plan(turns(3, 10), BIG, Covered("gone"))
        assert found == NoPlan("the notes cover nothing that is still in the conversation")

    def test_a_conversation_that_would_stay_whole_has_no_plan(self):
        messages = threaded(turns(3, 10))
        assert isinstance(plan(messages, BIG, Covered(messages[-1].id)), NoPlan)


class TestPartial:
    messages = threaded([*turns(6, 10), user("now"), *a_call("last")])

    def test_from_a_message(self):
        found = planned(self.messages, mode=From(self.messages[8].id))
        assert found == Plan(self.messages[:8], self.messages[8:24], self.messages[24:])

    def test_up_to_a_message(self):
        found = planned(self.messages, mode=UpTo(self.messages[8].id))
        assert found == Plan((), self.messages[:8], self.messages[8:])

    @pytest.mark.parametrize("mode", [From, UpTo])
    def test_a_pivot_inside_a_pair_moves_before_it(self, mode):
        at_result = planned(self.messages, mode=mode(self.messages[10].id))
        at_call = planned(self.messages, mode=mode(self.messages[9].id))
        assert at_result == at_call

    @pytest.mark.parametrize(
        ("mode", "reason"),
        [
            (From("?"), "no message '?'"),
            (UpTo("?"), "no message '?'"),
            (From(messages[-1].id), "nothing that is finished follows"),
            (UpTo(messages[0].id), "nothing precedes"),
        ],
    )
    def test_no_such_part(self, mode, reason):
        found = plan(self.messages, BIG, mode)
        assert isinstance(found, NoPlan)
        assert reason in found.reason


@given(conversations(interrupted=True), st.sampled_from([300, 2_000, 200_000]), st.data())
def test_every_plan_loses_nothing_and_splits_nothing(conversation, window, data):
    messages = threaded(conversation)
    pivot = data.draw(st.sampled_from(messages)).id
    mode = data.draw(st.sampled_from([Whole(), Covered(pivot), From(pivot), UpTo(pivot)]))
    found = plan(messages, Window(window, "test"), mode)
    if isinstance(found, NoPlan):
        return
    assert found.before + found.compacted + found.kept == messages
    cuts = set(safe_cuts(messages))
    assert {len(found.before), len(found.before + found.compacted)} <= cuts
    assert found.compacted
    assert pairing(found.compacted).ok
    assert len(found.before + found.compacted) <= unanswered(messages)
