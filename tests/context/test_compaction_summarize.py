"""Asking for the summary: on the exact prefix, then apart and shorter, then not at all."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.compacting import BIG, REPLY, compacted, saying, situation, threaded, tokens
from tests.core.build import call, conversations, filler, model, result, user

from reverie.context.compaction.parts import TITLES, Parts
from reverie.context.compaction.plan import From, Plan, Whole, plan
from reverie.context.compaction.summarize import (
    NoSummary,
    Task,
    directive,
    prepared,
    summarize,
    without_oldest,
)
from reverie.core.messages import Attachment, Document, Image, Text, Thinking, ToolResult
from reverie.core.transcript import pairing
from reverie.errors import Overloaded, PromptTooLong, SpendCapReached

LONG = threaded(
    message
    for n in range(30)
    for message in (
        user(f"question {n}"),
        model(call(f"c{n}"), response=f"r{n}"),
        user(result(f"c{n}", filler(1_000))),
        model(f"answer {n}"),
    )
)


def task(messages=LONG, mode=Whole(), **more) -> Task:  # noqa: B008 - frozen
    found = plan(messages, BIG, mode)
    assert isinstance(found, Plan)
    return Task(found, 2_000, **more)


def asked(what: Task, *asks):
    return asyncio.run(summarize(what, *asks))


class TestTheTask:
    def test_it_names_every_part_and_both_tags(self):
        text = directive(500)
        for n, title in enumerate(TITLES, 1):
            assert f"## {n}. {title}" in text
        for tag in ("<analysis>", "</analysis>", "<summary>", "</summary>"):
            assert tag in text
        assert "500 words" in text

    def test_it_carries_what_the_user_says_about_it(self):
        assert directive(500, instructions="Keep the table names.").endswith(
            "Keep the table names."
        )

    def test_it_says_what_stays(self):
        ask, prompts = saying(REPLY)
        asked(task(), ask)
        assert "the assistant says “answer 22”" in prompts[0][0]

    def test_it_says_where_a_part_begins(self):
        ask, prompts = saying(REPLY)
        asked(task(mode=From(LONG[8].id)), ask)
        assert (
            "begins here; what comes before it stays as it is: the user side says “question 2”"
            in prompts[0][0]
        )

    @pytest.mark.parametrize(
        ("message", "words"),
        [
            (model("done"), "the assistant says “done”"),
            (model(call("a")), "the assistant calls read."),
            (user(result("a")), "the user side gives tool results."),
            (user("many\n  words " * 100), "“many words many words"),
        ],
    )
    def test_a_message_is_named_so_that_it_can_be_found(self, message, words):
        text = directive(500, behind=message)
        assert words in text
        assert len(text) < len(directive(500)) + 500


def test_the_reply_is_read():
    ask, _ = saying(REPLY)
    assert isinstance(asked(task(), ask), Parts)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no summary"),
        ("I would rather not.", "no summary"),
        (Overloaded("try later"), "try later"),
        (SpendCapReached("the day cap"), "the day cap"),
        (TimeoutError("slow"), "slow"),
        (PromptTooLong("far too long"), "far too long"),
    ],
)
def test_what_goes_wrong_is_a_reason(reply, reason):
    ask, _ = saying(reply)
    found = asked(task(), ask)
    assert isinstance(found, NoSummary)
    assert reason in found.reason


def test_without_a_model_there_is_no_summary():
    assert asked(task(), None) == NoSummary("there is no model to ask")


class TestTooLong:
    def test_rounds_are_dropped_until_the_gap_is_covered(self):
        gap = 5_000 + tokens(LONG) - tokens(task().plan.compacted)
        ask, _ = saying(PromptTooLong("no", tokens=200_000 + gap, limit=200_000))
        apart, sent = saying(REPLY)
        assert isinstance(asked(task(), ask, apart), Parts)
        [(messages, _)] = sent
        freed = tokens(task().plan.compacted) - tokens(messages[1:])
        assert 5_000 <= freed < 6_100
        assert "left out" in messages[0].text
        assert messages[-1] == task().plan.compacted[-1]

    def test_a_fifth_goes_when_nobody_says_how_much(self):
        ask, _ = saying(PromptTooLong("no"))
        apart, sent = saying(PromptTooLong("no"), PromptTooLong("no"), REPLY)
        assert isinstance(asked(task(), ask, apart), Parts)
        sizes = [tokens(LONG), *(tokens(messages) for messages, _ in sent)]
        for earlier, later in pairwise(sizes):
            assert 0.7 * earlier < later <= 0.81 * earlier

    def test_three_tries_and_no_more(self):
        ask, _ = saying(PromptTooLong("no"))
        apart, sent = saying(*[PromptTooLong("still")] * 4)
        found = asked(task(), ask, apart)
        assert found == NoSummary("too long for the summariser itself: PromptTooLong('still')")
        assert len(sent) == 3

    def test_another_failure_ends_it(self):
        ask, _ = saying(PromptTooLong("no"))
        apart, _ = saying(Overloaded("busy"))
        assert asked(task(), ask, apart) == NoSummary("Overloaded('busy')")

    def test_nothing_is_dropped_when_preparing_freed_enough(self):
        pictures = threaded([*LONG[:4], user("see", *[Image("image/png", "A")] * 9), *LONG[4:]])
        ask, _ = saying(PromptTooLong("no", tokens=210_000, limit=200_000))
        apart, sent = saying(REPLY)
        what = task(pictures)
        asked(what, ask, apart)
        assert sent[0][0] == prepared(what.plan.compacted)

    def test_an_earlier_summary_is_not_dropped(self):
        done = compacted(situation(LONG))
        messages = threaded([*done.start, *LONG])
        left = without_oldest(messages, 3_000)
        assert left[0] == messages[0]
        assert "left out" in left[1].text

    def test_one_round_cannot_be_dropped(self):
        assert without_oldest(LONG[:3], 10) is None

    def test_a_part_that_begins_with_the_model_gets_a_beginning(self):
        assert [m.role for m in without_oldest(LONG[3:5], 0)] == ["user", "assistant", "user"]


def test_prepared_for_a_request_of_its_own():
    picture, paper = Image("image/png", "AAAA"), Document("application/pdf", "JVBE")
    messages = [
        user("look", picture, paper, Attachment("recall", "old"), Attachment("user-messages", "x")),
        model(Thinking("hm", "sig"), response="a"),
        model(Thinking("hm", "sig"), call("c"), response="b"),
        user(ToolResult("c", (Text("text"), picture, paper))),
        user(Attachment("recall", "only this")),
    ]
    marks = (Text("[image]"), Text("[document]"))
    assert [message.blocks for message in prepared(messages)] == [
        (Text("look"), *marks, Attachment("user-messages", "x")),
        (call("c"),),
        (ToolResult("c", (Text("text"), *marks)),),
    ]


@given(conversations(), st.integers(0, 300))
def test_dropping_for_the_summariser_never_orphans(conversation, gap):
    left = without_oldest(prepared(conversation), gap)
    if left is not None:
        assert pairing(left).ok
        assert left[0].role == "user"
        assert not left[0].tool_results
