"""Finished rounds fold into a summary, and open again as they were."""

import asyncio
import json

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
from tests.context.saying import ran
from tests.core.build import call, filler, model, result, results, user

from reverie.context import NotDue, user_messages
from reverie.context.collapse import (
    EXPAND,
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
from reverie.context.user_messages import carried, clipped
from reverie.core.messages import Attachment, Message, Text, new_message
from reverie.core.window import Window, block_tokens
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


def rounds_of(*sizes: int) -> tuple[Message, ...]:
    """Finished rounds of two messages and exactly these tokens."""
    talk = threaded(m for size in sizes for m in (user("q"), model(filler(size - 1))))
    assert tokens(talk) == sum(sizes)
    return talk


# More than can be folded, so that all is folded that may be.
ALL = 10_000_000


class TestLimits:
    """BIG warns at 147,000 tokens: a quarter of that stays open, and half of it is the goal."""

    @pytest.mark.parametrize(
        ("sizes", "folded"),
        [
            ((80_000, 30_000, 6_750), 1),
            ((80_000, 30_000, 6_751), 2),
            ((80_000, 40_000), 1),
            ((80_000, 36_736, 14), 1),
            ((80_000, 36_737, 14), 2),
        ],
    )
    def test_which_rounds_stay_open(self, sizes, folded):
        span = plan(rounds_of(*sizes), ALL, BIG)
        assert isinstance(span, Span)
        assert len(span.messages) == 2 * folded

    @pytest.mark.parametrize(("more", "folded"), [(-1, 4), (0, 4), (1, 5), (2, 6)])
    def test_no_more_is_folded_than_wanted(self, more, folded):
        talk = rounds_of(*[10_000] * 8)
        span = plan(talk, 73_500 + 20_000 + more, BIG)
        assert isinstance(span, Span)
        assert len(span.messages) == folded

    @pytest.mark.parametrize(
        ("wanted", "saved"),
        [(ALL, 3_000), (6_002, 3_000), (5_999, 2_999), (4_000, 2_000), (512, 256), (2, 256)],
    )
    def test_what_does_not_pay_is_not_folded(self, wanted, saved):
        # The user's words stay, and a summary takes a quarter.
        stay = block_tokens(user_messages.render(carried([user("q")])))
        size = -(-4 * (saved + stay) // 3)
        for enough in (True, False):
            talk = rounds_of(size - (not enough), 40_000)
            span = plan(talk, 73_500 + wanted, BIG)
            assert isinstance(span, Span if enough else NoSpan)

    @pytest.mark.parametrize(("size", "saved"), [(342, True), (341, False)])
    def test_without_words_of_the_user_all_but_the_summary_is_saved(self, size, saved):
        quiet = [new_message("user", Text(""), origin="tool"), model(filler(size))]
        assert carried(quiet) == ()
        assert tokens(quiet) == size
        span = plan(threaded([*quiet, *turn(1, 40_000)]), 73_500 + 2, BIG)
        assert isinstance(span, Span if saved else NoSpan)

    @pytest.mark.parametrize(
        ("origin", "text", "label", "stands"),
        [
            ("reverie", "[Folded: 2 finished rounds]", None, True),
            ("reverie", "A summary", user_messages.LABEL, True),
            ("reverie", "A reminder", None, False),
            ("reverie", "A reminder", "todos", False),
            ("user", "[Folded: 2 finished rounds]", None, False),
            ("user", "Mine", user_messages.LABEL, False),
        ],
    )
    def test_what_stands_for_others_is_folded_last(self, origin, text, label, stands):
        more = (Attachment(label, "> [1]"),) if label else ()
        first = new_message("user", Text(text), *more, origin=origin)
        span = plan(threaded([first, *rounds_of(*[10_000] * 8)]), 110_000, BIG)
        assert isinstance(span, Span)
        assert (span.before is not None) is stands
        assert (span.messages[0].text == text) is not stands

    @pytest.mark.parametrize(("size", "room"), [(4_000, 1_000), (3_996, 999), (40_000, 1_500)])
    def test_how_long_a_summary_may_be(self, size, room):
        span = Span(rounds_of(size))
        text = collapsed(span, filler(9_000), at=AT).summary.text
        assert text.partition("\n")[2] == clipped(filler(9_000), room)
        assert text.startswith("[Folded: 1 finished rounds; to see them again, expand ")
        assert handle(span.messages[0].id) == span.messages[0].id[:8]

    def test_a_fold_is_applied_where_both_its_ends_are(self):
        fold, _ = folded(TALK, Span(TALK[4:12]))
        for part in (TALK[:8], TALK[8:], TALK[:4], TALK[12:]):
            assert applied(part, [fold]) == part
        assert applied(TALK[4:12], [fold]) == (fold.summary,)
        assert applied(TALK[3:13], [fold]) == (TALK[3], fold.summary, TALK[12])

    @pytest.mark.parametrize(
        ("message", "named"),
        [
            (user("a  b"), "the user side says “a b”"),
            (model("done", call("c")), "the assistant says “done”"),
            (model(call("c"), call("d")), "read, read is called"),
            (results("c"), "tool results are given"),
            (model("x" * 200), f"the assistant says “{'x' * 200}”"),
            (model("x" * 201), f"the assistant says “{'x' * 199}…”"),
        ],
    )
    def test_a_message_is_named_so_that_a_model_finds_it(self, message, named):
        ends = directive(Span((user("go"), model("hm"), message)))
        assert f"ends where {named}. Write" in ends
        assert f"begins where {named} and" in directive(Span((message, user("go"))))
        assert "At most 600 words" in ends

    @pytest.mark.parametrize(
        ("size", "shown"), [(400, "x" * 400), (401, "x" * 399 + "…")], ids=["whole", "cut"]
    )
    def test_without_a_model_the_last_words_and_steps_are_told(self, size, shown):
        calls = [m for n in range(50) for m in ran(f"make target{n}")]
        told = without_model(Span((user("go"), *calls, model("x" * size))))
        assert told.endswith(f"\nThe assistant's last words: {shown}")
        steps = [line for line in told.splitlines() if line.startswith("- ")]
        assert len(steps) == 40
        assert "target49" in steps[-1]

    def test_the_tool_takes_a_name_and_nothing_else(self):
        schema = json.loads(EXPAND.schema)
        assert schema["required"] == ["name"]
        assert schema["additionalProperties"] is False
        assert schema["properties"]["name"]["minLength"] == 1


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
