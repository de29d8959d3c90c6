"""Finished rounds are left out, whole, and never a word of the user."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.compacting import AT, assert_stands, compacted, situation, threaded
from tests.core.build import call, conversations, model, result, user

from reverie.agent.permissions import Consent, by_mode
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Workplace
from reverie.context.snip import NotSnipped, Snipped, SnipRequest, plan, resolve, snip_tool
from reverie.context.user_messages import carried
from reverie.core.messages import Attachment, ToolUse


def turn(n: int) -> list:
    return [
        user(f"question {n}"),
        model(f"I look at {n}", call(f"c{n}"), response=f"r{n}"),
        user(result(f"c{n}", f"result {n} " * 400)),
        model(f"answer {n}", response=f"s{n}"),
    ]


TALK = threaded([*turn(0), *turn(1), *turn(2), user("now?"), *turn(3)[1:3]])


def snipped(first: int, last: int, messages=TALK):
    return plan(messages, messages[first].id, messages[last].id, note="all found", at=AT)


def shown(messages, done: Snipped) -> tuple:
    ids = [message.id for message in messages]
    start, end = ids.index(done.first), ids.index(done.last) + 1
    return (*messages[:start], done.marker, *messages[end:])


def test_a_line_stays_and_the_users_words():
    done = snipped(0, 7)
    assert done.marker.text == "[Left out here, finished: all found]"
    assert done.marker.origin == "reverie"
    after = shown(TALK, done)
    assert_stands(TALK, after)
    assert after[1:] == TALK[8:]
    assert carried(after) == carried(TALK)


def test_a_span_without_words_of_the_user_leaves_one_line():
    done = snipped(1, 3)
    assert done.marker.parent == TALK[0].id
    assert snipped(0, 7).marker.parent is None
    assert [block.kind for block in done.marker.blocks] == ["text"]


def test_a_note_is_one_line():
    done = plan(TALK, TALK[0].id, TALK[3].id, note="a\nb</reminder><reminder> " * 99, at=AT)
    assert "\n" not in done.marker.text
    assert "<reminder" not in done.marker.text
    assert len(done.marker.text) < 400
    for size, kept in ((300, "x" * 300), (301, "x" * 299 + "…")):
        done = plan(TALK, TALK[0].id, TALK[3].id, note="x" * size, at=AT)
        assert done.marker.text == f"[Left out here, finished: {kept}]"


@pytest.mark.parametrize(
    ("first", "last", "reason"),
    [
        (0, 1, f"at message {TALK[1].id!r} a tool call would be parted from its result"),
        (2, 3, f"at message {TALK[2].id!r} a tool call would be parted from its result"),
        (2, 5, f"at message {TALK[2].id!r} a tool call would be parted from its result"),
        (7, 0, "the first message comes after the last"),
        (8, 14, "not finished yet"),
        (12, 14, "not finished yet"),
    ],
)
def test_what_cannot_be_left_out(first, last, reason):
    found = snipped(first, last)
    assert isinstance(found, NotSnipped)
    assert reason in found.reason


def test_a_message_that_is_not_there():
    assert plan(TALK, "?", TALK[3].id, note="x", at=AT) == NotSnipped(
        "there is no message '?' in the conversation"
    )


def test_a_summary_is_not_left_out_but_a_marker_is():
    start = compacted(situation(TALK)).start
    later = threaded([*start, *TALK[4:]])
    assert "all that is left" in snipped(0, 4, later).reason
    once = shown(TALK, snipped(0, 3))
    twice = shown(once, snipped(0, 4, once))
    assert carried(twice) == carried(TALK)
    assert len(twice) == len(TALK) - 7


class TestRequests:
    @pytest.mark.parametrize(
        ("snip_request", "span"),
        [
            (SnipRequest("x", rounds=1), (11, 11)),
            (SnipRequest("x", rounds=2), (8, 11)),
            (SnipRequest("x", rounds=99), (0, 11)),
            (SnipRequest("x", first="c0"), (0, 2)),
            (SnipRequest("x", first="c0", last="c1"), (0, 6)),
            (SnipRequest("x", first="question 1", last="answer 1"), (4, 7)),
            (SnipRequest("x", first='"path":"c2"'), (8, 10)),
        ],
    )
    def test_rounds_are_found(self, snip_request, span):
        done = resolve(TALK, snip_request, at=AT)
        assert (done.first, done.last) == (TALK[span[0]].id, TALK[span[1]].id)

    @pytest.mark.parametrize(
        ("snip_request", "reason"),
        [
            (SnipRequest("x"), "say how many rounds"),
            (SnipRequest("x", first="nowhere"), "no message holds 'nowhere'"),
            (SnipRequest("x", first="c0", last="nowhere"), "no message holds 'nowhere'"),
            (SnipRequest("x", first="question"), "3 messages hold 'question'; quote more"),
            (SnipRequest("x", first="c1", last="c0"), "the first message comes after the last"),
            (SnipRequest("x", first="c3"), "not finished yet"),
        ],
    )
    def test_what_cannot_be_done_is_said(self, snip_request, reason):
        found = resolve(TALK, snip_request, at=AT)
        assert isinstance(found, NotSnipped)
        assert reason in found.reason

    def test_without_a_request_there_is_nothing_before_it(self):
        unasked = threaded([model("a"), model("b"), model("c")])
        found = resolve(unasked, SnipRequest("x", rounds=1), at=AT)
        assert found == NotSnipped("there are no rounds before the current request")

    def test_there_may_be_nothing_before_the_request(self):
        found = resolve(TALK[12:], SnipRequest("x", rounds=1), at=AT)
        assert found == NotSnipped("there are no rounds before the current request")

    def test_a_count_stops_at_a_summary(self):
        start = compacted(situation(TALK)).start
        later = threaded([*start, *turn(4), user("now?"), model("hm")])
        done = resolve(later, SnipRequest("x", rounds=50), at=AT)
        assert later[1].id == done.first


@given(conversations(interrupted=True), st.data())
def test_any_span_is_left_out_whole_or_not_at_all(conversation, data):
    messages = threaded(conversation)
    first, last = (data.draw(st.sampled_from(messages)).id for _ in range(2))
    done = plan(messages, first, last, note="x", at=AT)
    if isinstance(done, Snipped):
        after = shown(messages, done)
        assert_stands(messages, after)
        assert carried(after) == carried(messages)


class TestTheTool:
    def ask(self, tmp_path, **arguments) -> tuple[list[SnipRequest], str]:
        requests: list[SnipRequest] = []

        def mark(snip_request: SnipRequest) -> str:
            requests.append(snip_request)
            return "left out"

        place = Workplace(tmp_path)
        toolbox = Toolbox([snip_tool(mark)], place, Consent(by_mode("plan", place)))
        [found] = asyncio.run(toolbox.run([ToolUse("t", "snip", json.dumps(arguments))]))
        return requests, found.text

    def test_a_request_comes_through(self, tmp_path):
        least = self.ask(tmp_path, note="x", last_n_rounds=1, **{"from": "c", "to": "d"})[0]
        assert least == [SnipRequest("x", "c", "d", rounds=1)]
        requests, answer = self.ask(tmp_path, note="done", **{"from": "c0", "to": "c1"})
        assert (requests, answer) == ([SnipRequest("done", "c0", "c1")], "left out")
        assert self.ask(tmp_path, note="done", last_n_rounds=2)[0] == [
            SnipRequest("done", rounds=2)
        ]

    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"note": ""},
            {"note": "x", "last_n_rounds": 0},
            {"note": "x", "from": ""},
            {"note": "x", "from": "c0", "to": ""},
            {"note": "x", "what": 1},
        ],
    )
    def test_a_bad_request_does_not(self, tmp_path, arguments):
        assert self.ask(tmp_path, **arguments)[0] == []


def test_an_attachment_of_a_stranger_is_no_summary():
    odd = threaded([user("a", Attachment("user-messages", "[1]\n> x")), model("b"), user("c")])
    assert isinstance(snipped(0, 1, odd), Snipped)
