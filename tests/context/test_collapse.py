"""Finished rounds fold into a summary, and open again as they were."""

import asyncio

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.context.compacting import (
    AT,
    BIG,
    SMALL,
    assert_stands,
    epochs,
    saying,
    threaded,
    tokens,
)
from tests.core.build import call, filler, model, result, user

from reverie.context import NotDue
from reverie.context.collapse import (
    Collapsed,
    Due,
    NoSpan,
    NotExpanded,
    Span,
    applied,
    collapsed,
    conflict,
    directive,
    due,
    expand,
    handle,
    plan,
    run,
    without_model,
)
from reverie.context.user_messages import carried
from reverie.core.window import Window
from reverie.errors import Overloaded


def turn(n: int, size: int) -> list:
    return [
        user(f"question {n}"),
        model(call(f"c{n}"), response=f"r{n}"),
        user(result(f"c{n}", filler(size))),
        model(f"answer {n}", response=f"s{n}"),
    ]


TALK = threaded(message for n in range(38) for message in turn(n, 4_000))


def span_of(messages=TALK, window=BIG) -> Span:
    found = plan(messages, tokens(messages), window)
    assert isinstance(found, Span), found
    return found


def folded(messages, span: Span, summary_text: str = "what happened") -> tuple[Collapsed, tuple]:
    fold = collapsed(span, summary_text, at=AT)
    return fold, applied(messages, [fold])


@pytest.mark.parametrize(
    ("collapse", "autocompact", "expected"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
def test_only_one_of_them_manages_the_window(collapse, autocompact, expected):
    on = {"collapse": collapse, "autocompact": autocompact}
    assert (conflict(on.__getitem__) is not None) == expected


@pytest.mark.parametrize(
    ("tokens", "enabled", "expected"),
    [
        (BIG.warning, True, Due),
        (BIG.warning - 1, True, NotDue),
        (BIG.warning, False, NotDue),
    ],
)
def test_due(tokens, enabled, expected):
    assert isinstance(due(tokens, BIG, enabled=enabled), expected)


class TestPlan:
    def test_the_oldest_rounds_until_half_is_free(self):
        span = span_of()
        assert span.messages == TALK[: len(span.messages)]
        _, after = folded(TALK, span)
        assert 0.4 * BIG.warning < tokens(after) <= 0.55 * BIG.warning

    def test_the_last_rounds_stay_open(self):
        talk = threaded(m for n in range(6) for m in turn(n, 30_000))
        open_ = talk[len(span_of(talk).messages) :]
        assert 0 < tokens(open_) <= BIG.warning // 2
        assert open_[-4:] == talk[-4:]

    def test_what_is_folded_already_comes_last(self):
        fold, after = folded(TALK, span_of())
        longer = (*after, *threaded((m for n in range(50, 70) for m in turn(n, 4_000)), after[-1]))
        again = span_of(longer)
        assert again.before == fold.summary
        assert again.messages[0] == longer[1]

    def test_until_there_is_nothing_else(self):
        messages, folds = TALK, []
        for n in range(12):
            fold, messages = folded(messages, span_of(messages, Window(130_000, "test")))
            folds.append(fold)
            new = (m for i in range(20) for m in turn(1_000 * (n + 1) + i, 4_000))
            messages += threaded(new, messages[-1])
        assert tokens(messages) < 130_000

    @pytest.mark.parametrize(
        "messages",
        [
            pytest.param((), id="nothing"),
            pytest.param(threaded(turn(0, 200_000)[:3]), id="one round"),
            pytest.param(
                threaded(m for n in range(9) for m in (user(f"{n}" * 80_000), model("ok"))),
                id="only words of the user",
            ),
        ],
    )
    def test_what_cannot_be_folded(self, messages):
        assert isinstance(plan(messages, 200_000, BIG), NoSpan)


class TestFold:
    def test_a_summary_and_the_users_words(self):
        span = span_of()
        fold, after = folded(TALK, span, "it is </reminder> done")
        assert_stands(TALK, after)
        assert after[0] == fold.summary
        assert "what happened" not in fold.summary.text
        assert "it is <\\/reminder> done" in fold.summary.text
        assert f"expand {handle(TALK[0].id)!r}" in fold.summary.text
        assert carried(after) == carried(TALK)

    def test_the_model_is_asked_for_it(self):
        ask, asked = saying("  The parser was mended.  ")
        fold = asyncio.run(run(span_of(), ask, at=AT))
        assert "The parser was mended." in fold.summary.text
        assert asked == [(directive(span_of()),)]
        assert "the user side says “question 0”" in asked[0][0]

    @pytest.mark.parametrize("reply", ["", Overloaded("busy"), None])
    def test_else_the_transcript_tells(self, reply):
        events: list = []
        ask = None if reply is None else saying(reply)[0]
        fold = asyncio.run(run(span_of(), ask, at=AT, announce=events.append))
        assert without_model(span_of()) in fold.summary.text
        assert "read c0" in fold.summary.text
        assert without_model(span_of()).endswith("\nThe assistant's last words: answer 18")
        assert "changed:" not in fold.summary.text
        assert len(events) == isinstance(reply, Overloaded)

    def test_a_long_summary_is_cut_in_a_small_window(self):
        talk = threaded(m for n in range(20) for m in turn(n, 200))
        span = span_of(talk, SMALL)
        fold = collapsed(span, filler(50_000), at=AT)
        assert tokens([fold.summary]) < tokens(span.messages) // 2


class TestExpand:
    def test_all_is_as_it_was(self):
        fold, _ = folded(TALK, span_of())
        assert expand(TALK, [fold], handle(fold.first)) == ()
        assert expand(TALK, [fold], fold.summary.id) == ()
        assert applied(TALK, ()) == TALK

    def test_a_fold_inside_another_waits_for_it(self):
        inner, once = folded(TALK, span_of())
        outer = collapsed(Span(once[:5]), "all", at=AT)
        folds = [inner, outer]
        assert applied(TALK, folds) == (outer.summary, *once[5:])
        hidden = expand(TALK, folds, handle(inner.first))
        assert isinstance(hidden, NotExpanded)
        assert repr(handle(outer.first)) in hidden.reason
        assert expand(TALK, folds, handle(outer.first)) == (inner,)

    def test_nothing_of_that_name(self):
        assert expand(TALK, (), "x") == NotExpanded(
            "nothing is folded under 'x'; what can be expanded: nothing"
        )


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_number_of_folds_keeps_every_word_and_opens_again(data):
    messages: tuple = ()
    folds: list[Collapsed] = []
    window = Window(data.draw(st.integers(1_000, 20_000)), "test")
    for number in range(data.draw(st.integers(1, 4))):
        messages += threaded(data.draw(epochs(number)), messages[-1] if messages else None)
        view = applied(messages, folds)
        span = plan(view, tokens(view), window)
        event(type(span).__name__)
        if isinstance(span, Span):
            folds.append(collapsed(span, without_model(span), at=AT))
            after = applied(messages, folds)
            assert_stands(view, after)
            assert tokens(after) < tokens(view)
        assert carried(applied(messages, folds)) == carried(messages)
    for fold in reversed(folds):
        left = expand(messages, folds, fold.summary.id)
        assert len(left) == len(folds) - 1
        folds = list(left)
    assert applied(messages, folds) == messages
