"""Compaction by notes, by a model and without one always leaves a usable conversation."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.context.compacting import (
    AT,
    BIG,
    REPLY,
    SMALL,
    applied,
    assert_stands,
    compacted,
    epochs,
    saying,
    situation,
    threaded,
    tokens,
)
from tests.core.build import call, conversations, filler, model, result, user

from reverie.context import user_messages
from reverie.context.compaction import CompactionTools
from reverie.context.compaction.parts import Restorable, Running
from reverie.context.compaction.plan import Compaction, Failed, From, Notes, UpTo
from reverie.context.facts.outcomes import Todo
from reverie.context.user_messages import carried
from reverie.core.messages import (
    Attachment,
    Block,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    new_message,
)
from reverie.core.window import Window
from reverie.errors import Overloaded, PromptTooLong, SpendCapReached
from reverie.events import TroubleNoted

NOTES = "# Current State\nthe parser works\n# Worklog\n- all of it"


def turn(n: int, size: int) -> list:
    return [
        user(f"question {n}"),
        model(call(f"c{n}"), response=f"r{n}"),
        user(result(f"c{n}", filler(size))),
        model(f"answer {n}"),
    ]


def talk(turns: int = 42, size: int = 4_000) -> tuple:
    """42 turns of 4,000 tokens: just over the threshold of a large window."""
    return threaded(message for n in range(turns) for message in turn(n, size))


def labels(message) -> list[str]:
    return [block.label for block in message.blocks if isinstance(block, Attachment)]


def attached(done: Compaction, label: str) -> str:
    [found] = [
        b.text for b in done.start[0].blocks if isinstance(b, Attachment) and b.label == label
    ]
    return found


def recording_tools() -> tuple[list, CompactionTools]:
    events: list = []
    return events, CompactionTools(announce=events.append)


class TestByTheModel:
    def test_a_summary_takes_the_place_of_all_but_the_last_rounds(self):
        ask, asked = saying(REPLY)
        done = compacted(situation(talk()), CompactionTools(ask))
        assert (done.how, done.trigger, len(asked)) == ("summary", "automatic", 1)
        assert "The model on Current work." in done.start[0].text
        after = applied(talk(), done)
        assert after[1:] == talk()[-len(after) + 1 :]
        assert done.last_compacted == done.start[0].parent == talk()[-len(after)].id
        assert done.tokens_before == tokens(talk()) > BIG.compaction
        assert done.tokens_after == tokens(after) < 0.2 * BIG.compaction

    def test_the_scratch_pad_goes_and_the_way_to_the_transcript_stays(self):
        ask, _ = saying(REPLY)
        text = compacted(situation(talk()), CompactionTools(ask)).start[0].text
        assert "<analysis>" not in text
        assert "kept in /t.jsonl" in text

    def test_what_the_model_left_out_comes_from_the_transcript(self):
        ask, _ = saying(REPLY.replace("The model on Files and code.", ""))
        text = compacted(situation(talk()), CompactionTools(ask)).start[0].text
        assert "- c0 (read 1×)" in text

    def test_the_same_situation_has_the_same_outcome(self):
        outcomes = [
            compacted(situation(talk()), CompactionTools(saying(REPLY)[0])) for _ in range(2)
        ]
        assert outcomes[0] == outcomes[1]
        assert outcomes[0].start[0].at == AT

    def test_the_model_is_told_how_much_room_there_is(self):
        ask, asked = saying(REPLY)
        compacted(situation(talk(20, 260), SMALL), CompactionTools(ask))
        words = int(asked[0][0].partition("up to ")[2].partition(" words")[0].replace(",", ""))
        assert 200 < words < 800


class TestBesideTheSummary:
    def test_every_word_of_the_user_but_those_that_stay(self):
        done = compacted(situation(talk()))
        assert carried(applied(talk(), done)) == tuple(f"question {n}" for n in range(42))
        assert "question 39" in attached(done, "user-messages")
        assert "question 40" not in attached(done, "user-messages")

    def test_obligations(self):
        working = [user("do it all"), *(m for n in range(42) for m in turn(n, 4_000)[1:3])]
        done = compacted(
            situation(
                threaded(working),
                todos=(Todo("mend it"),),
                running=(Running("a1", "reads"),),
            )
        )
        owed = attached(done, "obligations")
        for wanted in ("> do it all", "- mend it", "- a1: reads"):
            assert wanted in owed

    def test_a_request_that_stays_is_not_owed_twice(self):
        done = compacted(situation(threaded([*talk(), user("and now?")])))
        assert "obligations" not in labels(done.start[0])

    def test_an_open_question_is_owed_when_everything_is_compacted(self):
        asking = threaded([*talk(), model(filler(11_000) + "\nShall I go on?")])
        assert "Shall I go on?" in attached(compacted(situation(asking)), "obligations")

    def test_files_come_back_as_they_are_now(self):
        done = compacted(situation(talk()), CompactionTools(read_file=lambda path: f"{path} today"))
        files = [
            b.text for b in done.start[0].blocks if b.kind == "attachment" and b.label == "file"
        ]
        # The last two turns are still there, and so are the files they read.
        assert [text.partition(",")[0] for text in files] == ["c39", "c38", "c37", "c36", "c35"]
        assert files[0].endswith("\nc39 today")

    def test_a_file_that_cannot_be_read_is_left_out(self):
        def read(path: str) -> str:
            raise PermissionError(path)

        events: list = []
        done = compacted(situation(talk()), CompactionTools(read_file=read, announce=events.append))
        assert "file" not in labels(done.start[0])
        assert events[0].where == "compaction.restore"

    def test_what_comes_back_leaves_room_to_go_on(self):
        extras = tuple(Restorable("skill", filler(9_000)) for _ in range(9))
        read = CompactionTools(read_file=lambda _: filler(9_000))
        done = compacted(situation(talk(), extras=extras), read)
        assert tokens(done.start) > 45_000
        assert done.tokens_after < 0.6 * BIG.compaction
        small = compacted(situation(talk(20, 260), SMALL, extras=extras), read)
        assert small.tokens_after < 0.75 * SMALL.compaction

    def test_the_date_that_was_told_once_is_told_on(self):
        dated = threaded([user("hello", Attachment("date", "Today is Monday.")), *talk()])
        assert attached(compacted(situation(dated)), "date") == "Today is Monday."
        again = threaded([*dated, user("more", Attachment("date", "Now it is Tuesday."))])
        assert "date" not in labels(compacted(situation(again)).start[0])


class TestByTheNotes:
    def notes(self, messages, covered=-1) -> Notes:
        return Notes(NOTES, messages[covered].id, "/n.md")

    def test_no_model_is_asked(self):
        ask, asked = saying()
        done = compacted(situation(talk(), notes=self.notes(talk())), CompactionTools(ask))
        assert (done.how, asked) == ("notes", [])
        assert NOTES in done.start[0].text
        assert tokens(applied(talk(), done)[1:]) >= 10_000
        assert carried(applied(talk(), done)) == carried(talk())

    def test_what_they_do_not_cover_stays(self):
        done = compacted(situation(talk(), notes=self.notes(talk(), 99)))
        assert applied(talk(), done)[-68:] == talk()[100:]

    @pytest.mark.parametrize(
        "more",
        [
            pytest.param({"instructions": "keep the names"}, id="instructions"),
            pytest.param({"mode": UpTo(talk()[100].id)}, id="a part only"),
            pytest.param({"notes": Notes(NOTES, "gone")}, id="notes of what is gone"),
            pytest.param({"notes": Notes(NOTES, talk()[3].id)}, id="too little covered"),
            pytest.param({"notes": None}, id="no notes"),
        ],
    )
    def test_else_the_model_is_asked(self, more):
        ask, asked = saying(REPLY)
        given = {"notes": self.notes(talk())} | more
        assert compacted(situation(talk(), **given), CompactionTools(ask)).how == "summary"
        assert len(asked) == 1

    def test_long_notes_are_cut_to_a_small_window(self):
        messages = talk(20, 260)
        notes = Notes(f"# Files\n{filler(9_000)}", messages[-1].id, "/n.md")
        done = compacted(situation(messages, SMALL, notes=notes))
        assert done.how == "notes"
        assert "the whole notes are in /n.md" in done.start[0].text


class TestWithoutAModel:
    @pytest.mark.parametrize(
        "reply",
        ["", "no", Overloaded("busy"), SpendCapReached("cap"), TimeoutError(), PromptTooLong("x")],
    )
    def test_a_model_that_fails_gives_way_and_it_is_told(self, reply):
        events: list = []
        ask, asked = saying(reply)
        done = compacted(situation(talk()), CompactionTools(ask, announce=events.append))
        assert (done.how, len(asked)) == ("extractive", 1)
        assert [type(event) for event in events] == [TroubleNoted]
        assert events[0].where == "compaction.summary"
        assert carried(applied(talk(), done)) == carried(talk())

    def test_no_model_is_no_trouble(self):
        events, tools = recording_tools()
        assert compacted(situation(talk()), tools).how == "extractive"
        assert events == []

    def test_a_cancelled_call_is_not_swallowed(self):
        ask, _ = saying(asyncio.CancelledError())
        with pytest.raises(asyncio.CancelledError):
            compacted(situation(talk()), CompactionTools(ask))

    def test_too_long_is_tried_apart(self):
        ask, _ = saying(PromptTooLong("no", tokens=205_000, limit=200_000))
        apart, sent = saying(REPLY)
        done = compacted(situation(talk(), trigger="reactive"), CompactionTools(ask, apart))
        assert (done.how, done.trigger) == ("summary", "reactive")
        assert len(sent) == 1


class TestPartial:
    messages = talk(12, 2_000)

    def test_from_a_message_the_earlier_stay(self):
        ask, _ = saying(REPLY)
        done = compacted(
            situation(self.messages, mode=From(self.messages[20].id)), CompactionTools(ask)
        )
        assert (done.kept_up_to, done.kept_from) == (self.messages[19].id, None)
        after = applied(self.messages, done)
        assert after[:20] == self.messages[:20]
        assert after[20:] == done.start
        assert carried(after) == carried(self.messages)

    def test_up_to_a_message_the_later_stay(self):
        ask, _ = saying(REPLY)
        done = compacted(
            situation(self.messages, mode=UpTo(self.messages[20].id)), CompactionTools(ask)
        )
        assert (done.kept_up_to, done.kept_from) == (None, self.messages[20].id)
        assert applied(self.messages, done)[1:] == self.messages[20:]

    @pytest.mark.parametrize(
        ("mode", "reason"),
        [
            (From("?"), "no message '?'"),
            (UpTo(messages[0].id), "nothing precedes"),
        ],
    )
    def test_a_part_that_is_not_there(self, mode, reason):
        found = compacted(situation(self.messages, mode=mode))
        assert isinstance(found, Failed)
        assert reason in found.reason

    def test_what_stays_must_leave_room(self):
        long = talk()
        up_to = compacted(situation(long, mode=UpTo(long[4].id)))
        assert isinstance(up_to, Failed)
        assert "stays word for word takes" in up_to.reason
        since = compacted(situation(long, mode=From(long[-4].id)))
        assert isinstance(since, Failed)

    def test_all_parts_go_on_together(self):
        first = compacted(situation(self.messages, mode=From(self.messages[20].id)))
        then = applied(self.messages, first)
        later = (*then, *threaded([user("next"), model("done")], then[-1]))
        second = compacted(situation(later))
        assert carried(applied(later, second)) == carried(later)
        assert "- c11 (read 1×)" in second.start[0].text


class TestWhatHardlyFits:
    def test_results_nobody_has_read_are_cut(self):
        messages = threaded([*turn(0, 10), user("go"), *turn(1, 190_000)[1:3]])
        done = compacted(situation(messages))
        after = applied(messages, done)
        assert_stands(messages, after)
        assert tokens(after) < 0.7 * BIG.compaction
        assert done.kept_from is None
        assert "what waits for an answer was too long" in done.why
        assert carried(after) == ("question 0", "go")
        [cut] = after[-1].tool_results
        assert "760,000 bytes in all, the middle is left out; it is in /t.jsonl" in cut.text

    def test_words_that_a_marker_carries_are_not_cut(self):
        said = user_messages.render(("first", filler(200)))
        marker = new_message("user", Text("[left out]"), said, origin="reverie")
        messages = threaded([*turn(0, 10), user("go"), marker, *turn(1, 190_000)[1:3]])
        after = applied(messages, compacted(situation(messages)))
        assert tokens(after) < BIG.compaction
        assert carried(after) == ("question 0", "go", "first", filler(200))

    def test_one_round_that_is_all_there_is(self):
        messages = threaded([user("go"), *turn(1, 190_000)[1:3]])
        done = compacted(situation(messages))
        assert done.how == "dropped rounds"
        after = applied(messages, done)
        assert_stands(messages, after)
        assert tokens(after) < 0.7 * BIG.compaction
        assert after[0].text == "go"

    def test_all_kinds_of_blocks_can_be_cut(self):
        size = filler(60_000)
        messages = threaded(
            [
                user("look", Image("image/png", "A"), Attachment("recall", size)),
                model(
                    Thinking(size, "sig"),
                    Opaque("x", size),
                    size,
                    ToolUse("a", "Write", f'{{"text": "{size}"}}'),
                    ToolUse("b", "Write", '{"text": "' + "\\n" * 90_000 + '"}'),
                    response="r",
                ),
                new_message("user", result("a", size), result("b", "ok"), origin="tool"),
            ]
        )
        after = applied(messages, compacted(situation(messages)))
        assert_stands(messages, after)
        assert tokens(after) <= BIG.compaction
        assert [block.kind for message in after for block in message.blocks] == [
            *("text", "text", "attachment"),
            *("text", "tool_use", "tool_use"),
            *("tool_result", "tool_result"),
        ]
        assert carried(after) == ("look\n[image]",)
        assert after[1].tool_uses[0].input["cut"].startswith('{"text": "word')

    def test_what_the_user_says_is_cut_last_and_the_longest_of_it(self):
        said = [
            user("short"),
            model("ok"),
            user("begin " + filler(150_000)),
            model("ok"),
            user("end"),
        ]
        messages = threaded([*said, *turn(1, 30_000)[1:3]])
        done = compacted(situation(messages))
        after = applied(messages, done)
        assert_stands(messages, after)
        assert tokens(after) <= BIG.compaction
        short, long, end = carried(after)
        assert (short, end) == ("short", "end")
        assert long.startswith("begin word")
        assert "the middle is left out; it is in /t.jsonl" in long
        assert "the user's messages alone were too long" in done.why

    def test_what_the_user_says_is_whole_while_it_can_be(self):
        said = threaded([user(filler(110_000)), model("ok"), *turn(1, 80_000)[:3]])
        done = compacted(situation(said))
        assert carried(applied(said, done)) == carried(said)

    def test_countless_short_messages(self):
        messages = threaded(m for n in range(2_000) for m in (user(f"message {n}"), model("ok")))
        done = compacted(situation(messages, SMALL))
        after = applied(messages, done)
        assert tokens(after) <= SMALL.compaction
        first, *rest = carried(after)
        assert first == "[Earlier messages of the user do not fit here; it is in /t.jsonl]"
        assert tuple(rest) == carried(messages)[-len(rest) :]
        assert len(rest) > 150

    def test_no_room_for_a_summary(self):
        messages = threaded([user(filler(620)), model("ok"), *turn(1, 500)])
        ask, asked = saying()
        done = compacted(situation(messages, Window(1_400, "test")), CompactionTools(ask))
        assert (done.how, asked) == ("dropped rounds", [])
        assert carried(applied(messages, done)) == carried(messages)

    def test_no_room_at_all(self):
        found = compacted(situation(talk(), overhead=160_000))
        assert found == Failed(
            "system prompt, tools and the 0 messages before the summary alone take "
            "160,000 of 167,000 tokens"
        )

    def test_nothing_is_gained_by_compacting_little(self):
        for messages in (threaded(turn(1, 1)), threaded([user("hi")])):
            assert isinstance(compacted(situation(messages, trigger="manual")), Failed)

    def test_overhead_counts(self):
        done = compacted(situation(talk(), overhead=100_000, tokens=tokens(talk()) + 100_000))
        assert done.tokens_after < BIG.compaction
        assert tokens(applied(talk(), done)) < 67_000

    def test_a_provider_that_counts_more_is_believed(self):
        size = filler(100_000)
        messages = threaded([*turn(0, 10), user("go"), *turn(1, 0)[1:2], user(result("c1", size))])
        there = situation(messages, tokens=int(tokens(messages) * 1.8))
        done = compacted(there)
        assert tokens(applied(messages, done)) * 1.8 < 0.6 * BIG.compaction
        assert done.tokens_after == int(
            tokens(applied(messages, done)) * (there.tokens / tokens(messages))
        )


WAYS = ("notes", "model", "broken", "offline", "too long", "from", "up to")


def by(way: str, messages: Sequence[Message], window: Window) -> Compaction | Failed:
    """Compact in the given way."""
    middle = messages[len(messages) // 2].id
    more = {
        "notes": {"notes": Notes(NOTES, messages[-1].id)},
        "from": {"mode": From(middle)},
        "up to": {"mode": UpTo(middle)},
    }
    tools = {
        "model": CompactionTools(saying(REPLY)[0]),
        "from": CompactionTools(saying(REPLY)[0]),
        "broken": CompactionTools(saying("nonsense")[0]),
        "too long": CompactionTools(saying(PromptTooLong("x"))[0], saying(REPLY)[0]),
    }
    return compacted(situation(messages, window, **more.get(way, {})), tools.get(way))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_every_word_of_the_user_over_any_number_of_compactions(data):
    window = Window(40_000, "test")
    messages: tuple[Message, ...] = ()
    said: tuple[str, ...] = ()
    for number in range(data.draw(st.integers(2, 6))):
        new = threaded(data.draw(epochs(number)), messages[-1] if messages else None)
        messages += new
        said += carried(new)
        way = data.draw(st.sampled_from(WAYS))
        done = by(way, messages, window)
        assert done == by(way, messages, window)
        event(done.how if isinstance(done, Compaction) else done.reason)
        if isinstance(done, Compaction):
            after = applied(messages, done)
            assert_stands(messages, after)
            assert done.tokens_after == tokens(after) <= window.compaction
            messages = after
        assert carried(messages) == said


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(conversations(interrupted=True), st.integers(300, 3_000), st.sampled_from([1, 40, 900]))
def test_whatever_the_window_the_outcome_fits_or_says_why_not(conversation, size, times):
    window = Window(size, "test")
    messages = threaded(_larger(message, times) for message in conversation)
    done = compacted(situation(messages, window))
    if isinstance(done, Failed):
        # Only a conversation nearly as small as its frame cannot be compacted.
        assert tokens(messages) < window.compaction or window.compaction < 800, done.reason
        return
    after = applied(messages, done)
    assert_stands(messages, after)
    assert tokens(after) <= window.compaction
    cut = "the user's messages alone were too long" in done.why
    assert cut or carried(after) == carried(messages)


def _larger(message: Message, times: int) -> Message:
    def larger(block: Block) -> Block:
        match block:
            case Text(text):
                return Text(text * times)
            case ToolResult(_, content):
                return replace(block, content=tuple(map(larger, content)))
            case _:
                return block

    return replace(message, blocks=tuple(map(larger, message.blocks)))
